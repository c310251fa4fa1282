"""The system prompt of one agent, in its fixed order.

Owns: the parts and their order, from the agent's prompt to the environment, the same on every turn so that
provider caches hit. Never: reading files, or asking plugins.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from datetime import date
from types import MappingProxyType

from app.harness.dsl.compiled import CompiledAgent
from app.harness.projects.prompts.store import Prompt, PromptStore
from app.harness.projects.session_roots import SessionRoot
from app.messages import SystemBlock

Part = Callable[[], tuple[SystemBlock, ...]]
"""Gives the blocks of one part: the same tuple until they have another text."""

NOTHING: tuple[SystemBlock, ...] = ()
NO_EDITS: Mapping[str, Prompt] = MappingProxyType({})


class SystemPrompt:
    """Gives the same tuple object until one of its parts changes.

    `edits` are the prompts, by agent path, that an operator has edited for the session: they win over
    the files. `workflow` is the path of the workflow's prompt in a run of one. `injected` gives what plugins
    said, `instructions` and `skills` what the project adds."""

    def __init__(
        self,
        store: PromptStore,
        agent: CompiledAgent,
        injected: Part = tuple,
        *,
        edits: Mapping[str, Prompt] = NO_EDITS,
        workflow: str | None = None,
        instructions: Part = tuple,
        skills: Part = tuple,
        environment: tuple[SystemBlock, ...] = NOTHING,
    ) -> None:
        self._store = store
        self._paths = {"agent": agent.path, **({} if workflow is None else {"workflow": workflow})}
        self._edits = edits
        self._parts: tuple[Part, ...] = (instructions, injected, skills, lambda: environment)
        self._made_of: tuple[object, ...] = ()
        self._blocks: tuple[SystemBlock, ...] = ()

    def blocks(self) -> tuple[SystemBlock, ...]:
        """Return the blocks with the present texts; called at a message boundary."""
        prompts = {name: self._edits.get(path) or self._store.get(path) for name, path in self._paths.items()}
        parts = tuple(part() for part in self._parts)
        made_of = (*(prompt.digest for prompt in prompts.values()), *parts)
        if made_of != self._made_of:
            self._made_of = made_of
            own = (SystemBlock(name=name, text=prompt.text) for name, prompt in prompts.items())
            self._blocks = (*own, *(block for part in parts for block in part))
        return self._blocks


def environment(root: SessionRoot, today: date) -> tuple[SystemBlock, ...]:
    """Return the part for the root of a session on a day."""
    workspace = "" if root.branch is None else f"Workspace: {root.branch.in_words()}.\n"
    text = (
        "<environment>\n"
        f"Date: {today.isoformat()}\n"
        f"Platform: {platform.system().lower()}\n"
        f"Project: {root.project.name}\n"
        f"Working directory: {root.path}\n"
        f"{workspace}"
        "</environment>"
    )
    return (SystemBlock(name="environment", text=text),)
