"""The checks of attempts: a command of the operator, in the workspace of each.

Owns: the tasks, at most one for each attempt, and how many of a project run at once. A check stays `running`
when the daemon stops, and begins again at the next start. Never: when a check is due
(`following`), or its cage.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from app.errors import Conflict, KagedError
from app.harness.attempts.record import AttemptRecord
from app.harness.workspaces.running import CommandRun
from app.harness.workspaces.service import Workspaces
from app.observability import Redactor
from app.states import CheckState
from app.storage.models import AttemptGroup

log = logging.getLogger("kaged.attempts")

AT_ONCE = 2
RETRY_SECONDS = 5.0
KEPT_BYTES = 16 * 1024


class Checks:
    """Runs the checks of all attempts."""

    def __init__(self, record: AttemptRecord, workspaces: Workspaces, redactor: Redactor) -> None:
        self._record = record
        self._workspaces = workspaces
        self._redactor = redactor
        self._places: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(AT_ONCE))
        """Those of each project: one does not wait for the checks of another."""
        self._tasks: dict[str, asyncio.Task[bool]] = {}
        self._closed = False
        self._not_stored: Callable[[str], None] = lambda _: None

    def listen(self, not_stored: Callable[[str], None]) -> None:
        """Let somebody hear of each attempt whose check could not be stored, a while after it."""
        self._not_stored = not_stored

    def runs(self, session_id: str) -> bool:
        return session_id in self._tasks

    async def begin(self, group: AttemptGroup, session_id: str, run_id: str) -> None:
        """Check an attempt after its run, unless that is under way."""
        if self._closed or session_id in self._tasks:
            return
        check = self._check_or_wait(group, session_id, run_id)
        task = self._tasks[session_id] = asyncio.create_task(check, name=f"check {session_id}")

        def over(_: asyncio.Task[bool]) -> None:
            self._tasks.pop(session_id, None)
            if not (task.cancelled() or task.result()):
                self._not_stored(session_id)

        task.add_done_callback(over)

    async def stop(self, session_id: str, target: CheckState = CheckState.STOPPED) -> None:
        """End a check that runs, and store that it was stopped, or (`NONE`) that it is due once more."""
        task = self._tasks.get(session_id)
        if task is None:
            return
        task.cancel("the check is stopped")
        await asyncio.wait({task})
        attempt = await self._record.storage.read(lambda uow: uow.attempts.get(session_id))
        if attempt is not None and attempt.check_state == CheckState.RUNNING.value:
            checked = None if target is CheckState.NONE else attempt.checked
            with suppress(Conflict):  # its end was being stored
                await self._record.check(session_id, target, checked)

    async def hold(self, session_id: str, run_id: str) -> None:
        """Let a check that is due after a run not begin."""
        if session_id in self._tasks:
            await self.stop(session_id)
        else:
            await self._record.check(session_id, CheckState.STOPPED, {"run_id": run_id})

    async def aclose(self) -> None:
        """End what runs; the next start begins it again."""
        self._closed = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel("the daemon is stopping")
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- inside -----------------------------------------------------------------------------

    async def _check_or_wait(self, group: AttemptGroup, session_id: str, run_id: str) -> bool:
        """Check an attempt; False, after a while, when the storage has refused what became of it."""
        try:
            await self._check(group, session_id, run_id)
        except Exception as problem:  # the attempt must not wait for its check for ever
            known = isinstance(problem, KagedError)
            why = None if known else problem
            log.error("the check of %s could not be stored: %s", session_id, problem, exc_info=why)
            await asyncio.sleep(RETRY_SECONDS)
            return False
        return True

    async def _check(self, group: AttemptGroup, session_id: str, run_id: str) -> None:
        asked = group.asked_check or {}
        try:
            await self._record.check(session_id, CheckState.RUNNING, {"run_id": run_id})
        except Conflict:  # an attempt is being picked; when that is taken back, the check is due again
            return
        try:
            async with self._places[group.project_id]:
                row = await self._workspaces.of_session(session_id)
                done = await self._workspaces.check(row, str(asked["command"]), float(asked["seconds"]))
        except KagedError as problem:
            done = CommandRun(b"", None, problem.message)
        except Exception as problem:  # the attempt must not wait for its check for ever
            log.exception("the check of %s failed", session_id)
            done = CommandRun(b"", None, type(problem).__name__)
        checked: dict[str, Any] = {
            "run_id": run_id,
            "exit_code": done.exit_code,
            "seconds": round(done.seconds, 3),
            "output": done.end(KEPT_BYTES, self._redactor),
            "problem": done.problem,
        }
        passed = done.problem is None
        await self._record.check(session_id, CheckState.PASSED if passed else CheckState.FAILED, checked)
