"""One live session: its inbox, its one active run, and the order of commands.

Owns: what each command does in each state (one lock per session). Never: the loop itself,
storing a move (`session_record`) or HTTP. What a caller is told is committed before it is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from app.errors import Conflict, KagedError, NotFound
from app.events import EventPayload, RunQueued
from app.harness.active_run import ActiveRun
from app.harness.capacity import Claim
from app.harness.estimate import ConversationEstimate
from app.harness.history import History
from app.harness.inbox import Inbox
from app.harness.loop import LoopOutcome
from app.harness.session_record import SessionRecord, Work
from app.harness.session_rows import (
    Mode,
    PostedMessage,
    busy,
    checkpoint_event,
    checkpoint_of,
    hold_all,
    mark_resumed,
    nudge,
    operator_message,
    overflow_flag,
    placed_in,
    posted_event,
    put_all,
    queue_full,
    waiting_message,
)
from app.harness.session_services import SessionServices
from app.harness.session_stream import SessionStream
from app.harness.titles import title_from
from app.ids import now_ms
from app.states import SessionEvent, SessionState
from app.storage.models import Checkpoint, Message, Run
from app.storage.models import Session as SessionRow
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.session")

PAUSE_GRACE_SECONDS = 2.0


class Session:
    """A session in memory. Build it with `SessionManager`, never directly."""

    def __init__(self, row: SessionRow, stream: SessionStream, services: SessionServices) -> None:
        self.stream = stream
        self.inbox = Inbox()
        self.active: ActiveRun | None = None
        self.history: History | None = None
        self.estimate = ConversationEstimate()
        self._record = SessionRecord(row, stream)
        self._services = services
        self._lock = asyncio.Lock()
        self._deleted = False

    @property
    def id(self) -> str:
        return self._record.row.id

    @property
    def row(self) -> SessionRow:
        """The row with the present state and title; its sums are those of when it was loaded."""
        return self._record.row

    @property
    def at_rest(self) -> bool:
        """True when nothing would be lost by forgetting this object."""
        return self.active is None and not len(self.inbox) and not self._lock.locked()

    # -- commands ---------------------------------------------------------------------------

    async def post(
        self,
        content: str,
        *,
        attachments: Sequence[Mapping[str, Any]],
        model: str | None,
        mode: Mode,
        actor: str,
    ) -> PostedMessage:
        """Store a message and run it, queue it, or hand it to the running turn."""
        if model is not None:
            self._services.router.resolve(model)
        async with self._lock:
            self._still_there()
            state = self._record.state
            self._record.require(SessionEvent.MESSAGE_POSTED)
            row = operator_message(self.id, content, attachments, model, actor)
            if state is not SessionState.IDLE:
                if mode == "reject":
                    raise busy(state)
                steer = mode == "steer" and state is SessionState.RUNNING
                return await self._enqueue(row, SessionEvent.MESSAGE_POSTED, "busy", steer=steer)
            await self._services.check_runnable(self.row, model)
            if self._services.capacity.try_acquire(self._claim()):
                begun = await self._begin_or_release(row, SessionEvent.MESSAGE_POSTED)
                return PostedMessage(begun.message or row, begun.row, queued=False)
            if mode == "reject":
                raise busy(state)
            return await self._enqueue(row, SessionEvent.MESSAGE_POSTED_AT_LIMIT, "capacity")

    async def cancel(self, actor: str) -> None:
        """Stop the run, keep its partial answer; nothing that waits starts by itself after it."""
        async with self._lock:
            self._still_there()
            self._record.require(SessionEvent.CANCEL)
            self._services.capacity.withdraw(self.id)
            held = hold_all(self.inbox.hold())
            active = self.active
            if active is None:
                await self._record.move(SessionEvent.CANCEL, reason="cancelled", work=held, durable=True)
                self._services.capacity.release(self.id)
                return
            active.stop("cancel", by=actor)
            await self.stream.record([], held)
        await active.ended()

    async def pause(
        self, actor: str, reason: str | None = None, *, grace: float = PAUSE_GRACE_SECONDS
    ) -> None:
        """Stop at once and keep a checkpoint; running tools get `grace` seconds.

        A run that ends by itself first is not paused: the next one is, or it is a `Conflict`."""
        while True:
            async with self._lock:
                self._still_there()
                active = self.active
                if active is None:
                    raise self._record.illegal("pause")
                active.stop("pause", detail=reason, by=actor, grace=grace)
            await active.ended()
            if self._record.state is SessionState.PAUSED:
                return

    async def resume(self, checkpoint_id: str | None, actor: str) -> Run | None:
        """Go on after a pause as a new run; None when there is nothing left to do."""
        async with self._lock:
            self._still_there()
            state, queued = self._record.state, self.inbox.next()
            if state is SessionState.QUEUED and queued is not None:
                self._services.capacity.force(self._claim())
                return (await self._begin_or_release(queued, SessionEvent.RESUME_WITH_WORK)).row
            if state is not SessionState.PAUSED:
                raise self._record.illegal("resume")
            checkpoint = await self._services.open_checkpoint(self.id, checkpoint_id)
            history = await self._history()
            unanswered = bool(history.messages) and not history.answered
            if not unanswered and queued is None:
                await self._record.move(
                    SessionEvent.RESUME_WITHOUT_WORK, work=mark_resumed(checkpoint), durable=True
                )
                return None
            await self._services.check_runnable(self.row, None)
            self._services.capacity.force(self._claim())
            message = nudge(self.id, history, actor) if unanswered else queued
            begun = await self._begin_or_release(message, SessionEvent.RESUME_WITH_WORK, checkpoint)
            return begun.row

    async def continue_run(self, actor: str) -> Run:
        """Let the agent go on after it stopped without having finished its answer."""
        async with self._lock:
            self._still_there()
            if self._record.state is not SessionState.IDLE:
                raise self._record.illegal("continue")
            history = await self._history()
            if not history.messages or history.answered:
                raise Conflict(
                    "There is nothing to continue: post a message.",
                    reason="nothing_to_continue",
                    details={"state": self.row.state},
                )
            await self._services.check_runnable(self.row, None)
            self._services.capacity.force(self._claim())
            message = nudge(self.id, history, actor)
            return (await self._begin_or_release(message, SessionEvent.RESUME_WITH_WORK)).row

    async def rename(self, title: str) -> None:
        async with self._lock:
            self._still_there()
            await self._record.rename(title)

    async def archive(self) -> None:
        """Close the session for good; its messages stay readable."""
        async with self._lock:
            self._still_there()
            if self.active is not None:
                raise self._record.illegal("archive")
            held = hold_all(self.inbox.hold())
            await self._record.move(SessionEvent.ARCHIVE, work=held, durable=True, archived_at=now_ms())
            self._services.capacity.withdraw(self.id)
            self._services.capacity.release(self.id)
            self.inbox = Inbox()

    async def delete(self) -> None:
        """Remove the session and everything below it; not while it runs."""
        async with self._lock:
            self._still_there()
            if self.active is not None:
                raise Conflict(
                    "A run is active; cancel it before you delete the session.",
                    reason="run_in_progress",
                    details={"state": self.row.state},
                )
            await self._services.storage.write(lambda uow: uow.sessions.delete(self.id), durable=True)
            self._deleted = True
            self._services.capacity.withdraw(self.id)
            self._services.capacity.release(self.id)

    async def stop_for_shutdown(self, grace: float) -> None:
        """The daemon stops: end the run, keep a checkpoint that one resume goes on from."""
        async with self._lock:
            active = self.active
            if active is not None:
                active.stop("pause", by="daemon", grace=grace, reason="daemon_restart")
        if active is not None:
            await active.ended()

    def start_waiting(self) -> None:
        """Capacity has become free for this queued session."""
        self._services.spawn(self._start_waiting(), name=f"start {self.id}")

    # -- the run's side ---------------------------------------------------------------------

    def take_steers(self) -> list[Message]:
        """Give the waiting steers to the running turn, with their places in the history."""
        assert self.active is not None and self.history is not None
        taken = [placed_in(self.history, row, self.active.run_id) for row in self.inbox.steers()]
        if taken:
            self.inbox.remove({row.id for row in taken})
            told = [posted_event(row, queued=False) for row in taken]
            self.stream.record(told, put_all(taken), run_id=self.active.run_id)
        return taken

    async def run_ended(self, outcome: LoopOutcome, closing: EventPayload, store: Work) -> None:
        """Move on after the active run has ended: pause, next message, or idle."""
        async with self._lock:
            active, self.active = self.active, None
            assert active is not None
            try:
                await self._move_on(active, outcome, closing, store)
            except KagedError as problem:
                log.error("the end of run %s could not be stored: %s", active.run_id, problem.message)
                self.inbox.hold()
                self._record.move_unstored(SessionEvent.RUN_ENDED, [closing], store)
            if self.active is None:
                self._services.capacity.release(self.id)

    # -- inside -----------------------------------------------------------------------------

    async def _move_on(
        self, active: ActiveRun, outcome: LoopOutcome, closing: EventPayload, store: Work
    ) -> None:
        flag = overflow_flag(self.row, outcome.reason, outcome.state)
        following = self.inbox.next()
        pause_reason = outcome.pause
        if pause_reason is None and following is not None and self._services.stopping():
            pause_reason = "daemon_restart"  # so that one resume goes on with what waits
        if pause_reason is not None:
            checkpoint = checkpoint_of(
                self.id,
                active.run_id,
                reason=pause_reason,
                detail=active.stop_detail,
                created_by=active.stopped_by,
                cursor=(await self._history()).last_message_id,
            )

            def pause(uow: UnitOfWork) -> None:
                store(uow)
                uow.checkpoints.add(checkpoint)

            told = [closing, checkpoint_event(checkpoint)]
            flag |= {"run_id": active.run_id, "durable": True}
            await self._record.move(
                SessionEvent.RUN_PAUSED, reason=pause_reason, events=told, work=pause, **flag
            )
            return
        if following is None:
            await self._record.move(
                SessionEvent.RUN_ENDED, events=[closing], work=store, run_id=active.run_id, **flag
            )
            return
        await self.stream.record([closing], store, run_id=active.run_id)
        try:
            await self._begin(following, SessionEvent.RUN_ENDED_MORE_QUEUED, **flag)
        except KagedError as problem:
            await self._cannot_run(problem, SessionEvent.RUN_ENDED, **flag)

    async def _start_waiting(self) -> None:
        async with self._lock:
            if self.active is not None:
                return  # it got its place by another way and keeps it
            following = self.inbox.next()
            waits = self._record.state is SessionState.QUEUED and not self._deleted
            if following is None or not waits or self._services.stopping():
                self._services.capacity.release(self.id)
                return
            try:
                await self._begin(following, SessionEvent.CAPACITY_FREE)
            except KagedError as problem:
                await self._cannot_run(problem, SessionEvent.CANCEL)
                self._services.capacity.release(self.id)

    async def _cannot_run(self, problem: KagedError, event: SessionEvent, **values: Any) -> None:
        """A message that waited cannot run now; it stays, and goes with the next one posted."""
        log.warning("the queued message of %s cannot run: %s", self.id, problem.message)
        held = hold_all(self.inbox.hold())
        try:
            await self._record.move(event, reason="cannot_run", work=held, **values)
        except KagedError as another:
            log.error("session %s could not be stored: %s", self.id, another.message)
            self._record.move_unstored(event, [], held)

    async def _begin_or_release(
        self, message: Message | None, event: SessionEvent, checkpoint: Checkpoint | None = None
    ) -> ActiveRun:
        """Begin with a place that is held already; give it back when that fails."""
        try:
            return await self._begin(message, event, checkpoint)
        finally:
            if self.active is None:
                self._services.capacity.release(self.id)
            if self._record.state is SessionState.QUEUED:
                self._services.capacity.wait(self._claim(), self.start_waiting)

    async def _begin(
        self,
        message: Message | None,
        event: SessionEvent,
        checkpoint: Checkpoint | None = None,
        **values: Any,
    ) -> ActiveRun:
        """Store the run with its message, move to running, and start the task.

        When that fails nothing has changed: the message waits where it was."""
        self._services.refuse_when_stopping()
        history = await self._history()
        model = str(message.details["model"]) if message is not None and "model" in message.details else None
        active = await self._services.build_run(self, message, checkpoint, model)
        waiting = [*(self.inbox.held() if message is not None else []), *([message] if message else [])]
        rows = [placed_in(history, row, active.run_id) for row in waiting]
        active.message = rows[-1] if rows else None
        told: list[EventPayload] = [posted_event(row, queued=False) for row in rows]
        told.append(active.started_event())
        if not self.row.title and message is not None and message.role == "operator":
            values["title"] = title_from(message.content)

        def store(uow: UnitOfWork) -> None:
            put_all(rows)(uow)
            uow.runs.add(active.row)
            mark_resumed(checkpoint)(uow)

        await self._record.move(event, events=told, work=store, run_id=active.run_id, durable=True, **values)
        self.inbox.remove({row.id for row in rows})
        for row in rows:
            history.add_user(row)
        self.active = active
        active.start()
        return active

    async def _enqueue(
        self, row: Message, event: SessionEvent, reason: Literal["busy", "capacity"], *, steer: bool = False
    ) -> PostedMessage:
        limit = self._services.queue_limit
        if len(self.inbox) >= limit:
            raise queue_full(limit)
        waiting = waiting_message(row, steer=steer)
        told: list[EventPayload] = [posted_event(waiting, queued=True)]
        if not steer:
            told.append(RunQueued(message_id=row.id, position=len(self.inbox) + 1, reason=reason))
        await self._record.move(event, events=told, work=lambda uow: uow.messages.add(waiting), durable=True)
        self.inbox.add(waiting)
        if reason == "capacity":
            self._services.capacity.wait(self._claim(), self.start_waiting)
        return PostedMessage(waiting, None, queued=True)

    async def _history(self) -> History:
        if self.history is None:
            self.history, self.estimate = await self._services.load_history(self.id)
        return self.history

    def _still_there(self) -> None:
        if self._deleted:
            raise NotFound(f"There is no session {self.id}.")

    def _claim(self) -> Claim:
        return Claim(self.id, self.row.project_id, self.row.created_by)
