"""Rolling the files back with the conversation: from which note, and against which writes of agents.

Owns: finding the note of a point, what agents have written since, and keeping the present state first.
Never: comparing or writing files (`restoring`), or the conversation (`superseding`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.errors import Conflict
from app.harness.checkpoints.file_writes import as_details, expected_after, writes_of
from app.harness.checkpoints.worktree_notes import WorktreeNotes
from app.harness.sessions.point import Point, runs_after
from app.harness.sessions.restoring import FilePlan, diffs_of, plan_files, restore_files
from app.ids import new_id, now_ms
from app.storage.models import Checkpoint, Rollback, Worktree
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from app.tools.contract.ports import FileWrite
from app.tools.processes.git_commands import GitProblem
from app.workspace import Workspace
from app.workspace.any_names import address_of


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """What a rollback of the files would do, with the differences of texts by path."""

    plan: FilePlan
    diffs: dict[str, str]


class FileRollback:
    """Restores the files of one project for one session."""

    def __init__(self, storage: Storage, notes: WorktreeNotes, session_id: str, root: Path) -> None:
        self._storage = storage
        self._notes = notes
        self._session_id = session_id
        self._root = root

    async def plan(self, point: Point, checkpoint: Checkpoint | None, *, force: bool) -> FilePlan:
        """Return what restoring the files of a point would do; raises `Conflict` when they are not noted."""
        await self._notes.settled(self._session_id)

        def read(uow: UnitOfWork) -> tuple[str, list[FileWrite]]:
            tree = tree_at(uow, self._session_id, point, checkpoint)
            return tree, writes_after(uow, self._session_id, point)

        tree, writes = await self._storage.read(read)
        try:
            noted = await self._notes.worktrees.note(self._root)
            objects = await self._notes.worktrees.objects(self._root)
            names = await objects.read_tree(tree)
            expected = expected_after(writes, [name.decode("utf-8", "surrogateescape") for name in names])
            return await plan_files(objects, noted, tree, expected, force=force)
        except GitProblem as problem:
            raise _not_noted(str(problem)) from None

    async def stage(self, plan: FilePlan) -> StagedFiles:
        """Return the plan with what it would change in texts; nothing is changed."""
        try:
            return StagedFiles(plan, await diffs_of(await self._notes.worktrees.objects(self._root), plan))
        except GitProblem as problem:
            raise _not_noted(str(problem)) from None

    async def keep_present(self, plan: FilePlan, cursor: str | None, actor: str) -> str:
        """Keep the files as they are now as a checkpoint of its own; return its id."""
        at = now_ms()
        checkpoint = Checkpoint(
            id=new_id("ckp"),
            session_id=self._session_id,
            created_at=at,
            created_by=actor,
            reason="rollback",
            detail="the files before a rollback",
            message_cursor=cursor,
            resumed_at=at,
        )
        note = Worktree(
            id=new_id("wtr"),
            session_id=self._session_id,
            checkpoint_id=checkpoint.id,
            created_at=at,
            state="taken",
            tree=plan.before,
        )

        def statements(uow: UnitOfWork) -> None:
            uow.checkpoints.add(checkpoint)
            uow.worktrees.add(note)

        await self._storage.write(statements, durable=True)
        return checkpoint.id

    async def restore(self, plan: FilePlan) -> list[FileWrite]:
        """Write the files; raises `Conflict` when one has changed since it was looked at."""
        try:
            worktrees = self._notes.worktrees
            workspace = Workspace(self._root, closed=worktrees.closed, any_name=True)
            return await restore_files(workspace, await worktrees.objects(self._root), plan)
        except GitProblem as problem:
            raise _not_noted(str(problem)) from None

    async def plan_undo(self, rollback: Rollback, *, force: bool) -> FilePlan | None:
        """Return how the files of a rollback are brought back; None when it had restored none."""
        kept = rollback.details.get("files")
        if not kept or not kept["wrote"]:
            return None
        try:
            noted = await self._notes.worktrees.note(self._root)
            objects = await self._notes.worktrees.objects(self._root)
            expected = expected_after(writes_of(kept), ())
            plan = await plan_files(objects, noted, kept["before"], expected, force=force)
        except GitProblem as problem:
            raise _not_noted(str(problem)) from None
        mine = set(expected)
        return FilePlan(
            plan.before,
            plan.target,
            tuple(one for one in plan.restored if one.path in mine),
            tuple(one for one in plan.conflicts if one.path in mine),
        )


def as_stored(plan: FilePlan, checkpoint_id: str, wrote: list[FileWrite]) -> dict[str, Any]:
    """Return what is kept of restored files with their rollback."""
    return {
        "checkpoint_id": checkpoint_id,
        "before": plan.before,
        "target": plan.target,
        "wrote": as_details(wrote),
        "conflicts": [{"path": address_of(one.path), "reason": one.reason} for one in plan.conflicts],
    }


def tree_at(uow: UnitOfWork, session_id: str, point: Point, checkpoint: Checkpoint | None) -> str:
    """Return the tree that was noted at a point, or nearest to it without an agent's write between.

    Raises `Conflict` when there is none, or when it failed."""
    if checkpoint is not None:
        own = uow.worktrees.of_checkpoint(session_id, checkpoint.id)
        if own is not None:
            return _tree_of(own)
    notes = _notes_by_position(uow, session_id)
    written = [
        row.position or 0 for row in uow.messages.tool_results(session_id, 0) if "wrote" in row.details
    ]
    at = point.position
    exact = [note for position, note in notes if position == at]
    if exact:
        return _tree_of(exact[0])
    earlier = [(position, note) for position, note in notes if position < at]
    if earlier and not any(earlier[-1][0] < place <= at for place in written):
        return _tree_of(earlier[-1][1])
    later = [(position, note) for position, note in notes if position > at]
    if later and not any(at < place <= later[0][0] for place in written):
        return _tree_of(later[0][1])
    raise _not_noted(
        "nothing was noted there (that is done in git repositories, at operators' messages and checkpoints)"
    )


def _notes_by_position(uow: UnitOfWork, session_id: str) -> list[tuple[int, Worktree]]:
    """Return the notes of a session with the positions that they were made at, in order."""
    notes = uow.worktrees.of_session(session_id)
    cursors = {one.id: one.message_cursor for one in uow.checkpoints.of_session(session_id)}
    messages = {note.id: note.message_id or cursors.get(note.checkpoint_id or "") for note in notes}
    positions = uow.messages.positions(session_id, [one for one in messages.values() if one is not None])
    placed = [(positions.get(messages[note.id] or ""), note) for note in notes]
    found = [(position, note) for position, note in placed if position is not None]
    return sorted(found, key=lambda one: (one[0], one[1].created_at, one[1].id))


def _tree_of(note: Worktree) -> str:
    if note.tree is None:
        raise _not_noted(note.detail or note.state)
    return note.tree


def _not_noted(why: str) -> Conflict:
    return Conflict(
        f"The files cannot be restored: {why}. Roll back without `files` to keep them as they are.",
        reason="files_not_noted",
    )


def writes_after(uow: UnitOfWork, session_id: str, point: Point) -> list[FileWrite]:
    """Return what agents, and rollbacks for them, have written after a point, in order of time."""
    late = set(runs_after(uow, session_id, point))
    rows = uow.messages.tool_results(session_id, point.position)
    known = {row.id for row in rows}
    rows += [row for row in uow.messages.of_runs(session_id, sorted(late)) if row.id not in known]
    children = {run.id for run in uow.runs.children(session_id)} - late
    parts: list[tuple[float, list[FileWrite]]] = [
        (float(row.position or 0), writes_of(row.details)) for row in rows if row.run_id not in children
    ]
    parts += _restored_since(uow.rollbacks.of_session(session_id), point)
    return [write for _, writes in sorted(parts, key=lambda one: one[0]) for write in writes]


def _restored_since(rollbacks: Iterable[Rollback], point: Point) -> list[tuple[float, list[FileWrite]]]:
    found: list[tuple[float, list[FileWrite]]] = []
    for rollback in rollbacks:
        files, last = rollback.details.get("files"), int(rollback.details["last_position"])
        if files and last >= point.position:
            found.append((last + 0.5, writes_of(files)))
            found.append((last + 0.6, writes_of({"wrote": files.get("undone", ())})))
    return found
