"""What subagents left in their workspaces, for the agent that called them.

Owns: whose changes an agent may see and take, which of them, and how they meet what is in its folder. Never:
writing files, which is the tool's (`app.tools.agents.changes`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.errors import Conflict, KagedError, ToolError
from app.harness.issues.commands import as_tool_error
from app.harness.projects.projects import ProjectRegistry
from app.harness.projects.run_cage import cage_of
from app.harness.workspaces.bringing import Checkout, no_files
from app.harness.workspaces.layout import Layout
from app.harness.workspaces.merge_notes import WORKING_TREE
from app.harness.workspaces.merging import Sides
from app.harness.workspaces.record import WorkspaceRecord
from app.harness.workspaces.snapshots import Snapshots
from app.harness.workspaces.tending import Tending
from app.harness.workspaces.tools import Tools
from app.harness.workspaces.trees import LINK, Difference, differences, join, patch, with_sides
from app.ids import SUBAGENTS, now_ms
from app.states import WorkspaceState
from app.storage.models import Workspace
from app.tools.agents.changes import ChangedFile, ChildWork
from app.tools.agents.taken_files import TakenFile, Taking
from app.tools.authorisation.cage_policy import CagePolicy
from app.tools.contract.call import ToolCallContext
from app.tools.processes.git_commands import GitProblem
from app.tools.project_files.read_tracker import Digest, digest_of
from app.workspace import Workspace as Folder
from app.workspace.any_names import PREFIX, address_of

PARENT = "parent"
"""By this name a workspace notes what that of its parent has of it."""
EXECUTABLE = "100755"
_TAKEABLE = frozenset({WorkspaceState.READY.value, WorkspaceState.MERGED.value})
_RUNNING = "The subagent is still at work: wait for its end, its changes come with its answer."


@dataclass(frozen=True, slots=True)
class Meeting:
    """The changes of some files, merged with what is in the folder of the parent. `tree` is what the parent
    had of the workspace, with these changes."""

    files: Sequence[TakenFile]
    conflicts: Sequence[str]
    hindered: Mapping[str, str]
    tree: str
    note: Callable[[], Any]

    async def taken(self) -> None:
        await self.note()


class ChildChanges:
    """The changes of the subagents of all sessions."""

    def __init__(
        self, record: WorkspaceRecord, projects: ProjectRegistry, tools: Tools, tending: Tending
    ) -> None:
        self._record = record
        self._projects = projects
        self._tools = tools
        self._tending = tending

    async def works(self, context: ToolCallContext, run_id: str | None) -> list[ChildWork]:
        with _as_tool_errors():
            rows = await self._rows(context, run_id)
            found = [await self._look(row) for row in rows]
            present = [one for one in found if one is not None]
            return [one for one in present if run_id is not None or one.files or one.state == "working"]

    async def diff(self, context: ToolCallContext, run_id: str, paths: Sequence[str]) -> str:
        with _as_tool_errors():
            row = await self._ended(context, run_id)
            async with self._record.holding(row.id) as present:
                if present.removed_at is not None:
                    raise _not_found(run_id)
                sides = await self._sides(present)
                wanted = await self._chosen(present, sides, paths)
                if not wanted:
                    return ""
                return await patch(sides.git, sides.base, sides.theirs, [one.path for one in wanted])

    def taking(
        self, context: ToolCallContext, run_id: str, paths: Sequence[str]
    ) -> AbstractAsyncContextManager[Taking]:
        return self._taking(context, run_id, paths)

    @asynccontextmanager
    async def _taking(
        self, context: ToolCallContext, run_id: str, paths: Sequence[str]
    ) -> AsyncIterator[Taking]:
        with _as_tool_errors():
            row = await self._ended(context, run_id)
            async with self._record.holding(row.id) as present:
                if present.state not in _TAKEABLE or present.removed_at is not None:
                    raise _not_found(run_id)
                sides = await self._sides(present)
                chosen = await self._chosen(present, sides, paths)
                meeting = await self._met(present, sides, chosen, context)
                yield meeting

    async def discard(self, context: ToolCallContext, run_id: str) -> ChildWork:
        with _as_tool_errors():
            row = await self._ended(context, run_id)
            async with self._record.holding(row.id) as present:
                if present.state not in _TAKEABLE or present.removed_at is not None:
                    raise _not_found(run_id)
                work = await self._work(present)
                await self._record.move(present, WorkspaceState.DISCARDED, {"ended_at": now_ms()})
                return work

    # -- inside -----------------------------------------------------------------------------

    async def _look(self, row: Workspace) -> ChildWork | None:
        """Return what is in a workspace; None when it was removed meanwhile."""
        async with self._record.holding(row.id) as present:
            return None if present.removed_at is not None else await self._work(present)

    async def _rows(self, context: ToolCallContext, run_id: str | None) -> list[Workspace]:
        """Return the workspaces of the caller's subagents. Of an agent that is itself a subagent these are
        those of its own run: several runs of it may go on at once."""
        session_id = context.session_id
        stored = await self._record.storage.read(lambda uow: uow.workspaces.of_subagents(session_id))
        rows = [
            row
            for row in stored
            if (row.agent_path or "").rpartition(SUBAGENTS)[0] == context.agent_path
            and (run_id is None or row.run_id == run_id)
            and row.state in {*_TAKEABLE, WorkspaceState.CREATING.value, WorkspaceState.MERGING.value}
            and self._tools.holds(row)
        ]
        if not context.is_root_agent:
            ids = [row.run_id or "" for row in rows]
            runs = await self._record.storage.read(lambda uow: [uow.runs.get(one) for one in ids])
            own = {run.id for run in runs if run is not None and run.parent_run_id == context.run_id}
            rows = [row for row in rows if row.run_id in own]
        if run_id is not None and not rows:
            raise _not_found(run_id)
        return rows

    async def _ended(self, context: ToolCallContext, run_id: str) -> Workspace:
        row = (await self._rows(context, run_id))[0]
        if row.state not in _TAKEABLE or await self._tending.is_used(row):
            raise ToolError("subagent_running", _RUNNING)
        return row

    async def _work(self, row: Workspace) -> ChildWork:
        assert row.run_id is not None and row.agent_path is not None
        agent = row.agent_path.rpartition(SUBAGENTS)[2]
        if row.state not in _TAKEABLE or await self._tending.is_used(row):
            return ChildWork(run_id=row.run_id, agent=agent, workspace=row.id, state="working", files=[])
        sides = await self._sides(row)
        cage, prefix = await self._cage(row), _prefix(sides)
        files = [
            ChangedFile(
                path=_path_of(one, prefix),
                status=one.status,
                additions=one.additions,
                deletions=one.deletions,
                left=_left(one, prefix, cage),
            )
            for one in await differences(sides.git, sides.base, sides.theirs)
        ]
        return ChildWork(run_id=row.run_id, agent=agent, workspace=row.id, state="ended", files=files)

    async def _sides(self, row: Workspace) -> Sides:
        root = self._projects.root_of(row.project_id)
        layout = self._tools.layout_of(row)
        into, also = (WORKING_TREE, None) if row.parent_id is None else (PARENT, self._parent(row))
        return await self._tools.merging.sides(row, layout, root, into, also)

    def _parent(self, row: Workspace) -> Layout:
        return self._tools.layout(row.project_id, row.parent_id or "")

    async def _chosen(self, row: Workspace, sides: Sides, paths: Sequence[str]) -> list[Difference]:
        """Return the changes of these files, as far as they are the subagent's to make."""
        cage, prefix, wanted = await self._cage(row), _prefix(sides), set(paths)
        return [
            one
            for one in await differences(sides.git, sides.base, sides.theirs)
            if _path_of(one, prefix) in wanted and not _is_outside(one, prefix, cage)
        ]

    async def _cage(self, row: Workspace) -> CagePolicy | None:
        """Return what bounds the subagent. Its workspace may hold more than it can have written there, and a
        commit is made of more than what lies in the folder."""
        session_id = row.session_id or ""
        session = await self._record.storage.read(lambda uow: uow.sessions.get(session_id))
        if session is None:
            raise _not_found(row.run_id or "")
        project = await self._projects.of_session(session)
        agent = next((one for one in project.root.walk() if one.path == row.agent_path), None)
        if agent is None:
            raise Conflict("The project no longer has this subagent.", reason="agent_not_found")
        root = self._projects.root_of(row.project_id)
        cage = await asyncio.to_thread(cage_of, project, agent, root)
        return None if cage is None else CagePolicy(cage, Path(row.root))

    async def _met(
        self, row: Workspace, sides: Sides, chosen: Sequence[Difference], context: ToolCallContext
    ) -> Meeting:
        """Join the chosen changes with what is in the folder of the parent now."""
        git, prefix = sides.git, _prefix(sides)
        top = self._top(row, sides, context)
        takeable = [one for one in chosen if _unwritable(one, prefix) is None]
        hindered = {
            _path_of(one, prefix): reason
            for one in chosen
            if (reason := _unwritable(one, prefix)) is not None
        }
        occupied = await asyncio.to_thread(
            no_files, Checkout(top, "", None, None, sides.closed), [one.path for one in takeable]
        )
        hindered |= {_shown(path, prefix): reason for path, reason in occupied.items()}
        plain = [one for one in takeable if one.path not in occupied]
        paths = [one.path for one in plain]
        tree = await with_sides(git, sides.base, plain)
        snapshots = Snapshots(git)
        # Before git looks: what is saved from here on is another content than this.
        folder = Folder(context.project_root, closed=sides.closed)
        present = await asyncio.to_thread(_digests, folder, [_shown(path, prefix) for path in paths])
        ours = await snapshots.of_paths(top, None, sides.base, paths)
        joined = await join(git, sides.base, ours, tree)
        own = {one.path for one in await differences(git, sides.base, ours)}
        changes = await differences(git, ours, joined.tree)
        contents = await snapshots.contents(joined.tree, [one.path for one in changes if one.new], top)
        files = [
            TakenFile(
                path=_shown(one.path, prefix),
                content=contents.get(one.path),
                executable=one.new is not None and one.new.mode == EXECUTABLE,
                rewritten=one.status != "mode",
                present=present.get(_shown(one.path, prefix)),
                changed_here=one.path in own,
            )
            for one in changes
        ]
        conflicts = [_shown(path, prefix) for path in joined.conflicts]

        async def note() -> None:
            await self._note(row, sides, tree, context)

        return Meeting(files, conflicts, hindered, tree, note)

    def _top(self, row: Workspace, sides: Sides, context: ToolCallContext) -> Path:
        """Return the working tree of the caller."""
        root = self._projects.root_of(row.project_id)
        if self._projects.workspaces.at(row.parent_id, root).path != context.project_root:
            raise Conflict(
                "The workspace was not made from the folder in which you work.", reason="elsewhere"
            )
        if row.parent_id is not None:
            return self._parent(row).tree
        return root if sides.repository is None else sides.repository.top

    async def _note(self, row: Workspace, sides: Sides, tree: str, context: ToolCallContext) -> None:
        """Note what the parent has of a workspace now; one of which it has everything goes."""
        merged = dict(row.merged or {})
        into = WORKING_TREE if row.parent_id is None else PARENT
        merged["bases"] = {**merged.get("bases", {}), into: tree}
        if tree == sides.theirs:
            merged["whole"] = [tree]
        merged |= {"into": PARENT, "commit": None, "at": now_ms(), "by": f"agent:{context.agent_path}"}
        await self._record.note(row, {"merged": merged})
        self._tending.look_soon()


def _prefix(sides: Sides) -> bytes:
    return b"" if sides.repository is None else os.fsencode(sides.repository.prefix)


def _below(path: bytes, prefix: bytes) -> bytes | None:
    """Return a path of the repository below the project's folder; None for one outside of it."""
    if not prefix:
        return path
    return path[len(prefix) + 1 :] if path.startswith(prefix + b"/") else None


def _shown(path: bytes, prefix: bytes) -> str:
    below = _below(path, prefix)
    return address_of(path if below is None else below)


def _path_of(one: Difference, prefix: bytes) -> str:
    return _shown(one.path, prefix)


def _digests(folder: Folder, paths: Sequence[str]) -> dict[str, Digest]:
    """Return what lies there now, of what can be read. Blocks."""
    found = {}
    for path in paths:
        with suppress(ToolError), folder.target(f"./{path}") as target:
            if target.exists:
                found[path] = digest_of(target.read())
    return found


def _is_outside(one: Difference, prefix: bytes, cage: CagePolicy | None) -> bool:
    """Tell whether a change is not the subagent's to make: its cage does not let it write there."""
    below = _below(one.path, prefix)
    if cage is None or below is None:
        return cage is not None
    return cage.lack(tuple(os.fsdecode(below).split("/")), "rw") is not None


def _unwritable(one: Difference, prefix: bytes) -> str | None:
    if _below(one.path, prefix) is None:
        return "it lies outside the project's folder"
    if _path_of(one, prefix).startswith(PREFIX):
        return "its name is not plain text"
    if one.is_submodule:
        return "it is a submodule"
    links = any(side is not None and side.mode == LINK for side in (one.old, one.new))
    return "it is a symbolic link" if links else None


def _left(one: Difference, prefix: bytes, cage: CagePolicy | None) -> str | None:
    """Return why a file is not for the parent to take."""
    if _is_outside(one, prefix, cage):
        return "the subagent may not write it: something else changed it in its workspace"
    return _unwritable(one, prefix)


@contextmanager
def _as_tool_errors() -> Iterator[None]:
    try:
        yield
    except KagedError as problem:
        raise as_tool_error(problem) from None
    except GitProblem as problem:
        raise ToolError("git_failed", f"The changes cannot be read: {problem}") from None


def _not_found(run_id: str) -> ToolError:
    return ToolError(
        "changes_not_found",
        f"There are no changes of a subagent of yours with the run {run_id[:64]!r}: they are applied or "
        "discarded, or there were none. Action `list` shows the changes that are left.",
        detail={"run_id": run_id[:64]},
    )
