"""The runs of one session, one after the other: beginning one, moving on when it ends.

Owns: the conversation, what waits, the active run, and which run follows it. Never: what a command
means (`session`, which holds the lock while it calls `begin`), the loop itself, or storing a move
(`session_record`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from app.errors import KagedError, StorageOutage
from app.events.payload import EventPayload
from app.events.sessions import PromptReloaded
from app.harness.conversation.estimate import ConversationEstimate
from app.harness.conversation.history import History
from app.harness.conversation.inbox import Inbox
from app.harness.conversation.message_rows import Positions
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
from app.harness.loop.run_factory import build_run
from app.harness.loop.run_services import CallServices
from app.harness.projects.prompts.session_prompts import SessionPrompts
from app.harness.run.answers import WaitingCall
from app.harness.sessions.background import BackgroundTasks
from app.harness.sessions.capacity import Claim
from app.harness.sessions.open_calls import RESUMED, STOPPED, close_open_calls, waiting_calls
from app.harness.sessions.session_record import SessionRecord, Statements
from app.harness.sessions.session_services import SessionServices, reminding
from app.harness.sessions.session_waits import SessionWaits
from app.harness.stream.session_stream import SessionStream
from app.ids import now_ms
from app.states import SessionEvent, SessionState
from app.storage.keyed_effect import effect
from app.storage.models import Checkpoint, Message
from app.storage.models import Session as SessionRow
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.session")


class SessionRuns:
    """What a session runs. `lock` puts commands and the ends of runs into one order."""

    def __init__(self, row: SessionRow, stream: SessionStream, services: SessionServices) -> None:
        self.stream = stream
        self.record = SessionRecord(row, stream)
        self.lock = asyncio.Lock()
        self.inbox = Inbox()
        self.active: ActiveRun | None = None
        self.history: History | None = None
        self.estimate = ConversationEstimate()
        self.closed = False
        self.compacting: asyncio.Timeout | None = None
        """The deadline of a compaction that an operator wants of the session at rest; it holds the lock."""
        self.compaction_given_up = False
        self.generation = 0
        """Counts the operator's explicit stops: what was set going automatically before one does not
        start anything after it."""
        self.prompts = SessionPrompts(services.runs.storage, row.id)
        self._positions: Positions | None = None
        self.recall = services.runs.hooks.recall(row)
        self.tasks = BackgroundTasks(self, services)
        self.delegations = Delegations(
            services.runs, row.id, self.tasks, services.delegation_hooks, services.proposals
        )
        self.waits = SessionWaits(self, services)
        runs = services.runs
        self.calls = CallServices(runs.consents, runs.questions, self.waits, self.delegations)
        self.remind = reminding(services, lambda: self.row)
        self.files_noted = services.notes.waiting_for(row.id)
        self._services = services

    @property
    def id(self) -> str:
        return self.record.row.id

    @property
    def row(self) -> SessionRow:
        return self.record.row

    def below(self) -> list[ActiveRun]:
        """Return the runs of subagents that are under way."""
        return [child.active for child in self.delegations.live.values()]

    def claim(self) -> Claim:
        return Claim(self.id, self.row.project_id, self.row.created_by)

    async def conversation(self) -> History:
        """Return the conversation, which is read from the storage once."""
        if self.history is None:
            self.history, self.estimate = await self._services.load_history(self.id)
            if self._positions is None:
                self._positions = self.history.positions
            self.history.positions = self._positions
        return self.history

    async def waiting_calls(self) -> tuple[WaitingCall, ...]:
        """Return the calls of earlier runs that the next run goes on with."""
        return await waiting_calls(self._services.runs.storage, self.id, await self.conversation())

    def forget_conversation(self) -> None:
        """Read the conversation anew when it is needed next; its places are never given out twice."""
        self.history, self.estimate = None, ConversationEstimate()

    async def edits_to_apply(self) -> tuple[list[EventPayload], Statements]:
        """Return what to tell and to store when a pause is left in which prompts were edited."""
        if self.record.state is not SessionState.PAUSED:
            return [], lambda uow: None
        rows = await self._services.runs.storage.read(lambda uow: uow.prompt_edits.not_applied(self.id))
        if not rows:
            return [], lambda uow: None
        targets = tuple(dict.fromkeys(row.target for row in rows))
        return [PromptReloaded(agents=targets)], lambda uow: uow.prompt_edits.apply(self.id, now_ms())

    def note_files(self, *, message_id: str | None = None, checkpoint_id: str | None = None) -> None:
        """Note in the background which files the project has at a message or a checkpoint."""
        root = self._services.runs.projects.root_of(self.row.project_id)
        self._services.notes.begin(
            self.id, self.row.project_id, root, message_id=message_id, checkpoint_id=checkpoint_id
        )

    def stop_what_waits(self) -> list[str]:
        """Let nothing that waits now start by itself any more; return the ids of its messages."""
        self.generation += 1
        return self.inbox.hold()

    def give_up_compaction(self) -> bool:
        """Have a compaction of the session at rest end now, so that the lock is free soon; True when there
        was one."""
        if self.compacting is None or self.compacting.expired():
            return False
        self.compaction_given_up = True
        self.compacting.reschedule(asyncio.get_running_loop().time())
        return True

    def release_place(self) -> None:
        """Give the place back, unless tasks in the background still need it."""
        if not self.delegations.background_tasks():
            self._services.capacity.release(self.id)

    @property
    def working(self) -> bool:
        """True while a run is active, or a task in the background."""
        return self.active is not None or bool(self.delegations.live)

    def wait_for_capacity(self) -> None:
        """Begin by itself when there is capacity, unless an operator stops the session before."""
        generation = self.generation

        def start() -> None:
            self._services.runs.spawn(self._start_waiting(generation), name=f"start {self.id}")

        self._services.capacity.wait(self.claim(), start)

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
            if self.record.state is SessionState.QUEUED:
                self.wait_for_capacity()

    # -- the run's side: called by the active run -------------------------------------------

    def take_steers(self) -> list[Message]:
        """Give the waiting steers to the running turn, with their places in the history."""
        assert self.active is not None and self.history is not None
        taken = [placed_in(self.history, row, self.active.run_id) for row in self.inbox.steers()]
        if taken:
            self.inbox.remove({row.id for row in taken})
            events = [posted_event(row, queued=False) for row in taken]
            self.stream.record(events, put_all(taken), run_id=self.active.run_id, kept=True)
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
                held = both(store, hold_all(self.inbox.hold()))
                if self.record.state is SessionState.RUNNING:
                    event, run_id = SessionEvent.RUN_ENDED, active.run_id
                    self.record.move_unstored(event, [closing], held, problem, run_id=run_id)
            if self.active is None:
                self.release_place()
                if self.record.state is SessionState.IDLE:
                    self._services.runs.hooks.idle.on_idle(self.row)
            self.waits.look()

    # -- inside -----------------------------------------------------------------------------

    async def _move_on(
        self, active: ActiveRun, outcome: LoopOutcome, closing: EventPayload, store: Statements
    ) -> None:
        flag = overflow_flag(self.row, outcome.reason, outcome.state)
        following = self.inbox.next()
        pause_reason = outcome.pause
        if pause_reason is None and following is not None and self._services.tasks.stopping:
            pause_reason = "daemon_restart"  # so that one resume goes on with what waits
        history = await self.conversation()
        if pause_reason == "daemon_restart" and history.waiting:
            pause_reason = INTERACTION  # what it waits for is an answer, not the daemon
        if pause_reason is not None:
            asked = active.context.controls.checkpoints.made if pause_reason == "model" else None
            checkpoint = checkpoint_of(
                self.id,
                active.run_id,
                reason=pause_reason,
                detail=active.stop_detail if asked is None else asked.reason,
                created_by="model" if asked or pause_reason == INTERACTION else active.stopped_by,
                cursor=history.last_message_id,
            )

            def pause(uow: UnitOfWork) -> None:
                store(uow)
                uow.checkpoints.add(checkpoint)
                uow.compactions.link_proposals(self.id, checkpoint.id)
                uow.checkpoints.prune(self.id, self._services.checkpoint_limit)

            events = [closing, checkpoint_event(checkpoint)]
            flag |= {"run_id": active.run_id, "durable": True}
            await self.record.move(
                SessionEvent.RUN_PAUSED, reason=pause_reason, events=events, statements=pause, **flag
            )
            self.note_files(checkpoint_id=checkpoint.id)
            return
        closed = await close_open_calls(self, self._services.runs.storage, STOPPED)
        events, ended = [*closed.events, closing], both(closed.store, store)
        if following is None:
            await self.record.move(
                SessionEvent.RUN_ENDED, events=events, statements=ended, run_id=active.run_id, **flag
            )
            closed.add_to(history)
            return
        await self.stream.record(events, ended, run_id=active.run_id)
        closed.add_to(history)
        try:
            await self._begin(following, SessionEvent.RUN_ENDED_MORE_QUEUED, **flag)
        except Exception as problem:  # noqa: BLE001 - told below; as above
            await self._cannot_run(problem, SessionEvent.RUN_ENDED, **flag)

    async def _start_waiting(self, generation: int) -> None:
        async with self.lock:
            if self.active is not None:  # it goes on, or got its place by another way and keeps it
                await self.waits.served()
                return
            following = self.inbox.next()
            waits = self.record.state is SessionState.QUEUED and not self.closed
            waits = waits and generation == self.generation
            if following is None or not waits or self._services.tasks.stopping:
                self._services.capacity.release(self.id)
                return
            try:
                await self._begin(following, SessionEvent.CAPACITY_FREE)
            except Exception as problem:  # noqa: BLE001 - told below; the session must not wait for ever
                await self._cannot_run(problem, SessionEvent.CANCEL)
                self._services.capacity.release(self.id)

    async def _cannot_run(self, problem: Exception, event: SessionEvent, **values: Any) -> None:
        """A message that waited cannot run now; it stays, and goes with the next one posted."""
        known = isinstance(problem, KagedError)
        log.warning(
            "the queued message of %s cannot start a run: %s",
            self.id,
            problem,
            exc_info=None if known else problem,
        )
        held = hold_all(self.inbox.hold())
        try:
            await self.record.move(event, reason="cannot_run", statements=held, **values)
        except KagedError as another:
            log.error("session %s could not be stored: %s", self.id, another.message)
            self.record.move_unstored(event, [], held, another, reason="cannot_run")

    async def _begin(
        self,
        message: Message | None,
        event: SessionEvent,
        checkpoint: Checkpoint | None = None,
        again: Again | None = None,
        result: Callable[[ActiveRun], object] | None = None,
        **values: Any,
    ) -> ActiveRun:
        """Store the run with its message, move to running, and start the task.

        When that fails nothing has changed: the message waits where it was."""
        self._services.tasks.refuse_when_stopping()
        history = await self.conversation()
        closed = await close_open_calls(self, self._services.runs.storage, RESUMED, only_unanswered=True)
        model = str(message.details["model"]) if message is not None and "model" in message.details else None
        active = await build_run(
            self._services.runs, self, message, checkpoint, model if again is None else again.model
        )
        if again is not None:
            tried = {"trigger_message_id": again.run.trigger_message_id, "retry_of": again.run.id}
            active.row = active.row.model_copy(update=tried)
        every_result = active.context.scope.agent.include_tool_results_in_context
        if message is not None and message.role == "operator" and not every_result:
            leave_out_results(history)
        waiting = [*(self.inbox.held() if message is not None else []), *([message] if message else [])]
        rows = [placed_in(history, row, active.run_id) for row in waiting]
        active.message = rows[-1] if rows else None
        events = [*closed.events, *(posted_event(row, queued=False) for row in rows)]
        edited, apply_edits = await self.edits_to_apply()
        events += [*edited, active.started_event()]
        if not self.row.title and message is not None and message.role == "operator":
            values["title"] = title_from(message.content)

        def store(uow: UnitOfWork) -> None:
            closed.store(uow)
            put_all(rows)(uow)
            uow.runs.add(active.row)
            mark_resumed(checkpoint)(uow)
            apply_edits(uow)
            if checkpoint is not None:
                uow.checkpoints.prune(self.id, self._services.checkpoint_limit)

        statements = store if result is None else effect(store, lambda _: result(active))
        await self.record.move(
            event, events=events, statements=statements, run_id=active.run_id, durable=True, **values
        )
        self.inbox.remove({row.id for row in rows})
        closed.add_to(history)
        for row in rows:
            history.add_user(row)
        if edited:
            await self.prompts.reload()
        self._services.runs.hooks.idle.on_busy(self.id)
        if rows and rows[-1].role == "operator":
            self.note_files(message_id=rows[-1].id)
        self.active = active
        active.start()
        return active
