"""The workspaces of subagents: one is made of the folder in which the agent works that calls it.

Owns: their rows, who waits for them, and until when they are in use. Never: how one is made (`creation`), or
what becomes of its changes (`taking`, `service`).
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from app.errors import Conflict, KagedError, ToolError
from app.harness.delegation.folders import ChildSetup
from app.harness.dsl.compiled import CompiledAgent
from app.harness.projects.projects import ProjectRegistry
from app.harness.projects.session_roots import SessionRoot
from app.harness.run.scope import Scope
from app.harness.workspaces.creation import WORKING
from app.harness.workspaces.making import Making
from app.harness.workspaces.outfit import Hold
from app.harness.workspaces.record import WorkspaceRecord
from app.harness.workspaces.tending import Tending
from app.harness.workspaces.tools import Tools, words
from app.harness.workspaces.trees import differences
from app.states import WORKABLE, WorkspaceState
from app.storage.models import Workspace
from app.storage.unit_of_work import UnitOfWork
from app.tools.contract.ports import CHANGES_TOOL
from app.tools.processes.git_commands import GitProblem

log = logging.getLogger("kaged.workspaces")

MAX_OF_SESSION = 32
"""How many workspaces the subagents of one session may have that are not discarded."""


class SubagentWorkspaces:
    """Those of all sessions, as delegations need them."""

    def __init__(
        self,
        record: WorkspaceRecord,
        projects: ProjectRegistry,
        tools: Tools,
        making: Making,
        tending: Tending,
    ) -> None:
        self._record = record
        self._projects = projects
        self._tools = tools
        self._making = making
        self._tending = tending

    async def open(self, parent: Scope, agent: CompiledAgent, run_id: str) -> SessionRoot:
        """Begin to make a workspace for the run of a subagent, and return its root as soon as it is noted
        what lies in the parent's. `ended` is to be called whatever comes.

        Raises `Conflict` and `InsufficientStorage` when none can be made."""
        row = await self._making.plan(parent.project_id, WORKING, agent.key, parent.actor)
        row = row.model_copy(
            update={
                "session_id": parent.session_id,
                "agent_path": agent.path,
                "run_id": run_id,
                "parent_id": parent.root.workspace_id,
            }
        )
        row = await self._as_parent(row)
        self._tending.in_use.add(row.id)
        try:
            row = await self._record.add(row, lambda uow: _require_room(uow, parent.session_id))
            self._making.begin(row)
            await self._making.noted(row.id)
            _require(await self._record.get(row.id), WorkspaceState.CREATING, *WORKABLE)
            return self._projects.workspaces.at(row.id, parent.root.project)
        except BaseException:
            await asyncio.shield(self._let_go(row))
            raise

    async def _as_parent(self, row: Workspace) -> Workspace:
        """Return the row of a workspace of the same kind as that of which it is made."""
        if row.parent_id is None:
            return row
        parent = await self._record.get(row.parent_id)
        if parent.kind == row.kind:
            return row
        if parent.kind != "copy":
            raise Conflict("The project no longer has a git repository.", reason="no_repository")
        root = self._tools.layout_of(row).tree
        return row.model_copy(update={"kind": "copy", "branch": None, "base_commit": None, "root": str(root)})

    async def ready(self, root: SessionRoot) -> None:
        """Wait until a workspace is made. Raises `Conflict` with the reason when that fails."""
        assert root.workspace_id is not None
        if not await self._making.finished(root.workspace_id):
            await asyncio.Event().wait()  # the daemon stops, and ends the run that waits here
        _require(await self._record.get(root.workspace_id), *WORKABLE)

    def setup(self, project_id: str) -> str | list[str] | None:
        """Return the command that the project has for new workspaces, None without one."""
        return self._making.setup_of(project_id)

    async def set_up(self, root: SessionRoot, setup: ChildSetup) -> None:
        """Run the setup in a workspace that is made, as the subagent would, or say why that is not done."""
        assert root.workspace_id is not None
        row = await self._record.get(root.workspace_id)
        columns: dict[str, Any] = {}
        if setup.refusal is not None:
            notes = [
                f"`setup` was not run, as the subagent may not run it without a question: {setup.refusal}"
            ]
            notes.append("It can be run later, by the subagent with its tools or by you in the workspace.")
        else:
            hold = None if setup.cage is None else Hold(setup.cage, row.project_id, setup.agent_path)
            try:
                fitting = await self._making.fitting(row)
                notes, columns = await self._tools.outfit.set_up(row, setup.words, fitting, hold)
            except (GitProblem, ToolError, OSError) as problem:
                notes = [f"`setup` cannot be run: {words(problem)}"]
        detail = " ".join((*([row.detail] if row.detail else []), *notes)) or None
        await self._record.note(row, {**columns, "detail": detail})

    async def changed(self, root: SessionRoot) -> int | None:
        """Return how many files a subagent has changed; None when that cannot be said."""
        assert root.workspace_id is not None
        row = await self._record.get(root.workspace_id)
        if WorkspaceState(row.state) not in WORKABLE or row.removed_at is not None:
            return None
        layout = self._tools.layout_of(row)
        try:
            folder = self._projects.root_of(row.project_id)
            sides = await self._tools.merging.sides(row, layout, folder, None)
            return len(await differences(sides.git, sides.base, sides.theirs))
        except (KagedError, GitProblem, OSError) as problem:
            log.warning("the changes of the workspace %s cannot be counted: %s", row.id, words(problem))
            return None

    async def ended(self, root: SessionRoot) -> None:
        """Hear that the run of a subagent is over: its workspace goes when it holds no changes."""
        assert root.workspace_id is not None
        await self._let_go(await self._record.get(root.workspace_id))

    async def _let_go(self, row: Workspace) -> None:
        self._tending.in_use.discard(row.id)
        if await self._record.find(row.id) is None:
            return
        if not self._making.stopped:
            await self._tending.give_up(row)
        self._tending.look_soon()


def _require_room(uow: UnitOfWork, session_id: str) -> None:
    """Raise `Conflict` when the subagents of a session have as many workspaces as they may."""
    rows = uow.workspaces.of_subagents(session_id)
    held = [one for one in rows if one.state != WorkspaceState.DISCARDED.value]
    if len(held) >= MAX_OF_SESSION:
        raise Conflict(
            f"The subagents of this session have {len(held)} workspaces, and may have no more: apply or "
            f"discard the changes of some with {CHANGES_TOOL}.",
            reason="too_many_workspaces",
        )


def _require(row: Workspace, *states: WorkspaceState) -> None:
    """Raise `Conflict` when a workspace is in none of the states."""
    if WorkspaceState(row.state) not in states:
        why = f": {row.detail}" if row.detail else f" ({row.state})"
        raise Conflict(
            f"Its workspace could not be created{why}",
            reason="workspace_not_ready",
            details={"workspace_id": row.id, "state": row.state},
        )
