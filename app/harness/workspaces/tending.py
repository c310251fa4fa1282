"""Upkeep of workspaces: recovery after a crash, repair of broken ones, and removal of unneeded folders.

Owns: when a workspace's folder is removed. A folder with changes that were not merged is never removed by
itself. Never: what an operator decides (`service`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app.config import WorkspaceSettings
from app.errors import Conflict, KagedError, ToolError
from app.harness.git.index_change import end_changes_at
from app.harness.git.refusals import is_locked
from app.harness.projects.projects import ProjectRegistry
from app.harness.workspaces.creation import WORKING
from app.harness.workspaces.elsewhere import Elsewhere
from app.harness.workspaces.hooked_merge import Unended
from app.harness.workspaces.layout import Layout
from app.harness.workspaces.making import Making
from app.harness.workspaces.merge_notes import is_given, merged_after
from app.harness.workspaces.record import WorkspaceRecord
from app.harness.workspaces.tools import Tools, words
from app.ids import now_ms
from app.states import WorkspaceState
from app.storage.models import Workspace
from app.tools.processes.git_commands import GitProblem

log = logging.getLogger("kaged.workspaces")

S = WorkspaceState
DAY_MS = 24 * 3600 * 1000
LOOK_EVERY_SECONDS = 600.0
LONGEST_WAIT_SECONDS = 24 * 3600.0
REMOVAL = {"removing": True}
"""The journal of a workspace whose folder is being removed."""
_NOT_REMOVED = "Its folder cannot be removed"
_GONE = "its folder {} is gone"


class Tending:
    """Tends the workspaces of all projects."""

    def __init__(
        self,
        record: WorkspaceRecord,
        projects: ProjectRegistry,
        tools: Tools,
        settings: WorkspaceSettings,
        making: Making,
    ) -> None:
        self._record = record
        self._storage = record.storage
        self._projects = projects
        self._tools = tools
        self._settings = settings
        self._making = making
        self._elsewhere = Elsewhere(record, projects, tools, making.seeds)
        self._to_look = asyncio.Event()
        self._measure_after = 0.0
        self._put_off: dict[str, tuple[float, float]] = {}
        """By workspace: when a failed removal is tried again, and the next pause, in seconds."""
        self.in_use: set[str] = set()
        """The workspaces of subagents that run in this process."""
        self.checked: set[str] = set()
        """The workspaces in which an operator's command runs. Needs the held row."""

    async def recover(self, project_id: str | None = None) -> None:
        """Finish or undo what a crash left half done; in one project when given."""
        if project_id is not None and self._projects.find(project_id) is not None:
            # The locks of the daemon that owned it before would hinder the recovery.
            await asyncio.to_thread(end_changes_at, self._projects.root_of(project_id))
        rows = await self._storage.read(lambda uow: uow.workspaces.with_folder(project_id))
        for row in rows:
            if self._projects.find(row.project_id) is None or not self._tools.tends(row):
                continue
            if row.state == S.CREATING.value:
                if row.run_id is None:  # no run waits for that of a subagent: `look` gives it up
                    await self._begin(row)
            elif row.journal is not None and row.journal != REMOVAL:
                await self._recover_step(row)
        await self._making.seeds.tidy(project_id)
        await self._note_missing(project_id)
        self._to_look.set()

    async def _recover_step(self, row: Workspace) -> None:
        if not self._tools.reaches(row):
            await self._elsewhere.say_unfinished(row)
            return
        root = self._projects.root_of(row.project_id)
        layout = self._tools.layout_of(row)
        finish = self.finish_merge if row.state == S.MERGING.value else self.finish_keep
        try:
            await finish(row, layout, root, again=True)
        except (KagedError, GitProblem, ToolError, OSError) as problem:
            log.warning("what the workspace %s was in could not be finished: %s", row.id, words(problem))

    async def _note_missing(self, project_id: str | None) -> None:
        """Mark workspaces whose folder is missing as broken, until the folder is there again."""
        rows = await self._storage.read(lambda uow: uow.workspaces.with_folder(project_id))
        for row in rows:
            if not self._tools.reaches(row):
                continue
            usable = row.state in {S.READY.value, S.MERGED.value}
            if usable and not await asyncio.to_thread(self._tools.layout_of(row).tree.is_dir):
                await self._record.move(row, S.BROKEN, {"detail": _GONE.format(row.root)})
            elif await self._is_there_again(row):
                await self._record.move(row, S.READY, {"detail": None})

    async def _is_there_again(self, row: Workspace) -> bool:
        """Tell whether a missing folder is there again, as after its disk was mounted."""
        if row.state != S.BROKEN.value or row.detail != _GONE.format(row.root):
            return False
        return await asyncio.to_thread(self._tools.layout_of(row).tree.is_dir)

    async def look_forever(self, may_look: Callable[[str], bool]) -> None:
        """Look at the projects that `may_look` allows, again and again, until cancelled."""
        while True:
            try:
                async with asyncio.timeout(LOOK_EVERY_SECONDS):
                    await self._to_look.wait()
            except TimeoutError:
                pass
            self._to_look.clear()
            try:
                await self.look(may_look)
            except (KagedError, OSError) as problem:
                log.warning("workspaces could not be looked through: %s", words(problem))

    def look_soon(self) -> None:
        """Look now, because something has ended."""
        self._to_look.set()

    async def look(self, may_look: Callable[[str], bool] = lambda _: True) -> None:
        """Remove the folders of workspaces that were discarded long ago. Of workspaces without changes,
        remove the folders of those that are kept or whose session is over. Measure the size of all from
        time to time."""
        if due := time.monotonic() >= self._measure_after:
            self._measure_after = time.monotonic() + LOOK_EVERY_SECONDS
        rows = await self._storage.read(lambda uow: uow.workspaces.with_folder())
        for row in rows:
            if not may_look(row.project_id) or not self._tools.tends(row):
                continue
            if row.state == S.CREATING.value:
                if row.run_id is None:
                    await self._begin(row)  # a request that ended too early had stored it
                elif row.id not in self.in_use:
                    await self.give_up(row)
                continue
            if not self._tools.reaches(row):
                continue
            if row.removed_at is None and (due or not row.size_bytes):
                await self._making.measure(row)
            try:
                async with self._record.holding(row.id) as present:
                    if await self._is_over(present):
                        await self._remove(present)
            except Exception:  # one workspace keeps no other from being looked at
                log.exception("the workspace %s stays for now", row.id)

    async def _is_over(self, row: Workspace) -> bool:
        if row.removed_at is not None or row.id in self.checked:
            return False
        if time.monotonic() < self._put_off.get(row.id, (0.0, 0.0))[0]:
            return False
        if row.journal == REMOVAL:
            return True
        if row.state == S.DISCARDED.value:
            return (row.ended_at or 0) + self._settings.undo_days * DAY_MS <= now_ms()
        if row.state not in {S.READY.value, S.MERGED.value, S.KEPT.value}:
            return False
        if not await self._is_left(row):
            return False
        try:
            return not await self._tools.merging.has_changes(
                row,
                self._tools.layout_of(row),
                self._projects.root_of(row.project_id),
            )
        except (GitProblem, OSError) as problem:
            log.warning("the workspace %s stays: %s", row.id, words(problem))
            return False

    async def _begin(self, row: Workspace) -> None:
        """Make a workspace, unless it is given up by now: the row was read some time ago."""
        try:
            async with self._record.holding(row.id) as present:
                if present.state == S.CREATING.value:
                    present = await self._elsewhere.bring(present)
                if present.state == S.CREATING.value:
                    self._making.begin(present)
        except (KagedError, GitProblem, OSError) as problem:
            log.warning("the workspace %s is not made for now: %s", row.id, words(problem))

    async def give_up(self, row: Workspace) -> None:
        """Stop making the workspace of a subagent whose run has ended. Raises nothing."""
        try:
            async with self._record.holding(row.id) as present:
                await self._making.give_up(present)
        except KagedError as problem:
            log.warning("what is left of the workspace %s stays for now: %s", row.id, problem.message)

    async def make_again(self, row: Workspace) -> Workspace:
        """Make a broken workspace again from its original commit and changes; return its row.

        A workspace whose folder is there again keeps its files. Raises `Conflict` when the original is
        gone or something of the workspace cannot be removed, and `InsufficientStorage`."""
        if await self._is_there_again(row):
            return await self._record.move(row, S.READY, {"detail": None}, only_from=S.BROKEN)
        await self._require_again(row)
        await self._making.require_room()
        await self._making.finished(row.id)  # the task that could not make it may not be over yet
        try:
            place = await self._elsewhere.give_up_place(row)
        except (GitProblem, OSError) as problem:
            why = f"What is left of the workspace cannot be removed: {words(problem)}"
            raise Conflict(why, reason="git_failed") from None
        none = ("detail", "setup_log", "first_port", "journal", "merged", "ended_at", "removed_at")
        columns: dict[str, Any] = {**dict.fromkeys(none), "ports": 0, "size_bytes": 0, "root": place}
        again = await self._record.move(row, S.CREATING, columns, only_from=S.BROKEN)
        self._making.begin(again)
        return again

    async def _require_again(self, row: Workspace) -> None:
        if row.run_id is not None:
            raise Conflict(
                "The subagent of this workspace has ended: let the calling agent delegate the task again.",
                reason="workspace_of_subagent",
            )
        if row.base != WORKING:
            return
        session_id = row.session_id or ""
        attempt = await self._storage.read(lambda uow: uow.attempts.get(session_id))
        if attempt is not None:
            raise Conflict(
                "The uncommitted changes that all attempts started from are not kept any more: start the "
                "attempts again.",
                reason="baseline_gone",
            )

    async def _is_left(self, row: Workspace) -> bool:
        """Tell whether nobody works in a workspace, or will."""
        if row.run_id is not None:
            return not await self.is_used(row)
        session_id = row.session_id
        session = await self._storage.read(lambda uow: uow.sessions.get(session_id or ""))
        kept = row.state == S.KEPT.value  # a run may have begun while the branch was written
        return session is None or (session.state != "running" if kept else session.state == "archived")

    async def is_used(self, row: Workspace) -> bool:
        """Tell whether the subagent of a workspace is at work, or one below it."""
        if row.id in self.in_use:
            return True
        run_id = row.run_id or ""
        return await self._storage.read(lambda uow: uow.runs.at_work(run_id))

    async def _remove(self, row: Workspace) -> None:
        """Remove a workspace's folder and pin; a session that is over has it no more. That it has begun is
        stored before: half of a folder has nothing that a look could judge by."""
        if row.journal != REMOVAL:
            if row.state in {S.READY.value, S.MERGED.value}:
                ended = {"ended_at": row.ended_at or now_ms()}
                row = await self._record.move(row, S.DISCARDED, {"journal": REMOVAL, **ended})
            else:
                row = await self._record.note(row, {"journal": REMOVAL})
        await self._tools.close_root(Path(await asyncio.to_thread(os.path.realpath, row.root)))
        try:
            await self._tools.creation.abandon(
                self._projects.root_of(row.project_id), self._tools.layout_of(row), row.id
            )
        except (KagedError, GitProblem, OSError) as problem:
            await self._try_later(row, words(problem))
            return
        self._put_off.pop(row.id, None)
        columns: dict[str, Any] = {"journal": None, "removed_at": now_ms(), "size_bytes": 0}
        if (row.detail or "").startswith(_NOT_REMOVED):
            columns["detail"] = None
        await self._record.note(row, columns)

    async def _try_later(self, row: Workspace, why: str) -> None:
        """Say why a folder stays, and try it again: each time after twice as long, up to a day."""
        log.warning("the workspace %s could not be removed: %s", row.id, why)
        _, wait = self._put_off.get(row.id, (0.0, LOOK_EVERY_SECONDS))
        self._put_off[row.id] = time.monotonic() + wait, min(2 * wait, LONGEST_WAIT_SECONDS)
        detail = f"{_NOT_REMOVED}: {why}"[:1000]
        if row.detail != detail:
            await self._record.note(row, {"detail": detail})

    async def finish_merge(
        self, row: Workspace, layout: Layout, root: Path, *, again: bool = False
    ) -> str | None:
        """Carry out the merge that a workspace's journal says, as far as it is not done yet, and return the
        commit on a branch. One that is begun `again` may be half done: its journal goes only when somebody
        else has changed what it writes. It also stays when what hooks refused could not be taken back, or the
        index is locked."""
        journal = row.journal or {}
        try:
            commit = await self._tools.merging.carry_out(row, layout, root, journal, again=again)
        except Unended as problem:
            await self._record.note(row, {"detail": f"The merge failed: {words(problem)}"[:1000]})
            raise
        except Exception as problem:
            if not again or (isinstance(problem, Conflict) and not is_locked(problem)):
                detail = f"The merge failed: {words(problem)}"
                await self._record.move(row, S.READY, {"journal": None, "detail": detail})
            raise
        at = now_ms()
        merged = merged_after(row, {**journal, "commit": commit}, at)
        columns: dict[str, Any] = {"journal": None, "detail": None, "merged": merged}
        if is_given(journal):
            await self._record.move(row, S.READY, columns)
            return None
        columns["ended_at"] = at
        await self._record.move(row, S.MERGED, columns)
        return commit

    async def finish_keep(
        self, row: Workspace, layout: Layout, root: Path, *, again: bool = False
    ) -> Workspace:
        """Make the branch that a workspace's journal says, unless that is done, and let its folder go. As for
        a merge, a journal that is begun `again` goes only when somebody else has made that branch."""
        journal = row.journal or {}
        try:
            await self._tools.merging.carry_out(row, layout, root, journal)
        except Exception as problem:
            if not again or isinstance(problem, Conflict):
                await self._record.note(row, {"journal": None})
            raise
        at = now_ms()
        kept_as = {"into": journal["into"], "commit": journal["commit"], "whole": [journal["base"]], "at": at}
        columns = {"journal": None, "ended_at": at, "merged": {**(row.merged or {}), **kept_as}}
        kept = await self._record.move(row, S.KEPT, columns)
        self.look_soon()
        return kept
