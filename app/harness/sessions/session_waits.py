"""A session in which everything waits for people: it gives up its place, and its run stays.

Owns: when that is so, what it refuses then, the moves to `paused` and back, and that nothing of a run goes on
before its session has a place again. Never: the questions (`questions.queue`), or how a run ends
(`session_runs`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from app.errors import Conflict, KagedError
from app.harness.loop.active_run import ActiveRun
from app.harness.loop.loop import INTERACTION
from app.harness.loop.run_services import Asking
from app.harness.run.run_context import RunContext
from app.harness.sessions.capacity import Claim
from app.harness.sessions.session_record import SessionRecord
from app.harness.sessions.session_services import SessionServices
from app.states import SessionEvent, SessionState

log = logging.getLogger("kaged.session")

T = TypeVar("T")


class WaitingSession(Protocol):
    """The session whose runs wait for people. The place and the state move under `lock` alone."""

    lock: asyncio.Lock
    active: ActiveRun | None
    closed: bool

    def below(self) -> list[ActiveRun]: ...

    def wait_for_capacity(self) -> None: ...


class SessionWaits:
    """One object for each session."""

    def __init__(self, session: WaitingSession, record: SessionRecord, services: SessionServices) -> None:
        self._session = session
        self._record = record
        self._services = services
        self._asked = 0
        self._gave_up = asyncio.Event()
        self._served: asyncio.Future[None] | None = None

    @property
    def keeps_run(self) -> bool:
        """True while the session shows `paused` or `queued` and has a run that goes on later."""
        waits = self._record.state in (SessionState.PAUSED, SessionState.QUEUED)
        return waits and self._session.active is not None

    async def refuse_ending_questions(self, active: ActiveRun) -> None:
        """Raise `Conflict` when all there is waits and a pause would end a subagent with its question."""
        if not self.keeps_run:
            return
        ended = {context.scope.run_id for context in active.context.below()}
        row = self._record.row
        pending = await self._services.runs.storage.read(lambda uow: uow.interactions.pending(row.id))
        asked = [one for one in pending if one.run_id in ended]
        if asked:
            raise Conflict(
                f"{asked[0].agent_path} waits for an answer, and a pause would end it with its question. "
                "The session is at rest until then: answer, or cancel.",
                reason="subagent_asks",
                details={"state": row.state, "interaction_ids": [one.id for one in asked]},
            )

    async def given_up(self) -> None:
        """Wait until nothing in the session goes on before a person answers."""
        await self._gave_up.wait()

    async def answer(
        self, run: RunContext, call: Asking, asking: Awaitable[T], goes_on: Callable[[T], bool]
    ) -> T:
        """Return what a person answers. When the call `goes_on` with it, the session has a place by then.

        Raises what `asking` raises; `ToolError` or `CallWaits` when the run is stopped meanwhile."""
        self._asked += 1
        call.asks = True
        self.look()
        try:
            given = await asking
        finally:
            call.asks = False
            self._asked -= 1
        if goes_on(given) and not await self.place(run):
            raise run.controls.stopped_call()
        return given

    async def place(self, run: RunContext) -> bool:
        """Wait until the session has a place; False when the run is stopped before."""
        while self._gave_up.is_set() and not run.controls.stopping:
            async with self._session.lock:
                served = await self._go_on(run)
            if served is not None:
                await asyncio.shield(served)
        return not run.controls.stopping

    def look(self) -> None:
        """Give up the place soon when nothing in the session goes on before a person answers."""
        if self._asked and not self._gave_up.is_set() and self._all_wait():
            self._services.runs.spawn(self._give_up(), name=f"wait {self._record.row.id}")

    def stopped(self) -> None:
        """Wake the calls that have an answer and no place: their run is being stopped."""
        if self._served is not None and not self._served.done():
            self._served.set_result(None)
        self._served = None

    async def served(self) -> None:
        """Take the place that the session has waited for. Callers hold the lock."""
        if self.keeps_run and self._record.state is SessionState.QUEUED:
            await self._move(SessionEvent.RUN_GOES_ON)
            self._taken_back()

    async def take_back(self) -> None:
        """Take a place beyond the limits: an operator stops the run or has it go on, or it has ended.
        Callers hold the lock."""
        if not self._gave_up.is_set():
            return
        self._services.capacity.force(Claim.of(self._record.row))
        if self.keeps_run:
            await self._move(SessionEvent.RUN_GOES_ON)
        self._taken_back()

    # -- inside -----------------------------------------------------------------------------

    def _runs(self) -> list[ActiveRun]:
        session = self._session
        return session.below() if session.active is None else [session.active, *session.below()]

    def _all_wait(self) -> bool:
        return all(run.context.controls.only_waits for run in self._runs())

    async def _give_up(self) -> None:
        session = self._session
        async with session.lock:
            if session.closed or self._gave_up.is_set() or not (self._asked and self._all_wait()):
                return
            # From here on a call that is answered waits for the lock.
            self._gave_up.set()
            if self._record.state is SessionState.RUNNING and session.active is not None:
                try:
                    await self._record.move(
                        SessionEvent.QUESTION_ASKED,
                        reason=INTERACTION,
                        run_id=session.active.run_id,
                        durable=True,
                    )
                except KagedError as problem:
                    log.warning("session %s keeps its place: %s", self._record.row.id, problem.message)
                    self._gave_up.clear()
                    return
            for run in self._runs():
                run.clock.stop()
            self._services.capacity.release(self._record.row.id)

    async def _go_on(self, run: RunContext) -> asyncio.Future[None] | None:
        """Let the session run again; without a place, queue for one and return what waits for it."""
        session, capacity = self._session, self._services.capacity
        if run.controls.stopping or not self._gave_up.is_set():
            return None
        if not self.keeps_run:  # only tasks in the background are left
            await self.take_back()
            return None
        if self._record.state is SessionState.PAUSED:
            if capacity.try_acquire(Claim.of(self._record.row)):
                await self._move(SessionEvent.RUN_GOES_ON)
                self._taken_back()
                return None
            await self._move(SessionEvent.RUN_GOES_ON_AT_LIMIT, reason="capacity")
            session.wait_for_capacity()
        if self._served is None:
            self._served = asyncio.get_running_loop().create_future()
        return self._served

    async def _move(self, event: SessionEvent, *, reason: str | None = None) -> None:
        """Move. An answer is stored by now, so the run goes on also when this cannot be."""
        active, record = self._session.active, self._record
        run_id = None if active is None else active.run_id
        try:
            await record.move(event, reason=reason, run_id=run_id, durable=True)
        except KagedError as problem:
            log.error("session %s could not be stored: %s", self._record.row.id, problem.message)
            record.move_unstored(event, [], lambda uow: None, problem, reason=reason, run_id=run_id)

    def _taken_back(self) -> None:
        self._gave_up.clear()
        for run in self._runs():
            run.clock.start()
        self.stopped()
