"""Follows the sessions of attempts that have a check: it is due when a run has ended.

Owns: which sessions are followed, and when a check begins or is no longer worth its end. Never: running it
(`checks`).
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from app.errors import KagedError
from app.harness.attempts.checks import RETRY_SECONDS, Checks
from app.harness.attempts.record import AttemptRecord
from app.harness.stream.event_hub import EventHub
from app.harness.stream.frames import Frame
from app.harness.workflows.endings import ending_of_session
from app.states import AttemptsState, CheckState, SessionState, WorkflowRunState
from app.storage.models import Attempt, AttemptGroup
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.attempts")

_MOVES = frozenset({"session.state", "run.ended"})
_OVER = frozenset({AttemptsState.PICKED.value, AttemptsState.DISCARDED.value})
_CHECKED_AFTER = (WorkflowRunState.SUCCEEDED, WorkflowRunState.FAILED)


@dataclass(frozen=True, slots=True)
class _Seen:
    """An attempt as it is stored. `run_id` is the run that has ended, None while one goes on."""

    attempt: Attempt
    group: AttemptGroup
    run_id: str | None
    stopped: bool


class Following:
    """The attempts of all open groups that have a check."""

    def __init__(self, hub: EventHub, record: AttemptRecord, checks: Checks) -> None:
        self._record = record
        self._checks = checks
        self._followed: set[str] = set()
        self._moved: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        hub.listen(self._on_frame, self._note)
        checks.listen(self._note)

    async def start(self, project_id: str | None = None) -> None:
        """Follow the attempts that are stored; those of one project when given."""
        for group, attempts in await self._record.in_state(AttemptsState.OPEN, project_id):
            self.follow(group, attempts)

    def follow(self, group: AttemptGroup, attempts: list[Attempt]) -> None:
        """Follow the attempts of a group."""
        if group.asked_check is None or self._closed:
            return
        if self._task is None:  # a daemon that shares its database may never have started what was stored
            self._task = asyncio.create_task(self._follow(), name="attempts")
        for attempt in attempts:
            self._followed.add(attempt.session_id)
            self._note(attempt.session_id)

    async def aclose(self) -> None:
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    # -- inside -----------------------------------------------------------------------------

    def _on_frame(self, frame: Frame) -> None:
        if frame.type in _MOVES:
            self._note(frame.session_id)

    def _note(self, session_id: str) -> None:
        if session_id in self._followed:
            self._moved[session_id] = None
            self._wake.set()

    async def _follow(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                while self._moved:
                    await self._look_at_next()
            except KagedError as problem:
                log.error("an attempt could not be followed: %s", problem.message)
                await asyncio.sleep(RETRY_SECONDS)
                self._wake.set()
            except Exception:  # one attempt must not keep the others from being followed
                log.exception("an attempt could not be followed")
                self._wake.set()

    async def _look_at_next(self) -> None:
        session_id = next(iter(self._moved))
        del self._moved[session_id]
        try:
            await self._look_at(session_id)
        except KagedError:
            self._moved[session_id] = None
            raise

    async def _look_at(self, session_id: str) -> None:
        seen = await self._record.storage.read(lambda uow: _seen(uow, session_id))
        if seen is None or seen.group.state in _OVER:
            self._followed.discard(session_id)
            await self._checks.stop(session_id)
            return
        if seen.group.state == AttemptsState.PICKING.value:
            return  # when the pick is taken back it is followed again
        if seen.run_id is None:
            target = CheckState.STOPPED if seen.stopped else CheckState.NONE
            await self._checks.stop(session_id, target)
            return
        attempt, checked = seen.attempt, seen.attempt.checked or {}
        interrupted = attempt.check_state == CheckState.RUNNING.value and not self._checks.runs(session_id)
        if interrupted or checked.get("run_id") != seen.run_id:
            await self._checks.stop(session_id, CheckState.NONE)
            await self._checks.begin(seen.group, session_id, seen.run_id)


def _seen(uow: UnitOfWork, session_id: str) -> _Seen | None:
    attempt = uow.attempts.get(session_id)
    group = None if attempt is None else uow.attempt_groups.get(attempt.group_id)
    session = uow.sessions.get(session_id)
    if attempt is None or group is None or session is None:
        return None
    if session.state == SessionState.ARCHIVED.value:  # it never runs again
        return None
    ending = ending_of_session(uow, session)
    newest = uow.runs.list(session_id, roots_only=True, limit=1).items
    ended = ending is not None and ending.state in _CHECKED_AFTER and bool(newest)
    stopped = ending is not None and ending.state is WorkflowRunState.CANCELLED
    return _Seen(attempt, group, newest[0].id if ended else None, stopped)
