"""The runs of one session, one after the other: beginning one, moving on when it ends.

Owns: the active run, the messages that wait, which run follows. Never: what a command means (`session` holds
the lock while it calls), the loop, or storing a move (`session_record`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from app.errors import KagedError, NotFound, StorageOutage
from app.events.payload import EventPayload, Origin
from app.harness.conversation.history import History
from app.harness.conversation.older_results import leave_out_results
from app.harness.conversation.session_rows import (
    Again,
    both,
    checkpoint_event,
    checkpoint_of,
    hold_all,
    mark_resumed,
    overflow_flag,
    placed_in,
    posted_event,
    put_all,
    title_from,
)
from app.harness.delegation.delegations import Delegations
from app.harness.loop.active_run import ActiveRun
from app.harness.loop.loop import INTERACTION, LoopOutcome
from app.harness.loop.run_factory import RootAgent, Start, build_run
from app.harness.loop.run_services import CallServices
from app.harness.run.run_context import OpenStep
from app.harness.sessions.background import BackgroundTasks
from app.harness.sessions.capacity import Claim
from app.harness.sessions.open_calls import RESUMED, STOPPED, close_open_calls, waiting_calls
from app.harness.sessions.session_parts import RestCompaction, SessionParts
from app.harness.sessions.session_record import Statements
from app.harness.sessions.session_services import SessionServices, reminding
from app.harness.sessions.session_waits import SessionWaits
from app.harness.stream.session_stream import SessionStream
from app.states import SessionEvent, SessionState
from app.storage.keyed_effect import effect
from app.storage.models import Checkpoint, Message, Run
from app.storage.models import Session as SessionRow
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.session")


class SessionRuns:
    """What a session runs. `lock` puts commands and the ends of runs into one order."""

    def __init__(self, row: SessionRow, stream: SessionStream, services: SessionServices) -> None:
        runs = services.runs
        self.parts = parts = SessionParts.of(row, stream, runs.storage)
        self.lock = asyncio.Lock()
        self.active: ActiveRun | None = None
        self.closed = False
        self.compaction = RestCompaction()
        self.tasks = BackgroundTasks(self, parts)
        self.delegations = Delegations(
            runs,
            row.id,
            self.tasks,
            services.delegation_hooks,
            services.proposals,
            services.workspaces.subagents,
        )
        self.waits = SessionWaits(self, parts.record, services)
        self.root = RootAgent(
            stream,
            parts.conversation,
            parts.prompts,
            runs.hooks.recall(row, runs.sources),
            CallServices(runs.questions, self.waits, self.delegations, runs.storage),
            reminding(services, lambda: self.row),
            services.notes.waiting_for(row.id),
            services.budgets,
        )
        self._services = services
        self._record, self._inbox = parts.record, parts.inbox

    @property
    def id(self) -> str:
        return self.parts.id

    @property
    def row(self) -> SessionRow:
        return self.parts.record.row

    @asynccontextmanager
    async def command(self) -> AsyncIterator[None]:
        """Hold the lock for one command. Raises `NotFound` when the session is deleted."""
        async with self.lock:
            if self.closed:
                raise NotFound(f"There is no session {self.id}.")
            yield

    def below(self) -> list[ActiveRun]:
        """Return the runs of subagents that are under way."""
        return [child.active for child in self.delegations.live.values()]

    def under_way(self, run_id: str) -> ActiveRun | None:
        """Return a run that has not ended: the root agent's, or one below it."""
        active = [] if self.active is None else [self.active]
        return next((run for run in (*active, *self.below()) if run.run_id == run_id), None)

    def step_at_work(self) -> OpenStep | None:
        """Return the calls of the active run that are at work now."""
        return None if self.active is None else self.active.context.controls.step_calls

    def note_files(self, *, message_id: str | None = None, checkpoint_id: str | None = None) -> None:
        """Note in the background which files the project has at a message or a checkpoint."""
        root = self._services.runs.projects.root_of_session(self.row).path
        self._services.notes.begin(
            self.id, self.row.project_id, root, message_id=message_id, checkpoint_id=checkpoint_id
        )

    def release_place(self) -> None:
        """Give the place back, unless tasks in the background still need it."""
        if not self.delegations.background_tasks():
            self._services.capacity.release(self.id)

    def settle_place(self) -> None:
        """Give the place back after a run or a task has ended, when nothing else needs it."""
        if self.active is None:
            self.release_place()
        self.waits.look()

    @property
    def working(self) -> bool:
        """True while a run is active, or a task in the background."""
        return self.active is not None or bool(self.delegations.live)

    def wait_for_capacity(self) -> None:
        """Begin by itself when there is capacity, unless an operator stops the session before."""
        stops = self._inbox.stops

        def start() -> None:
            self._services.runs.spawn(self._start_waiting(stops), name=f"start {self.id}")

        self._services.capacity.wait(Claim.of(self.row), start)

    async def begin_at_once(
        self, message: Message | None, checkpoint: Checkpoint | None = None, again: Again | None = None
    ) -> Run:
        """Begin beyond the limits: an operator wants it."""
        self._services.capacity.force(Claim.of(self.row))
        return (await self.begin(message, SessionEvent.RESUME_WITH_WORK, checkpoint, again)).row

    async def begin(
        self,
        message: Message | None,
        event: SessionEvent,
        checkpoint: Checkpoint | None = None,
        again: Again | None = None,
        *,
        result: Callable[[ActiveRun], object] = lambda begun: begun.row,
    ) -> ActiveRun:
        """Begin with a place that is held already; give it back when that fails. `result` is what a request
        that asks for the run is answered from."""
        try:
            return await self._begin(message, event, checkpoint, again, result)
        finally:
            if self.active is None:
                self.release_place()
            if self._record.state is SessionState.QUEUED:
                self.wait_for_capacity()

    async def start_when_idle(self, row: Message) -> None:
        """Start a run because of a message about a task, when the session is idle; hold its lock."""
        if self._record.state is not SessionState.IDLE or self.closed or self._services.tasks.stopping:
            return
        try:
            await self._services.check_runnable(self.row, None)
            if self._services.capacity.try_acquire(Claim.of(self.row)):
                await self.begin(row, SessionEvent.MESSAGE_POSTED)
                return
            await self._record.move(SessionEvent.MESSAGE_POSTED_AT_LIMIT, reason="capacity")
            self.wait_for_capacity()
        except KagedError as problem:
            log.warning("the result of a task of %s waits for the next message: %s", self.id, problem.message)

    # -- the run's side: called by the active run -------------------------------------------

    def take_steers(self) -> list[Message]:
        """Give the waiting steers to the running turn, with their places in the history."""
        assert self.active is not None
        history = self.active.context.history
        taken = [placed_in(history, row, self.active.run_id) for row in self._inbox.steers()]
        if taken:
            self._inbox.remove({row.id for row in taken})
            events = [posted_event(row, queued=False) for row in taken]
            origin = Origin(self.active.run_id)
            self.parts.stream.record(events, put_all(taken), origin=origin, kept=True)
        return taken

    async def run_ended(self, outcome: LoopOutcome, closing: EventPayload, store: Statements) -> None:
        """Move on after the active run has ended: pause, next message, or idle."""
        async with self.lock:
            await self.waits.take_back()
            active, self.active = self.active, None
            assert active is not None
            try:
                await self._move_on(active, outcome, closing, store)
            except Exception as problem:  # whatever it was: a session must not stay running without a run
                log.error(
                    "the end of run %s could not be stored: %s",
                    active.run_id,
                    problem,
                    exc_info=None if isinstance(problem, StorageOutage) else problem,
                )
                held = both(store, hold_all(self._inbox.hold()))
                if self._record.state is SessionState.RUNNING:
                    event, run_id = SessionEvent.RUN_ENDED, active.run_id
                    self._record.move_unstored(event, [closing], held, problem, run_id=run_id)
            idle = self._record.state is SessionState.IDLE
            if idle and self.active is None:
                self._services.runs.hooks.idle.on_idle(self.row)
            self.settle_place()

    # -- inside -----------------------------------------------------------------------------

    async def _move_on(
        self, active: ActiveRun, outcome: LoopOutcome, closing: EventPayload, store: Statements
    ) -> None:
        flag = overflow_flag(self.row, outcome.reason, outcome.state)
        following = self._inbox.next()
        pause_reason = outcome.pause
        if pause_reason is None and following is not None and self._services.tasks.stopping:
            pause_reason = "daemon_restart"  # so that one resume continues what waits
        history = await self.parts.conversation.load()
        if pause_reason == "daemon_restart" and history.waiting:
            pause_reason = INTERACTION  # what it waits for is an answer, not the daemon
        if pause_reason is not None:
            asked = active.context.controls.checkpoints.made if pause_reason == "model" else None
            checkpoint = checkpoint_of(
                self.id,
                active.run_id,
                reason=pause_reason,
                detail=active.stopped.detail if asked is None else asked.reason,
                created_by="model" if asked or pause_reason == INTERACTION else active.stopped.by,
                cursor=history.last_message_id,
            )

            def pause(uow: UnitOfWork) -> None:
                store(uow)
                uow.checkpoints.add(checkpoint)
                uow.compactions.link_proposals(self.id, checkpoint.id)
                uow.checkpoints.prune(self.id, self._services.checkpoint_limit)

            events = [closing, checkpoint_event(checkpoint)]
            await self._record.move(
                SessionEvent.RUN_PAUSED,
                reason=pause_reason,
                events=events,
                statements=pause,
                run_id=active.run_id,
                durable=True,
                columns=flag,
            )
            self.note_files(checkpoint_id=checkpoint.id)
            return
        closed = await close_open_calls(self._services.runs.storage, self.id, history, STOPPED)
        events, ended = [*closed.events, closing], both(closed.store, store)
        if following is None:
            await self._record.move(
                SessionEvent.RUN_ENDED, events=events, statements=ended, run_id=active.run_id, columns=flag
            )
            closed.add_to(history)
            return
        await self.parts.stream.record(events, ended, origin=Origin(active.run_id))
        closed.add_to(history)
        try:
            await self._begin(following, SessionEvent.RUN_ENDED_MORE_QUEUED, columns=flag)
        except Exception as problem:  # noqa: BLE001 - published below; as above
            await self._cannot_run(problem, SessionEvent.RUN_ENDED, flag)

    async def _start_waiting(self, stops: int) -> None:
        if not await self._services.workspaces.ready(self.row):
            self._services.capacity.release(self.id)
            return
        async with self.lock:
            if self.active is not None:  # it goes on, or got its place by another way and keeps it
                await self.waits.served()
                return
            following = self._inbox.next()
            waits = self._record.state is SessionState.QUEUED and not self.closed
            waits = waits and stops == self._inbox.stops
            if following is None or not waits or self._services.tasks.stopping:
                self._services.capacity.release(self.id)
                return
            try:
                await self._services.workspaces.require(self.row)
                await self._begin(following, SessionEvent.CAPACITY_FREE)
            except Exception as problem:  # noqa: BLE001 - published below; the session must not wait for ever
                if not self._waits_for_next_start():
                    await self._cannot_run(problem, SessionEvent.CANCEL)
                self._services.capacity.release(self.id)

    def _waits_for_next_start(self) -> bool:
        return self._services.tasks.stopping and self._record.state is SessionState.QUEUED

    async def _cannot_run(
        self, problem: Exception, event: SessionEvent, columns: Mapping[str, Any] | None = None
    ) -> None:
        """A message that waited cannot run now; it stays, and goes with the next one posted."""
        known = isinstance(problem, KagedError)
        log.warning(
            "the queued message of %s cannot start a run: %s",
            self.id,
            problem,
            exc_info=None if known else problem,
        )
        held = hold_all(self._inbox.hold())
        why = problem.message if isinstance(problem, KagedError) else "an internal error; see the log"
        try:
            await self._record.move(event, reason="cannot_run", detail=why, statements=held, columns=columns)
        except KagedError as another:
            log.error("session %s could not be stored: %s", self.id, another.message)
            self._record.move_unstored(event, [], held, another, reason="cannot_run")

    async def _begin(
        self,
        message: Message | None,
        event: SessionEvent,
        checkpoint: Checkpoint | None = None,
        again: Again | None = None,
        result: Callable[[ActiveRun], object] | None = None,
        columns: Mapping[str, Any] | None = None,
    ) -> ActiveRun:
        """Store the run with its message, move to running, and start the task.

        When that fails nothing has changed: the message waits where it was."""
        self._services.tasks.refuse_when_stopping()
        history = await self.parts.conversation.load()
        storage = self._services.runs.storage
        closed = await close_open_calls(storage, self.id, history, RESUMED, only_unanswered=True)
        start = await self._start(message, checkpoint, again, history)
        active = await build_run(self._services.runs, self.root, self.row, self, start)
        if again is not None:
            tried = {"trigger_message_id": again.run.trigger_message_id, "retry_of": again.run.id}
            active.row = active.row.model_copy(update=tried)
        every_result = active.context.scope.agent.include_tool_results_in_context
        if message is not None and message.role == "operator" and not every_result:
            leave_out_results(history)
        waiting = [*(self._inbox.held() if message is not None else []), *([message] if message else [])]
        rows = [placed_in(history, row, active.run_id) for row in waiting]
        active.message = rows[-1] if rows else None
        active.context.controls.prompts = [row for row in rows if row.role == "operator"]
        events = [*closed.events, *(posted_event(row, queued=False) for row in rows)]
        edited, apply_edits = await self.parts.edits_to_apply(self._services.runs.storage)
        events += [*edited, active.started_event()]
        if not self.row.title and message is not None and message.role == "operator":
            columns = {**(columns or {}), "title": title_from(message.content)}

        def store(uow: UnitOfWork) -> None:
            closed.store(uow)
            put_all(rows)(uow)
            uow.runs.add(active.row)
            mark_resumed(checkpoint)(uow)
            apply_edits(uow)
            if checkpoint is not None:
                uow.checkpoints.prune(self.id, self._services.checkpoint_limit)

        statements = store if result is None else effect(store, lambda _: result(active))
        await self._record.move(
            event, events=events, statements=statements, run_id=active.run_id, durable=True, columns=columns
        )
        self._inbox.remove({row.id for row in rows})
        closed.add_to(history)
        for row in rows:
            history.add_user(row)
        if edited:
            await self.parts.prompts.reload()
        self._services.runs.hooks.idle.on_busy(self.id)
        if rows and rows[-1].role == "operator":
            self.note_files(message_id=rows[-1].id)
        self.active = active
        active.start(self._services.runs.spawn)
        return active

    async def _start(
        self, message: Message | None, checkpoint: Checkpoint | None, again: Again | None, history: History
    ) -> Start:
        asked = None if message is None else message.details.get("model")
        waiting = await waiting_calls(self._services.runs.storage, self.id, history)
        return Start(message, checkpoint, asked if again is None else again.model, waiting)
