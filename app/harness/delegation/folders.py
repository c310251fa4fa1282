"""The folder in which a child works: its parent's, or a workspace of its own.

Owns: the wait until a workspace is made, whether the project's setup may run in it, and what the parent is
told of the changes in it. Never: making workspaces, or running the setup (`harness.workspaces`).
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from app.errors import KagedError
from app.harness.dsl.compiled import CompiledAgent
from app.harness.loop.call_ports import CallPorts
from app.harness.loop.run_services import CallServices
from app.harness.projects.session_roots import SessionRoot
from app.harness.run.run_context import RunContext
from app.harness.run.scope import Scope
from app.tools.contract.call import ToolCallContext
from app.tools.contract.ports import CHANGES_TOOL, ChildFiles
from app.tools.dispatch.service import ToolService

log = logging.getLogger("kaged.delegation")

SHELL_TOOL = "shell.bash"
SETUP = "setup"


@dataclass(frozen=True, slots=True)
class ChildSetup:
    """The project's setup in a child's workspace. What it runs there, the child's caller may just have
    written: so it runs as a command of the child, in its `cage` if it has one, or with a `refusal` not at
    all."""

    words: str | Sequence[str]
    agent_path: str
    cage: Mapping[str, Any] | None
    refusal: str | None


class ChildFolders(Protocol):
    """The workspaces of subagents."""

    async def open(self, parent: Scope, agent: CompiledAgent, run_id: str) -> SessionRoot:
        """Begin to make a workspace of the folder in which the parent works. Raises `KagedError`."""

    async def ready(self, root: SessionRoot) -> None:
        """Wait until it is made. Raises `Conflict` when that fails."""

    def setup(self, project_id: str) -> str | list[str] | None:
        """Return the command that the project has for new workspaces, None without one."""

    async def set_up(self, root: SessionRoot, setup: ChildSetup) -> None:
        """Run the setup in one that is made, or note why that is not done."""

    async def changed(self, root: SessionRoot) -> int | None:
        """Return how many files are changed in it; None when that cannot be said."""

    async def ended(self, root: SessionRoot) -> None:
        """Hear that the run is over which it was made for."""


@dataclass(slots=True)
class ChildFolder:
    """The workspace of one child. `files` is known when its run is over."""

    root: SessionRoot
    folders: ChildFolders
    calls: CallServices
    tools: ToolService
    files: ChildFiles | None = None

    async def prepare(self, run: RunContext) -> None:
        """Wait until there is something to work in, before the first step."""
        await self.folders.ready(self.root)
        words, scope = self.folders.setup(run.scope.project_id), run.scope
        if words is not None:
            refusal = await self._refusal(run, words if isinstance(words, str) else shlex.join(words))
            await self.folders.set_up(self.root, ChildSetup(words, scope.agent_path, scope.cage, refusal))

    async def _refusal(self, run: RunContext, command: str) -> str | None:
        """Return why the child may not run a command without a question; None when it may."""
        scope, allowed = run.scope, run.plan.allowed_tools
        if SHELL_TOOL not in allowed:
            return f"it does not have the tool {SHELL_TOOL}."
        context = ToolCallContext(
            session_id=scope.session_id,
            run_id=scope.run_id,
            agent_path=scope.agent_path,
            project_id=scope.project_id,
            project_root=scope.project_root,
            cage=scope.cage,
            request_id=scope.run_id,
            call_id=SETUP,
            scratch_dir=run.plan.scratch_dir,
            ports=CallPorts(run, self.calls, SETUP, run.journal.span),
            rules=await run.rules(),
            headless=True,
        )
        return await self.tools.refusal(SHELL_TOOL, {"command": command}, context, allowed=allowed)

    async def note(self, run: RunContext) -> None:
        """Note what a run has changed that is over, unless it was stopped."""
        if run.controls.stopping:
            return
        call = changed = None
        with suppress(KagedError):  # `files` says that the changes cannot be counted
            changed = await self.folders.changed(self.root)
        if changed and run.parent is not None and _may_take(run.parent):
            call = f'{CHANGES_TOOL} {{"action": "apply", "run_id": "{run.scope.run_id}"}}'
        self.files = ChildFiles(workspace=self.root.workspace_id or "", changed=changed, take_with=call)

    async def close(self) -> None:
        """Let the workspace go if nothing is changed in it; the end of the run is stored."""
        try:
            await self.folders.ended(self.root)
        except KagedError as problem:
            log.warning("the workspace %s stays for now: %s", self.root.workspace_id, problem.message)


def _may_take(parent: RunContext) -> bool:
    return f"{CHANGES_TOOL}.apply" in parent.plan.allowed_tools


def in_words(files: ChildFiles | None) -> str | None:
    """Return what a parent reads of the files that a child has changed; None for one that worked where its
    parent does."""
    if files is None:
        return None
    place = f"It worked in a workspace of its own ({files.workspace})"
    if files.changed is None:
        return f"{place}. Its changes cannot be counted now."
    if files.changed == 0:
        return f"{place}, and changed no file."
    counted = "1 file" if files.changed == 1 else f"{files.changed} files"
    how = "the operator can merge them" if files.take_with is None else f"apply them with {files.take_with}"
    return f"{place}, and changed {counted} there: {how}."
