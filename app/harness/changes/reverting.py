"""Taking back changes of a session, whole files or hunks, and undoing that.

Owns: checking that a file is still what the difference was of, the record of a revert, and ending what a
killed daemon has begun. Never: writing files (`sessions.restoring`), which is all or nothing.

A revert is stored before a file is touched. After a kill each file is old or new, and `settle` makes all of
them so.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from app.errors import Conflict, KagedError, NotFound, ToolError
from app.harness.changes.line_diffs import Text
from app.harness.changes.revert_steps import (
    RACES,
    Content,
    Entry,
    RevertWish,
    Step,
    changed_since,
    check_names,
    chosen_hunks,
    context_of,
    file_changes,
    not_changed,
    not_kept,
    remove_leftovers,
    stored_entry,
    taken_lines,
    writes_of_steps,
)
from app.harness.changes.service import Changes, Listed, state_digest
from app.harness.checkpoints.file_writes import as_details
from app.harness.checkpoints.stored_objects import StoredObjects, TreeEntry
from app.harness.checkpoints.worktrees import Worktrees
from app.harness.conversation.session_rows import session_audit
from app.harness.git_output.hunks import Hunk, without_hunks
from app.harness.sessions.restoring import FileChange, FilePlan, restore_files
from app.harness.sessions.session_tasks import SessionTasks
from app.ids import new_id, now_ms
from app.keyed_locks import KeyedLocks
from app.storage.models import Revert
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage
from app.tools.contract.ports import FileWrite
from app.tools.processes.git_commands import GitProblem
from app.tools.project_files.text_format import from_utf8
from app.workspace import Workspace
from app.workspace.any_names import address_of

log = logging.getLogger("kaged.changes")
T = TypeVar("T")


class Reverts:
    """The reverts of all sessions; one at a time in each project."""

    def __init__(self, changes: Changes, storage: Storage, worktrees: Worktrees, tasks: SessionTasks) -> None:
        self._changes, self._storage, self._worktrees, self._tasks = changes, storage, worktrees, tasks
        self._locks = KeyedLocks[Path]()

    async def revert(self, session_id: str, wish: RevertWish, actor: str) -> Revert:
        """Take a change back. Raises `Conflict` (`changed_since`) when the file is not what the difference
        was of, `NotFound` when it does not differ."""
        row = await self._changes.session(session_id)
        return await self._tasks.shielded(self._locked(row, lambda: self._revert(row, wish, actor)))

    async def undo(self, session_id: str, revert_id: str, actor: str) -> Revert:
        """Bring back what a revert took. Raises `NotFound`, and `Conflict` (`changed_since`) when a file is
        no longer as the revert left it."""
        row = await self._changes.session(session_id)
        return await self._tasks.shielded(self._locked(row, lambda: self._undo(row, revert_id, actor)))

    async def settle(self, project_id: str | None = None) -> None:
        """End the reverts and undos that a killed daemon had begun, so that their files are old or new."""
        for revert in await self._storage.read(lambda uow: uow.reverts.under_way(project_id)):
            try:
                row = await self._changes.session(revert.session_id)

                async def end(row: SessionRow = row, revert: Revert = revert) -> None:
                    await self._settle(row, revert)

                await self._locked(row, end)
            except (KagedError, GitProblem, OSError) as problem:
                log.warning("the revert %s is not settled: %s", revert.id, problem)

    # -- inside -----------------------------------------------------------------------------

    async def _locked(self, row: SessionRow, work: Callable[[], Awaitable[T]]) -> T:
        async with self._locks.holding(self._changes.root_of(row)):
            return await work()

    async def _revert(self, row: SessionRow, wish: RevertWish, actor: str) -> Revert:
        listed = await self._changes.find(row, wish.since, wish.path)
        if listed is None:
            raise not_changed(wish)
        if wish.digest is not None and wish.digest != state_digest(listed.change):
            raise changed_since(wish.path)
        change = listed.change
        touched = [
            change.path,
            *([] if change.old_path is None or wish.hunks is not None else [change.old_path]),
        ]
        check_names(touched)
        if change.left_out is not None:
            raise Conflict(
                f"{address_of(change.path)} is {change.left_out}: its old content is not kept.",
                reason="not_kept",
            )
        objects = await self._worktrees.objects(self._changes.root_of(row))
        taken: list[list[list[str]]] | None = None
        if wish.hunks is None:
            steps = await self._whole(row, listed, objects)
        else:
            hunks, steps = await self._hunks(row, wish, objects)
            taken = taken_lines(hunks)
        revert = await self._begin(row, wish, steps, objects, actor, taken)
        async with self._changes.writing(row):
            await self._apply(
                row, revert, objects, file_changes(revert), lambda uow: uow.reverts.remove(revert.id)
            )
            wrote = writes_of_steps(steps)
            done = {
                "under_way": False,
                "applied_at": now_ms(),
                "details": {**revert.details, "wrote": as_details(wrote)},
            }
            return await self._end(row, revert, done, "changes.reverted", actor)

    async def _whole(self, row: SessionRow, listed: Listed, objects: StoredObjects) -> list[Step]:
        change = listed.change
        present = await self._present(row, [(change.path, change.now)])
        then = Content(None, None)
        if change.then is not None:
            try:
                contents = await objects.contents([change.then.oid], 2**30)
            except GitProblem:
                raise not_kept(change.path) from None
            then = Content(change.then, contents[change.then.oid])
        now = present[change.path]
        if change.old_path is None:
            return [Step(change.path, now, then)]
        await self._present(row, [(change.old_path, None)])
        nothing = Content(None, None)
        return [Step(change.path, now, nothing), Step(change.old_path, nothing, then)]

    async def _hunks(
        self, row: SessionRow, wish: RevertWish, objects: StoredObjects
    ) -> tuple[list[Hunk], list[Step]]:
        context = context_of(wish.hunks or ())
        diff = await self._changes.diff(row, wish.since, wish.path, context)
        hunks = chosen_hunks(diff, wish)
        content, entry = diff.sides.new, diff.listed.change.now
        text = None if content is None else Text.of(content)
        if text is None or entry is None or content is None:
            raise Conflict(
                f"{address_of(wish.path)} is not a text file now: revert the whole file.", reason="no_hunks"
            )
        try:
            after = from_utf8(without_hunks(text.body, hunks), text.format)
        except ToolError as problem:
            raise Conflict(f"{address_of(wish.path)}: {problem.message}", reason=problem.code) from None
        made = TreeEntry(entry.mode, objects.oid(after))
        return hunks, [Step(wish.path, Content(entry, content), Content(made, after))]

    async def _present(
        self, row: SessionRow, wanted: Sequence[tuple[bytes, Entry]], *, undoing: bool = False
    ) -> dict[bytes, Content]:
        """Return what files hold. Raises `Conflict` when that is not what is wanted."""
        root = self._changes.root_of(row)
        found = await self._worktrees.read(root, [path for path, _ in wanted])
        contents = {path: Content(*found.get(path, (None, None))) for path, _ in wanted}
        for path, entry in wanted:
            if contents[path].entry != entry:
                raise changed_since(path, undoing=undoing)
        return contents

    async def _begin(
        self,
        row: SessionRow,
        wish: RevertWish,
        steps: Sequence[Step],
        objects: StoredObjects,
        actor: str,
        taken: list[list[list[str]]] | None,
    ) -> Revert:
        """Keep what the files hold and are to hold, and store that the revert begins."""
        kept: dict[bytes, TreeEntry] = {}
        for step in steps:
            for side, what in ((b"before/", step.before), (b"after/", step.after)):
                if what.entry is not None and what.content is not None:
                    await asyncio.to_thread(objects.keep, what.content)
                    kept[side + step.path] = what.entry
        revert = Revert(
            id=new_id("rvt"),
            session_id=row.id,
            created_at=now_ms(),
            created_by=actor,
            tree=await objects.write_tree(kept),
            under_way=True,
            details={
                "path": address_of(wish.path),
                "since": wish.since,
                "hunks": None if wish.hunks is None else len(wish.hunks),
                "lines": taken,
                "files": [
                    {
                        "path": address_of(step.path),
                        "before": stored_entry(step.before.entry),
                        "after": stored_entry(step.after.entry),
                    }
                    for step in steps
                ],
                "wrote": [],
            },
        )
        await self._storage.write(lambda uow: uow.reverts.add(revert.model_copy()), durable=True)
        return revert

    async def _undo(self, row: SessionRow, revert_id: str, actor: str) -> Revert:
        revert = await self._storage.read(lambda uow: uow.reverts.get(revert_id))
        if revert is None or revert.session_id != row.id:
            raise NotFound(f"There is no revert {revert_id} in this session.")
        if revert.undone_at is not None:
            raise Conflict("This revert is already undone.", reason="already_undone")
        if revert.applied_at is None:
            raise Conflict("This revert is not complete.", reason="changed_since")
        plan = file_changes(revert, back=True)
        await self._present(row, [(os.fsencode(one.path), one.now) for one in plan], undoing=True)
        objects = await self._worktrees.objects(self._changes.root_of(row))
        await self._storage.write(lambda uow: uow.reverts.update(revert_id, under_way=True), durable=True)
        async with self._changes.writing(row):
            await self._apply(
                row, revert, objects, plan, lambda uow: uow.reverts.update(revert_id, under_way=False)
            )
            undone = await self._wrote(objects, plan)
            details = {**revert.details, "undone": as_details(undone)}
            done = {"under_way": False, "undone_at": now_ms(), "undone_by": actor, "details": details}
            return await self._end(row, revert, done, "changes.revert_undone", actor)

    async def _apply(
        self,
        row: SessionRow,
        revert: Revert,
        objects: StoredObjects,
        plan: Sequence[FileChange],
        take_back: Callable[[Any], object],
    ) -> None:
        """Write the files. When that is refused nothing is changed, and the record is taken back."""
        workspace = Workspace(self._changes.root_of(row), closed=self._worktrees.closed, any_name=True)
        try:
            await restore_files(workspace, objects, FilePlan(revert.tree, revert.tree, tuple(plan), ()))
        except Conflict as problem:
            if problem.details.get("reason") != "partly_applied":  # else `settle` ends it
                await self._storage.write(take_back, durable=True)
            if problem.details.get("reason") in RACES:
                undoing = revert.applied_at is not None
                raise changed_since(os.fsencode(plan[0].path), undoing=undoing) from None
            raise
        except GitProblem:
            await self._storage.write(take_back, durable=True)
            raise not_kept(os.fsencode(plan[0].path)) from None

    async def _end(
        self, row: SessionRow, revert: Revert, values: Mapping[str, Any], event: str, actor: str
    ) -> Revert:
        data = {"revert_id": revert.id, "files": [one["path"] for one in revert.details["files"]]}
        data |= {"since": revert.details["since"], "hunks": revert.details["hunks"]}

        def statements(uow: Any) -> None:
            uow.reverts.update(revert.id, **values)
            uow.audit.add_many([session_audit(row, event, actor, data)])

        await self._storage.write(statements, durable=True)
        return revert.model_copy(update=dict(values))

    async def _settle(self, row: SessionRow, revert: Revert) -> None:
        back = revert.applied_at is not None
        plan = file_changes(revert, back=back)
        root = self._changes.root_of(row)
        objects = await self._worktrees.objects(root)
        workspace = Workspace(root, closed=self._worktrees.closed, any_name=True)
        await asyncio.to_thread(remove_leftovers, workspace, plan)
        found = await self._worktrees.read(root, [os.fsencode(one.path) for one in plan])
        now = {one.path: found.get(os.fsencode(one.path), (None, b""))[0] for one in plan}
        # Another daemon may have written them, with the objects in its own data folder.
        for _, content in found.values():
            await asyncio.to_thread(objects.keep, content)
        if not any(now[one.path] == one.then for one in plan):
            await self._storage.write(
                lambda uow: (
                    uow.reverts.update(revert.id, under_way=False) if back else uow.reverts.remove(revert.id)
                ),
                durable=True,
            )
            return
        left = [one for one in plan if now[one.path] == one.now and one.now != one.then]
        if left:
            await restore_files(workspace, objects, FilePlan(revert.tree, revert.tree, tuple(left), ()))
        wrote = as_details(await self._wrote(objects, plan))
        values: dict[str, Any] = {"under_way": False}
        values |= {"details": {**revert.details, "undone" if back else "wrote": wrote}}
        values |= {"undone_at": now_ms(), "undone_by": "daemon"} if back else {"applied_at": now_ms()}
        event = "changes.revert_undone" if back else "changes.reverted"
        await self._end(row, revert, values, event, "daemon")

    async def _wrote(self, objects: StoredObjects, plan: Sequence[FileChange]) -> list[FileWrite]:
        contents = await objects.contents([one.then.oid for one in plan if one.then is not None], 2**30)
        after = [Content(one.then, None if one.then is None else contents[one.then.oid]) for one in plan]
        nothing = Content(None, None)
        steps = [
            Step(os.fsencode(one.path), nothing, content) for one, content in zip(plan, after, strict=True)
        ]
        return writes_of_steps(steps)
