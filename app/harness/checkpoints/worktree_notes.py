"""Which files a project had at a session's messages and checkpoints.

Owns: when the files are noted, in the background, and the rows that say so. A note that failed is logged, and
never stands for an older one. Never: how files are noted (`worktrees`) or restored (`restoring`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from app.errors import KagedError
from app.harness.checkpoints.worktrees import Worktrees
from app.ids import new_id, now_ms
from app.storage.models import Worktree
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from app.tools.processes.git_commands import GitProblem

log = logging.getLogger("kaged.worktrees")

NOTE_SECONDS = 600.0
WAIT_SECONDS = 60.0
"""How long the first tools of a run wait for the files to be noted; later they might be noted changed."""
LAST_SECONDS = 3.0
KEPT_DAYS = 30
DAY_MS = 24 * 3600 * 1000


class WorktreeNotes:
    """The notes of all sessions. Its tasks end when it is closed."""

    def __init__(self, storage: Storage, worktrees: Worktrees) -> None:
        self.worktrees = worktrees
        self._storage = storage
        self._pending: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._last: dict[str, str] = {}

    def begin(
        self,
        session_id: str,
        project_id: str,
        root: Path,
        *,
        message_id: str | None = None,
        checkpoint_id: str | None = None,
    ) -> None:
        """Note the files of now in the background, for a message or a checkpoint."""
        row = Worktree(
            id=new_id("wtr"),
            session_id=session_id,
            message_id=message_id,
            checkpoint_id=checkpoint_id,
            created_at=now_ms(),
            state="failed",
        )
        before = self._pending.get(session_id)
        task = asyncio.create_task(self._note(row, project_id, root, before), name=f"note {row.id}")
        self._pending[session_id] = task
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._forget(session_id, done))

    def waiting_for(self, session_id: str) -> Callable[[], Awaitable[None]]:
        """Return what waits until the session's files are noted, so that a tool changes none before."""

        async def wait() -> None:
            task = self._pending.get(session_id)
            if task is not None:
                await asyncio.wait({task}, timeout=WAIT_SECONDS)
                if not task.done():
                    task.cancel("tools could not wait any longer")

        return wait

    async def settled(self, session_id: str) -> None:
        """Wait until nothing is being noted for a session."""
        task = self._pending.get(session_id)
        if task is not None:
            await asyncio.wait({task})

    async def aclose(self) -> None:
        """Let what is being noted come to its end shortly, and give up the rest."""
        tasks = list(self._tasks)
        if tasks:
            await asyncio.wait(tasks, timeout=LAST_SECONDS)
        for task in tasks:
            task.cancel("the daemon is stopping")
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- inside -----------------------------------------------------------------------------

    def _forget(self, session_id: str, done: asyncio.Task[None]) -> None:
        self._tasks.discard(done)
        if self._pending.get(session_id) is done:
            del self._pending[session_id]

    async def _note(
        self, row: Worktree, project_id: str, root: Path, before: asyncio.Task[None] | None
    ) -> None:
        try:
            if before is not None:
                await asyncio.wait({before})
            async with asyncio.timeout(NOTE_SECONDS):
                await self._take(row, root)
        except GitProblem as problem:
            row.sqlmodel_update(
                {"state": "skipped" if problem.expected else "failed", "detail": str(problem)}
            )
        except TimeoutError:
            row.detail = f"it took more than {NOTE_SECONDS:.0f} s"
        except asyncio.CancelledError as stopped:
            row.detail = str(stopped) or "it was stopped"
            self._store_soon(row)
            raise
        except OSError as problem:
            row.detail = problem.strerror or "the files cannot be kept"
        if row.tree is None:
            self._last.pop(row.session_id, None)
        unchanged = row.state == "unchanged" and row.checkpoint_id is None
        # Where there is no repository, or nothing has changed, a message needs no row of its own.
        if unchanged or (row.state == "skipped" and row.checkpoint_id is None):
            return
        if row.state == "failed":
            log.warning("the file snapshot of session %s failed: %s", row.session_id, row.detail)
        try:
            await self._storage.write(lambda uow: _add(uow, row))
            if row.state == "taken" and await self.worktrees.is_full(root):
                await self._make_room(row.session_id, project_id, root)
        except KagedError as problem:
            log.warning("the file snapshot of session %s failed: %s", row.session_id, problem.message)

    def _store_soon(self, row: Worktree) -> None:
        """Store a note without waiting; the daemon may be stopping, and the storage out."""
        with suppress(KagedError):
            stored = self._storage.submit(lambda uow: _add(uow, row))
            stored.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _take(self, row: Worktree, root: Path) -> None:
        noted = await self.worktrees.note(root)
        unchanged = self._last.get(row.session_id) == noted.tree
        self._last[row.session_id] = noted.tree
        row.tree, row.size_bytes = noted.tree, noted.new_bytes
        row.sqlmodel_update({"state": "unchanged" if unchanged else "taken"})
        if noted.left_out:
            names = ", ".join(name.decode("utf-8", "replace") for name in list(noted.left_out)[:5])
            row.detail = f"{len(noted.left_out)} files are left out: {names}"[:500]

    async def _make_room(self, session_id: str, project_id: str, root: Path) -> None:
        """Give up the older half of the notes of a session's root, and all that are older than a month."""
        oldest = now_ms() - KEPT_DAYS * DAY_MS

        def give_up(uow: UnitOfWork) -> list[str]:
            session = uow.sessions.get(session_id)
            rows = uow.worktrees.of_root(project_id, None if session is None else session.workspace_id)
            half = len(rows) // 2
            for at, row in enumerate(rows):
                if at < half or row.created_at < oldest:
                    uow.worktrees.update(
                        row.id, state="failed", tree=None, detail="given up: the notes took too much room"
                    )
            kept = [row.tree for row in rows[half:] if row.tree is not None and row.created_at >= oldest]
            return kept + [row.tree for row in uow.reverts.of_project(project_id) if row.created_at >= oldest]

        kept = await self._storage.write(give_up)
        self._last.clear()
        try:
            await self.worktrees.keep_only(root, kept)
        except GitProblem as problem:
            log.warning("old file snapshots of %s could not be deleted: %s", root, problem)


def _add(uow: UnitOfWork, row: Worktree) -> None:
    """Store a note, unless its session was deleted while the files were noted."""
    if uow.sessions.get(row.session_id) is not None:
        uow.worktrees.add(row)
