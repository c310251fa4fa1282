"""The current text of every agent's prompt, and of every workflow's.

Owns: reading prompt files again and keeping the last good text. Never: watching files, or deciding when a
running session takes a new text; the session asks at its message boundaries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from app.harness.dsl.compiled import CompiledProject, workflow_prompt
from app.harness.dsl.paths import PathProblem
from app.harness.dsl.prompt_files import PromptProblem, prompt_digest, read_prompt


@dataclass(frozen=True, slots=True)
class Prompt:
    """An agent's prompt: its text, a digest of it, and the file it was read from. That of a workflow has
    `workflows.<name>` for a path."""

    agent_path: str
    file: str
    text: str
    digest: str


@dataclass(frozen=True, slots=True)
class PromptFailure:
    """A prompt that could not be read again; the last good text stays."""

    agent_path: str
    file: str
    message: str


@dataclass(frozen=True, slots=True)
class PromptReload:
    """What a reload found: the prompts that are now different, and those that could not be read."""

    changed: tuple[Prompt, ...]
    failed: tuple[PromptFailure, ...]


class PromptStore:
    """Prompts of one compiled project, by agent path."""

    def __init__(self, project: CompiledProject) -> None:
        self._root = Path(project.root_dir)
        self._files = {
            agent.path: tuple(map(Path, agent.system_prompt_candidates)) for agent in project.agents()
        }
        self._agents = frozenset(self._files)
        for name, workflow in project.workflows.items():
            self._files[workflow_prompt(name)] = tuple(map(Path, workflow.prompt_files))
        self._prompts: dict[str, Prompt] = {}
        self._failing: dict[str, PromptFailure] = {}

    @classmethod
    async def open(cls, project: CompiledProject) -> PromptStore:
        """Read every prompt; raise PromptProblem when an agent's cannot be read at all."""
        store = cls(project)
        outcome = await store.reload()
        for failure in outcome.failed:
            if failure.agent_path in store._agents:
                raise PromptProblem("prompt_missing", f"{failure.agent_path}: {failure.message}")
        return store

    def agent_paths(self) -> tuple[str, ...]:
        return tuple(self._files)

    def has(self, agent_path: str) -> bool:
        """Tell whether a text of this prompt is known."""
        return agent_path in self._prompts

    def get(self, agent_path: str) -> Prompt:
        """The current prompt of an agent or a workflow; KeyError for one that the project does not have, or
        a workflow whose prompt cannot be read."""
        return self._prompts[agent_path]

    def all(self) -> tuple[Prompt, ...]:
        """The current prompts, parents before children, then those of workflows."""
        return tuple(self._prompts[path] for path in self._files if path in self._prompts)

    async def reload(self, agent_paths: Collection[str] | None = None) -> PromptReload:
        """Read the files of the named agents again (default: of all) and keep what is good.

        A failure is published once, and so is its end, also when the text is the one before."""
        wanted = [path for path in self._files if agent_paths is None or path in agent_paths]
        read = await asyncio.to_thread(lambda: [self._read(path) for path in wanted])
        changed: list[Prompt] = []
        failed: list[PromptFailure] = []
        for outcome in read:
            path = outcome.agent_path
            if isinstance(outcome, PromptFailure):
                if self._failing.get(path) != outcome:
                    failed.append(outcome)
                self._failing[path] = outcome
            elif self._failing.pop(path, None) is not None or self._prompts.get(path) != outcome:
                changed.append(outcome)
                self._prompts[path] = outcome
        return PromptReload(tuple(changed), tuple(failed))

    def _read(self, agent_path: str) -> Prompt | PromptFailure:
        candidates = self._files[agent_path]
        file = next((candidate for candidate in candidates if candidate.is_file()), candidates[-1])
        try:
            text = read_prompt(file, self._root)
        except (PathProblem, PromptProblem) as problem:
            return PromptFailure(agent_path, str(file), problem.message)
        return Prompt(agent_path, str(file), text, prompt_digest(text))
