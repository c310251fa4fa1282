"""The one run that a session has under way: its task, how it is stopped, how it ends.

Owns: the task, the deadline, the closing record of the run. Never: session state; the session
gets the outcome and moves.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from app.errors import KagedError
from app.events.budgets import BudgetWarning
from app.events.payload import EventPayload
from app.events.union import RunEnded, RunStarted
from app.harness.loop.budget_warnings import tell_of_time
from app.harness.loop.loop import INTERACTION, AgentLoop, LoopOutcome
from app.harness.loop.run_services import CallServices
from app.harness.run.limits import WARN_AT
from app.harness.run.meter import Meter
from app.harness.run.run_context import RunContext
from app.harness.run.task_ends import Spawn
from app.harness.run.telemetry import agent_ended, agent_span
from app.ids import now_ms
from app.states import RunState, move
from app.storage.models import Message, Run
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.run")

PARENT = "parent"
"""Who stops a child when its parent's run ends before it."""
_A_MOMENT = 0.01
"""So much later than its time a limit is looked at, and found near."""


class Owner(Protocol):
    """The session that the run belongs to."""

    def run_ended(self, outcome: LoopOutcome, closing: EventPayload, store: Any) -> Awaitable[None]: ...


class RunClock:
    """The wall time of a run, which stands still while the run waits for people. `nearly_over` is called when
    the limit is near."""

    def __init__(self, meter: Meter, nearly_over: Callable[[], None]) -> None:
        self._meter = meter
        self._nearly_over = nearly_over
        self._deadline: asyncio.Timeout | None = None
        self._stopped: tuple[float, float | None] | None = None
        self._warning: asyncio.TimerHandle | None = None

    def bound(self, deadline: asyncio.Timeout | None) -> None:
        """Keep the deadline up to date from now on; None when the work is over."""
        self._deadline = deadline
        self._warn_later() if deadline is not None else self._warn_no_more()

    def _warn_later(self) -> None:
        limit = self._meter.limits.walltime_seconds
        left = None if limit is None else self._meter.started + WARN_AT * limit - time.monotonic()
        if left is not None and left > 0:
            self._warning = asyncio.get_running_loop().call_later(left + _A_MOMENT, self._nearly_over)

    def _warn_no_more(self) -> None:
        if self._warning is not None:
            self._warning.cancel()
            self._warning = None

    def stop(self) -> None:
        """Let no time count against the limit until `start`."""
        if self._stopped is None:
            self._warn_no_more()
            until, deadline = None, self._deadline
            if deadline is not None and not deadline.expired():
                until = deadline.when()
                deadline.reschedule(None)
            self._stopped = (time.monotonic(), until)

    def start(self) -> None:
        """Let the time count again."""
        if self._stopped is None:
            return
        (since, until), self._stopped = self._stopped, None
        waited = time.monotonic() - since
        self._meter.started += waited
        if self._deadline is not None:
            self._warn_later()
        if until is not None and self._deadline is not None:
            self._deadline.reschedule(until + waited)


@dataclass(frozen=True, slots=True)
class Stop:
    """The author and reason of a stop; `reason` is that of the checkpoint of a pause."""

    by: str = "daemon"
    detail: str | None = None
    reason: str = "operator"


class ActiveRun:
    """Start it once; stop it any number of times; it ends exactly once."""

    def __init__(
        self,
        row: Run,
        context: RunContext,
        loop: AgentLoop,
        calls: CallServices,
        owner: Owner,
        *,
        on_end: Callable[[str, str, str], Awaitable[None]],
    ) -> None:
        self.row = row
        self.message: Message | None = None
        self.context = context
        self.stopped = Stop()
        self.clock = RunClock(context.meter, lambda: tell_of_time(context))
        self._loop = loop
        self._calls = calls
        self._owner = owner
        self._on_end = on_end
        self._task: asyncio.Task[None] | None = None
        self._done = asyncio.Event()
        self._ended_as: LoopOutcome | None = None
        self._interrupted = False
        self._begun = False
        self._grace: asyncio.TimerHandle | None = None

    @property
    def run_id(self) -> str:
        return self.row.id

    def started_event(self) -> RunStarted:
        return RunStarted(
            run_id=self.row.id,
            model=self.row.model or "",
            trigger_message_id=self.row.trigger_message_id,
            checkpoint_id=self.row.checkpoint_id,
            parent_run_id=self.row.parent_run_id,
            background=True if self.row.background else None,
        )

    def start(self, spawn: Spawn) -> None:
        self._task = spawn(self._run(), name=f"run {self.row.id}")

    async def ended(self) -> None:
        """Wait until the run has ended and the session has moved on."""
        await self._done.wait()

    @property
    def outcome(self) -> LoopOutcome | None:
        """How the run ended; None before."""
        return self._ended_as

    def stop(
        self,
        how: Literal["pause", "cancel"],
        *,
        detail: str | None = None,
        by: str = "operator",
        grace: float = 0.0,
        reason: str = "operator",
    ) -> None:
        """Ask the run to end, and those of the children that it waits for. A cancel overrules a pause;
        tools get `grace` seconds of a pause. What would follow a run that is ending a cancel holds back."""
        if self._ended_as is not None and how == "cancel":
            self.context.controls.stopping = how
        if self._ended_as is not None or self._task is None or self.context.controls.stopping == "cancel":
            return
        self.context.controls.stopping = how
        self.stopped = Stop(by, detail, reason)
        for child in list(self.context.controls.children.values()):
            child.stop(how, detail=detail, by=by, grace=grace, reason=reason)
        self.context.controls.calls_stay = how == "pause" and self.context.parent is None
        self._calls.waits.stopped()
        if self.context.controls.calls_stay:
            self._calls.questions.leave_open(self.run_id)  # the next run takes their answers
        else:
            self._calls.questions.withdraw(self.run_id)
        if how == "pause" and self.context.controls.phase == "tools" and grace > 0:
            if self._grace is None:
                self._grace = asyncio.get_running_loop().call_later(grace, self._interrupt)
            return
        self._interrupt()

    def _interrupt(self) -> None:
        if self._ended_as is None and not self._interrupted and self._task is not None:
            if not self._begun:
                # A task that is cancelled before its first step never gets to its end: let it take that.
                asyncio.get_running_loop().call_soon(self._interrupt)
                return
            self._interrupted = True
            self._task.cancel()

    async def _run(self) -> None:
        self._begun = True
        try:
            with agent_span(self.context, self.message):
                outcome = await self._outcome()
                self._ended_as = outcome
                if self._grace is not None:
                    self._grace.cancel()
                await self._let_go()
                agent_ended(self.context, outcome.state, outcome.reason, outcome.error)
            await self._close(outcome)
        finally:
            self._done.set()

    async def _let_go(self) -> None:
        """End what tools kept for this run: when its end is published, nothing of it is left."""
        try:
            await self._on_end(self.context.scope.session_id, self.context.scope.agent_path, self.run_id)
        except Exception:
            # Whatever a tool leaves behind must not keep the run from ending; the daemon's stop ends it.
            log.exception("what run %s left behind was not ended", self.row.id)

    async def _outcome(self) -> LoopOutcome:
        deadline = asyncio.timeout(self.context.meter.limits.walltime_seconds)
        self.clock.bound(deadline)
        try:
            async with deadline:
                try:
                    outcome = await self._loop.run()
                finally:
                    self.clock.bound(None)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            while task is not None and task.cancelling():
                task.uncancel()
            return self._stopped_outcome()
        except KagedError as error:
            return LoopOutcome("failed", error.code, error={"code": error.code, "message": error.message})
        except Exception as error:
            # The edge of a run: whatever went wrong must end the run, not the daemon.
            if isinstance(error, TimeoutError) and deadline.expired():
                return self._out_of_time()
            log.exception("run %s failed", self.row.id)
            message = "The daemon failed while it ran this; its log has the details."
            return LoopOutcome("failed", "internal", error={"code": "internal", "message": message})
        stopping = self.context.controls.stopping
        asks = outcome.pause == INTERACTION and stopping == "pause" and self.stopped.reason == "operator"
        if outcome.pause == "operator" or asks:
            return self._stopped_outcome()
        return outcome

    def _stopped_outcome(self) -> LoopOutcome:
        if self.context.controls.stopping == "pause":
            reason = "parent_ended" if self.stopped.by == PARENT else "paused"
            return LoopOutcome("interrupted", reason, pause=self.stopped.reason)
        return LoopOutcome("cancelled", "cancelled")

    def _out_of_time(self) -> LoopOutcome:
        run = self.context
        limit = run.meter.limits.walltime_seconds or 0.0
        used = time.monotonic() - run.meter.started
        run.journal.record(BudgetWarning(unit="seconds", limit=limit, used=used, reached=True), kept=True)
        return LoopOutcome("interrupted", "budget_seconds", pause="budget")

    async def _close(self, outcome: LoopOutcome) -> None:
        run = self.context
        try:
            await run.journal.settle()
        except KagedError as error:
            log.error("run %s could not store everything: %s", self.row.id, error.message)
        ended = now_ms()
        state = move(RunState.RUNNING, RunState(outcome.state)).value
        closing = RunEnded(
            run_id=self.row.id,
            state=state,
            reason=outcome.reason,
            error=outcome.error,
            steps=run.meter.step,
            usage=run.meter.usage,
            cost_usd=run.meter.cost_usd,
            **run.meter.totals(),
            duration_ms=round((time.monotonic() - run.meter.started) * 1000, 1),
        )

        run.journal.audit("run.ended", {"state": state, "reason": outcome.reason, "steps": run.meter.step})
        drained = run.journal.drain()

        def store(uow: UnitOfWork) -> None:
            drained(uow)
            uow.runs.update(
                self.row.id, state=state, reason=outcome.reason, error=outcome.error, ended_at=ended
            )

        await self._owner.run_ended(outcome, closing, store)
