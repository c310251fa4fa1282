"""One live session: its state, its inbox, its one active run.

Owns: every move of the session state machine and the order of commands (one lock per session).
Never: the loop itself or HTTP. What a caller is told is committed before it is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from app.errors import Conflict, NotFound, RateLimited, StorageError, ValidationFailed
from app.events import (
    EventPayload,
    RunQueued,
    SessionStateChanged,
    SessionUpdated,
)
from app.harness.active_run import ActiveRun
from app.harness.capacity import Claim
from app.harness.estimate import ConversationEstimate
from app.harness.history import History
from app.harness.inbox import Inbox
from app.harness.loop import LoopOutcome
from app.harness.session_rows import (
    Mode,
    checkpoint_event,
    hold_all,
    mark_resumed,
    nudge,
    operator_message,
    placed_in,
    posted_event,
    put_all,
)
from app.harness.session_services import SessionServices
from app.harness.session_stream import SessionStream
from app.harness.titles import title_from
from app.ids import new_id, now_ms
from app.states import SessionEvent, SessionState, legal_session_events, move_session
from app.storage.models import Checkpoint, Message, Run
from app.storage.models import Session as SessionRow
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.session")

PAUSE_GRACE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """What became of a posted message: run now, or queued (`run` is None)."""

    message: Message
    run: Run | None
    queued: bool


class Session:
    """A session in memory. Build it with `SessionManager`, never directly."""

    def __init__(self, row: SessionRow, stream: SessionStream, services: SessionServices) -> None:
        self.row = row
        self.stream = stream
        self.inbox = Inbox()
        self.active: ActiveRun | None = None
        self.history: History | None = None
        self.estimate = ConversationEstimate()
        self._services = services
        self._lock = asyncio.Lock()
        self._last_context: dict[str, int | None] | None = None

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def at_rest(self) -> bool:
        """True when nothing would be lost by forgetting this object."""
        return self.active is None and not len(self.inbox) and not self._lock.locked()

    @property
    def last_context(self) -> dict[str, int | None] | None:
        """The tokens and the window of the newest request, estimated; None before the first."""
        return self._last_context

    @property
    def current_state(self) -> SessionState:
        return SessionState(self.row.state)

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
            running = self.current_state is SessionState.RUNNING
            if running and mode == "reject":
                raise Conflict(
                    "A run is active. Wait for it, cancel it, or post with mode=queue or mode=steer.",
                    reason="run_in_progress",
                    details={"state": self.row.state},
                )
            if self.current_state is SessionState.IDLE:
                await self._services.check_runnable(self.row, model)
            row = operator_message(self.id, content, attachments, model, mode, actor)
            if running or self.current_state is SessionState.QUEUED:
                return await self._enqueue(row, SessionEvent.MESSAGE_POSTED, "busy")
            if self._services.capacity.try_acquire(self._claim()):
                try:
                    begun = await self._begin(row)
                except BaseException:
                    if self.active is None:
                        self._services.capacity.release(self.id)
                    raise
                return PostedMessage(begun.message or row, begun.row, queued=False)
            return await self._enqueue(row, SessionEvent.MESSAGE_POSTED_AT_LIMIT, "capacity")

    async def cancel(self, actor: str) -> None:
        """Stop the run, keep its partial answer; nothing that waits starts by itself after it."""
        async with self._lock:
            move_session(self.current_state, SessionEvent.CANCEL)
            held = self.inbox.hold()
            if held:
                ids = [row.id for row in held]
                self.stream.record([], hold_all(ids))
            self._services.capacity.withdraw(self.id)
            active = self.active
            if active is None:
                await self._transition(SessionEvent.CANCEL, reason="cancelled", durable=True)
                return
            active.stop("cancel")
        await active.ended()

    async def pause(
        self, actor: str, reason: str | None = None, *, grace: float = PAUSE_GRACE_SECONDS
    ) -> None:
        """Stop at once and keep a checkpoint; running tools get `grace` seconds."""
        async with self._lock:
            active = self.active
            if active is None:
                raise self._illegal("pause")
            active.stop("pause", detail=reason, by=actor, grace=grace)
        await active.ended()

    async def resume(self, checkpoint_id: str | None, actor: str) -> Run | None:
        """Go on after a pause as a new run; None when there is nothing left to do."""
        async with self._lock:
            if self.current_state is SessionState.QUEUED:
                queued = self.inbox.take_next()
                assert queued is not None, "a queued session has a message waiting"
                self._services.capacity.force(self._claim())
                return (await self._begin(queued, event=SessionEvent.RESUME_WITH_WORK)).row
            if self.current_state is not SessionState.PAUSED:
                raise self._illegal("resume")
            checkpoint = await self._open_checkpoint(checkpoint_id)
            history = await self._history()
            work = bool(history.messages) and not history.answered
            follower = None if work else self._next_message()
            if not work and follower is None:
                await self._transition(
                    SessionEvent.RESUME_WITHOUT_WORK, work=mark_resumed(checkpoint), durable=True
                )
                return None
            await self._services.check_runnable(self.row, None)
            self._services.capacity.force(self._claim())
            begun = await self._begin(
                follower or nudge(self.id, history, actor),
                checkpoint=checkpoint,
                event=SessionEvent.RESUME_WITH_WORK,
            )
            return begun.row

    async def continue_run(self, actor: str) -> Run:
        """Let the agent go on after it stopped at a limit of length or steps."""
        async with self._lock:
            if self.current_state is not SessionState.IDLE:
                raise self._illegal("continue")
            history = await self._history()
            if not history.messages:
                raise Conflict(
                    "There is nothing to continue: post a message first.",
                    reason="nothing_to_continue",
                    details={"state": self.row.state},
                )
            await self._services.check_runnable(self.row, None)
            self._services.capacity.force(self._claim())
            begun = await self._begin(nudge(self.id, history, actor), event=SessionEvent.RESUME_WITH_WORK)
            return begun.row

    async def rename(self, title: str) -> None:
        self.row = self.row.model_copy(update={"title": title, "updated_at": now_ms()})
        row = self.row
        await self.stream.record(
            [SessionUpdated(title=title)],
            lambda uow: uow.sessions.update(row.id, title=title, updated_at=row.updated_at),
            durable=True,
        )

    async def archive(self) -> None:
        """Close the session for good; its messages stay readable."""
        async with self._lock:
            if self.active is not None:
                raise self._illegal("archive")
            self._services.capacity.withdraw(self.id)
            await self._transition(SessionEvent.ARCHIVE, durable=True, archived_at=now_ms())

    async def stop_for_shutdown(self, grace: float) -> None:
        """The daemon stops: end the run, keep a checkpoint that one resume goes on from."""
        active = self.active
        if active is not None:
            active.stop("pause", detail=None, by="daemon", grace=grace, reason="daemon_restart")
            await active.ended()

    def start_waiting(self) -> None:
        """Capacity has become free for this queued session."""
        self._services.spawn(self._start_waiting(), name=f"start {self.id}")

    # -- the run's side ---------------------------------------------------------------------

    def take_steers(self) -> list[Message]:
        """Give the waiting steers to the running turn, with their places in the history."""
        assert self.active is not None and self.history is not None
        taken = [placed_in(self.history, row) for row in self.inbox.take_steers()]
        if taken:
            self.stream.record([], put_all(taken))
        return taken

    async def run_ended(self, outcome: LoopOutcome, closing: EventPayload, store: Any) -> None:
        """Move on after the active run has ended: pause, next message, or idle."""
        async with self._lock:
            active, self.active = self.active, None
            assert active is not None
            context = active.context
            self._last_context = {"tokens": context.context_tokens, "window": context.context_window}
            if outcome.pause is not None:
                await self._paused(outcome, active, closing, store)
                return
            following = self._next_message()
            if following is not None:
                await self.stream.record([closing], store, run_id=active.run_id)
                try:
                    await self._begin(following, event=SessionEvent.RUN_ENDED_MORE_QUEUED)
                    return
                except (NotFound, Conflict, ValidationFailed) as problem:
                    log.warning("the queued message of %s cannot run: %s", self.id, problem)
                    await self._transition(SessionEvent.RUN_ENDED, reason="cannot_run")
            else:
                await self._transition(SessionEvent.RUN_ENDED, events=[closing], work=store)
            self._services.capacity.release(self.id)

    # -- inside -----------------------------------------------------------------------------

    async def _start_waiting(self) -> None:
        async with self._lock:
            following = self._next_message() if self.current_state is SessionState.QUEUED else None
            if following is None:
                self._services.capacity.release(self.id)
                return
            try:
                await self._begin(following, event=SessionEvent.CAPACITY_FREE)
            except (NotFound, Conflict, ValidationFailed) as problem:
                log.warning("the queued message of %s cannot run: %s", self.id, problem)
                self._services.capacity.release(self.id)
                await self._transition(SessionEvent.CANCEL, reason="cannot_run")

    async def _begin(
        self,
        message: Message | None,
        *,
        checkpoint: Checkpoint | None = None,
        event: SessionEvent = SessionEvent.MESSAGE_POSTED,
    ) -> ActiveRun:
        """Store the run with its message, move to running, and start the task."""
        history = await self._history()
        held = [placed_in(history, row) for row in self.inbox.take_held()] if message is not None else []
        placed = None if message is None else placed_in(history, message)
        rows = [*held, *([placed] if placed is not None else [])]
        model = (message.details.get("model") if message is not None else None) or None
        active = await self._services.build_run(self, placed, checkpoint, model)
        fresh = placed is not None and placed.delivery in ("direct", "continue")
        events: list[EventPayload] = (
            [posted_event(placed, queued=False)] if placed is not None and fresh else []
        )
        events.append(active.started_event())
        title = self.row.title or (title_from(placed.content) if placed is not None else "")
        if title != self.row.title:
            events.append(SessionUpdated(title=title))

        def store(uow: UnitOfWork) -> None:
            for row in rows:
                uow.messages.put(row)
            uow.runs.add(active.row)
            if title:
                uow.sessions.update(self.id, title=title)
            mark_resumed(checkpoint)(uow)

        self.row = self.row.model_copy(update={"title": title})
        await self._transition(event, events=events, work=store, run_id=active.run_id, durable=True)
        for row in rows:
            history.add_user(row)
        self.active = active
        active.start()
        return active

    async def _enqueue(
        self, row: Message, event: SessionEvent, reason: Literal["busy", "capacity"]
    ) -> PostedMessage:
        limit = self._services.queue_limit
        if len(self.inbox) >= limit:
            raise RateLimited(
                f"{limit} messages are waiting in this session already; wait until some have run.",
                reason="queue_full",
                details={"limit": limit},
            )
        move_session(self.current_state, event)
        waiting = row.model_copy(
            update={"position": None, "delivery": row.delivery if row.delivery == "steer" else "queued"}
        )
        position = len(self.inbox) + 1
        events: list[EventPayload] = [posted_event(waiting, queued=True)]
        if waiting.delivery != "steer":
            events.append(RunQueued(message_id=row.id, position=position, reason=reason))
        await self._transition(event, events=events, work=lambda uow: uow.messages.add(waiting), durable=True)
        self.inbox.add(waiting)
        if reason == "capacity":
            self._services.capacity.wait(self._claim(), self.start_waiting)
        return PostedMessage(waiting, None, queued=True)

    async def _paused(
        self, outcome: LoopOutcome, active: ActiveRun, closing: EventPayload, store: Any
    ) -> None:
        history = await self._history()
        checkpoint = Checkpoint(
            id=new_id("ckp"),
            session_id=self.id,
            run_id=active.run_id,
            created_at=now_ms(),
            created_by=active.stopped_by,
            reason=outcome.pause or "operator",
            detail=active.stop_detail,
            message_cursor=history.last_message_id,
        )

        def work(uow: UnitOfWork) -> None:
            store(uow)
            uow.checkpoints.add(checkpoint)

        created = checkpoint_event(checkpoint)
        await self._transition(
            SessionEvent.RUN_PAUSED,
            reason=checkpoint.reason,
            events=[closing, created],
            work=work,
            durable=True,
        )
        self._services.capacity.release(self.id)

    async def _transition(
        self,
        event: SessionEvent,
        *,
        reason: str | None = None,
        events: Sequence[EventPayload] = (),
        work: Any = None,
        run_id: str | None = None,
        durable: bool = False,
        archived_at: int | None = None,
    ) -> None:
        """Move the state machine and store everything that belongs to the move in one unit."""
        before = self.row
        state, _ = move_session(self.current_state, event)
        changed = state is not self.current_state
        values: dict[str, Any] = {"state": state.value, "state_reason": reason, "updated_at": now_ms()}
        if archived_at is not None:
            values["archived_at"] = archived_at
        told = list(events)
        if changed:
            told.append(SessionStateChanged(state=state.value, previous=before.state, reason=reason))

        def unit(uow: UnitOfWork) -> None:
            if work is not None:
                work(uow)
            uow.sessions.update(before.id, **values)

        self.row = before.model_copy(update=values)
        try:
            await asyncio.shield(self.stream.record(told, unit, run_id=run_id, durable=durable))
        except StorageError:
            self.row = before
            raise

    async def _history(self) -> History:
        if self.history is None:
            rows, last = await self._services.load_history(self.id)
            self.history = History(rows, next_position=last + 1)
        return self.history

    async def _open_checkpoint(self, checkpoint_id: str | None) -> Checkpoint | None:
        found = await self._services.open_checkpoints(self.id)
        if checkpoint_id is None:
            return found[0] if found else None
        for checkpoint in found:
            if checkpoint.id == checkpoint_id:
                return checkpoint
        raise NotFound(f"There is no open checkpoint {checkpoint_id} in this session.")

    def _next_message(self) -> Message | None:
        return None if self._services.stopping() else self.inbox.take_next()

    def _claim(self) -> Claim:
        return Claim(self.id, self.row.project_id, self.row.created_by)

    def _illegal(self, command: str) -> Conflict:
        return Conflict(
            f"The session is {self.row.state}: {command} is not possible now.",
            reason="invalid_transition",
            details={
                "state": self.row.state,
                "legal_events": [event.value for event in legal_session_events(self.current_state)],
            },
        )
