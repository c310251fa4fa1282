"""The workspaces of all sessions, as operators and sessions use them.

Owns: what an operator decides about one, and in which state that is possible. Never: making one (`making`),
what a merge changes (`merging`), or what ends by itself (`tending`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from app.config import WorkspaceSettings
from app.errors import Conflict, NotFound
from app.harness.projects.projects import ProjectRegistry
from app.harness.projects.run_cage import cage_of
from app.harness.workspaces.children import SubagentWorkspaces
from app.harness.workspaces.making import Making
from app.harness.workspaces.merging import Merged, MergeWish
from app.harness.workspaces.outfit import Hold
from app.harness.workspaces.record import WorkspaceRecord
from app.harness.workspaces.running import Command, CommandRun
from app.harness.workspaces.taking import ChildChanges
from app.harness.workspaces.tending import REMOVAL, Tending
from app.harness.workspaces.tools import Tools
from app.ids import now_ms
from app.states import WorkspaceState
from app.storage.models import Session as SessionRow
from app.storage.models import Workspace
from app.storage.pages import Page
from app.tools.processes.git_commands import GitProblem
from app.workspace.moved_repository import follow_repository

S = WorkspaceState
T = TypeVar("T")
CHECK_RUNNING = "check_running"
SESSION_RUNNING = "session_running"


class Workspaces:
    """One per daemon. `look_forever` and `aclose` bound its background work."""

    def __init__(
        self, record: WorkspaceRecord, projects: ProjectRegistry, tools: Tools, settings: WorkspaceSettings
    ) -> None:
        self._record = record
        self._storage = record.storage
        self._projects = projects
        self._tools = tools
        self._making = Making(record, projects, tools, settings)
        self._tending = Tending(record, projects, tools, settings, self._making)
        self.subagents = SubagentWorkspaces(record, projects, tools, self._making, self._tending)
        self.child_changes = ChildChanges(record, projects, tools, self._tending)
        self._steps: set[asyncio.Task[Any]] = set()

    # -- for sessions -----------------------------------------------------------------------

    async def plan(self, project_id: str, base: str, title: str, actor: str) -> Workspace:
        """Return the row of a workspace that can be made; it is stored with its session."""
        return await self._making.plan(project_id, base, title, actor)

    def default_kind(self, project_id: str) -> Literal["shared", "worktree"]:
        """Return where a session works that does not say so: `shared` or `worktree`."""
        return self._projects.get(project_id).acting().workspace.default

    def planned(
        self, session: SessionRow, base: str, titles: Sequence[str], actor: str, group_id: str
    ) -> AbstractAsyncContextManager[list[Workspace]]:
        """As `Making.planned`: several workspaces that begin with the same."""
        return self._making.planned(session, base, titles, actor, group_id)

    async def check(self, row: Workspace, command: str, seconds: float) -> CommandRun:
        """Run an operator's command in a workspace, in no wider cage than that of its session's root agent.
        Raises `Conflict` when the workspace is not there to work in, or the project is not trusted, and
        `NotFound` without the session."""
        async with self._record.holding(row.id) as present:
            self._require_state(present, S.READY, S.MERGED)
            self._require_here(present, self._tools.holds(present))
            self._projects.require_trusted(row.project_id)
            self._tending.checked.add(row.id)
        try:
            hold = await self._hold(row)
            fitting = await self._making.fitting(row)
            # Both streams in the order in which they were written.
            wanted = Command("check", f"exec 2>&1\n{command}", seconds)
            return await self._tools.outfit.check(row.id, wanted, fitting, hold)
        except GitProblem as problem:
            raise Conflict(f"The command cannot be run: {problem}", reason="git_failed") from None
        finally:
            self._tending.checked.discard(row.id)
            self._tending.look_soon()

    async def _hold(self, row: Workspace) -> Hold | None:
        """Return the cage of the root agent of a workspace's session; None for one without a cage."""
        session_id = row.session_id
        session = await self._storage.read(lambda uow: uow.sessions.get(session_id or ""))
        if session is None:
            raise NotFound("The session of the workspace is not there any more.")
        project = await self._projects.of_session(session)
        cage = await asyncio.to_thread(cage_of, project, project.root, Path(row.root))
        return None if cage is None else Hold(cage, row.project_id, project.root.path)

    def begin(self, row: Workspace) -> None:
        """Make a stored workspace in the background."""
        self._making.begin(row)

    def is_making(self, session: SessionRow) -> bool:
        return self._making.is_making(session)

    async def ready(self, session: SessionRow) -> bool:
        """Wait while a session's workspace is being made; False when the daemon stops before."""
        return await self._making.ready(session)

    async def require(self, session: SessionRow) -> None:
        """Raise `Conflict` when a session's workspace is not there to work in."""
        await self._making.require(session)

    async def know(self, project_id: str | None = None) -> None:
        """Know where sessions work, before anybody asks; those of one project when given."""
        await self._record.know(project_id)

    async def recover(self, project_id: str | None = None) -> None:
        """Finish or undo what a crash left half done; in one project when given."""
        await self._tending.recover(project_id)

    async def follow(self, project_id: str, before: Path, after: Path) -> None:
        """Let the workspaces of a project that is moved borrow from its repository at its new place."""
        await asyncio.to_thread(follow_repository, self._tools.data_dir, project_id, before, after)

    def session_ended(self) -> None:
        """Look soon for what nobody needs: a session was archived or deleted."""
        self._tending.look_soon()

    async def look_forever(self, may_look: Callable[[str], bool]) -> None:
        """Remove again and again what nobody needs; of the projects that `may_look` says."""
        await self._tending.look_forever(may_look)

    async def aclose(self) -> None:
        """Stop what is being made, which the next start makes, and await what operators have begun."""
        await self._making.aclose()
        await asyncio.gather(*self._steps, return_exceptions=True)

    # -- looking ----------------------------------------------------------------------------

    async def find(self, session_id: str) -> Workspace | None:
        """Return the workspace of a session, which may be deleted; None when it has none of its own."""
        return await self._record.of_session(session_id)

    async def of_session(self, session_id: str) -> Workspace:
        """As `find`; raises `NotFound` when there is none."""
        found = await self._record.of_session(session_id)
        if found is None:
            raise NotFound(
                "The session works in the project's folder: it has no workspace.", reason="workspace_shared"
            )
        return found

    async def get(self, workspace_id: str) -> Workspace:
        return await self._record.get(workspace_id)

    async def list(self, project_id: str, limit: int, cursor: str | None) -> Page[Workspace]:
        return await self._storage.read(
            lambda uow: uow.workspaces.list(project_id, limit=limit, cursor=cursor)
        )

    # -- bringing back ----------------------------------------------------------------------

    async def merge(self, row: Workspace, wish: MergeWish, actor: str) -> Merged:
        """Bring the changes of a workspace back; with `dry_run` only say what that does."""
        return await self._to_its_end(self._merge(row, wish, actor))

    async def _merge(self, row: Workspace, wish: MergeWish, actor: str) -> Merged:
        async with self._record.holding(row.id) as present:
            self._require_state(present, S.READY, S.MERGED)
            of_agent = wish.conflicts == "agent"
            self._require_here(present, (self._tools.holds if of_agent else self._tools.reaches)(present))
            if present.run_id is not None and of_agent:
                raise Conflict(
                    "The subagent of this workspace has ended and cannot resolve conflicts: keep the branch "
                    "and merge it with git, or let the calling agent apply the changes.",
                    reason="workspace_of_subagent",
                )
            if not wish.dry_run:
                await self._require_rest(present)
            root = self._projects.root_of(present.project_id)
            layout = self._tools.layout_of(present)
            try:
                prepared = await self._tools.merging.prepare(present, layout, root, wish)
                if wish.dry_run:
                    return prepared.answer
                prepared.require_possible()
                journal = {**prepared.journal, "by": actor}
                present = await self._record.move(present, S.MERGING, {"journal": journal})
                commit = await self._tending.finish_merge(present, layout, root)
                answer = prepared.answer
                return replace(answer, commit=commit) if prepared.journal.get("hooks") else answer
            except GitProblem as problem:
                raise Conflict(f"The workspace cannot be merged: {problem}", reason="git_failed") from None

    # -- giving up --------------------------------------------------------------------------

    async def discard(self, row: Workspace) -> Workspace:
        """Give a workspace up. Its files are kept for some days, so that `undo` brings it back."""
        return await self._to_its_end(self._discard(row))

    async def _discard(self, row: Workspace) -> Workspace:
        async with self._record.holding(row.id) as present:
            self._require_state(present, S.READY, S.MERGED, S.BROKEN, S.CREATING)
            self._require_here(present, self._tools.tends(present))
            await self._require_rest(present)
            if present.state == S.CREATING.value:
                present = await self._making.give_up(present)
            if present.state == S.DISCARDED.value:
                return present
            return await self._record.move(present, S.DISCARDED, {"ended_at": now_ms()})

    async def undo(self, row: Workspace) -> Workspace:
        """Take back a workspace that was discarded, as long as its files are there."""
        return await self._to_its_end(self._undo(row))

    async def _undo(self, row: Workspace) -> Workspace:
        async with self._record.holding(row.id) as present:
            self._require_state(present, S.DISCARDED)
            self._require_here(present, self._tools.reaches(present))
            is_there = await asyncio.to_thread(self._tools.layout_of(present).tree.is_dir)
            if present.removed_at is not None or present.journal == REMOVAL or not is_there:
                raise Conflict(
                    "The folder of the workspace is removed: it cannot be restored.",
                    reason="workspace_removed",
                )
            return await self._record.move(present, S.READY, {"ended_at": None})

    async def retry(self, row: Workspace) -> Workspace:
        """Make a broken workspace again in the background."""
        return await self._to_its_end(self._retry(row))

    async def _retry(self, row: Workspace) -> Workspace:
        async with self._record.holding(row.id) as present:
            self._require_state(present, S.BROKEN)
            self._require_here(present, self._tools.tends(present))
            await self._require_rest(present)
            return await self._tending.make_again(present)

    async def keep(self, row: Workspace) -> Workspace:
        """Leave the branch of a workspace in the user's repository, and remove its folder."""
        return await self._to_its_end(self._keep(row))

    async def _keep(self, row: Workspace) -> Workspace:
        async with self._record.holding(row.id) as present:
            self._require_state(present, S.READY, S.MERGED)
            self._require_here(present, self._tools.reaches(present))
            if present.branch is None:
                raise Conflict(
                    "The workspace is a copy without a repository: it has no branch to keep. Merge or "
                    "discard it.",
                    reason="workspace_without_branch",
                )
            await self._require_rest(present)
            root = self._projects.root_of(present.project_id)
            layout = self._tools.layout_of(present)
            try:
                journal = await self._tools.merging.plan_branch(present, layout, root)
                present = await self._record.note(present, {"journal": journal})
                return await self._tending.finish_keep(present, layout, root)
            except GitProblem as problem:
                raise Conflict(f"The branch cannot be kept: {problem}", reason="git_failed") from None

    # -- inside -----------------------------------------------------------------------------

    async def _to_its_end(self, step: Coroutine[Any, Any, T]) -> T:
        """Do a step whole, also when the client that asked for it is gone."""
        task = asyncio.create_task(step)
        self._steps.add(task)
        task.add_done_callback(self._steps.discard)
        return await asyncio.shield(task)

    async def _require_rest(self, row: Workspace) -> None:
        if row.id in self._tending.checked:
            raise Conflict(
                "A check runs in the workspace: wait for its end, or stop it with `kaged attempts cancel`.",
                reason=CHECK_RUNNING,
            )
        if row.run_id is not None:
            if await self._tending.is_used(row):
                raise Conflict(
                    "The subagent is working in the workspace: wait for its end, or cancel its run first.",
                    reason="subagent_running",
                )
            return
        session_id = row.session_id
        session = await self._storage.read(lambda uow: uow.sessions.get(session_id or ""))
        if session is not None and session.state == "running":
            raise Conflict(
                "The session is working in the workspace: pause or cancel it first.", reason=SESSION_RUNNING
            )

    def _require_here(self, row: Workspace, here: bool) -> None:
        if not here:
            raise Conflict(
                f"The workspace {row.root} is in the data folder of another daemon: ask for this when that "
                "daemon owns the project.",
                reason="workspace_elsewhere",
            )

    def _require_state(self, row: Workspace, *states: WorkspaceState) -> None:
        if S(row.state) not in states:
            raise Conflict(
                f"The workspace is {row.state}. It must be {' or '.join(states)}.",
                reason="invalid_transition",
                details={"state": row.state, "legal": sorted(states)},
            )
