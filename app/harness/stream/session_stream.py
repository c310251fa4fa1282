"""One session's events: numbers, persist-then-publish, one order for everybody.

Owns: the session's `seq`, its outbox, the state of messages in flight. Never: who listens to
what (`event_hub`) or what an event means.

`seq` is the same for every subscriber, strictly increasing, and survives a restart: numbers are
given out only below a stored reservation, and a restarted daemon continues above it. A durable
frame is published only after its row is committed, and no later frame overtakes it. What is
recorded in one turn of the event loop is stored as one unit of work.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from app.events import EventPayload
from app.harness.frames import Frame, FrameQueue
from app.harness.live_messages import LiveMessages
from app.ids import now_ms
from app.storage.unit_of_work import UnitOfWork

T = TypeVar("T")

GATHER_TURNS = 4
"""Turns of the event loop in which records are gathered for one unit: the result of a step's last
call and the start of the next step are that far apart. With nothing else to do, a turn takes
microseconds."""

RESERVATION = 10_000
"""How many sequence numbers one stored reservation covers."""

GLOBAL_TYPES = frozenset(
    {
        "session.state",
        "session.updated",
        "run.queued",
        "run.started",
        "run.ended",
        "checkpoint.created",
        "interaction.requested",
        "interaction.answered",
        "permission.requested",
        "permission.answered",
        "budget.warning",
        "workflow.started",
        "workflow.ended",
    }
)


class Store(Protocol):
    """The part of the storage that streams use."""

    def submit(self, work: Callable[[UnitOfWork], T], *, durable: bool = False) -> asyncio.Future[T]: ...

    async def read(self, work: Callable[[UnitOfWork], T]) -> T: ...


class _Pending:
    """Frames that wait for one commit (or for none)."""

    __slots__ = ("frames", "ready")

    def __init__(self, frames: Sequence[Frame], *, ready: bool) -> None:
        self.frames: Sequence[Frame] = frames
        self.ready = ready


class _Record:
    """One call of `record`: what it stores, and who waits for it."""

    __slots__ = ("durable", "future", "pending", "reserve", "rows", "work")

    def __init__(
        self,
        work: Callable[[UnitOfWork], Any] | None,
        rows: list[dict[str, Any]],
        pending: _Pending,
        future: asyncio.Future[Any],
        *,
        durable: bool,
        reserve: int | None,
    ) -> None:
        self.work = work
        self.rows = rows
        self.pending = pending
        self.future = future
        self.reserve = reserve
        # A number that a client has seen is never given out again, not even after a power failure.
        self.durable = durable or reserve is not None


class HeldPlace:
    """A place in a session's order for events that a unit of work decides on while it runs.

    `store` is called inside that unit; `SessionStream.settle` when it is over, whatever became of it."""

    def __init__(self, session_id: str, first_seq: int, room: int, pending: _Pending, reserve: int | None):
        self.session_id = session_id
        self.pending = pending
        self.reserve = reserve
        self.frames: Sequence[Frame] = ()
        self._first_seq = first_seq
        self._room = room

    def store(self, uow: UnitOfWork, events: Sequence[EventPayload], at: int) -> None:
        """Store the frames of so many events as there is room for, and the reservation that is due."""
        if len(events) > self._room:
            raise ValueError(f"{len(events)} events for {self._room} places")
        if self.reserve is not None:
            uow.sessions.update(self.session_id, seq_reserved=self.reserve)
        self.frames = tuple(
            Frame.make(seq, payload, session_id=self.session_id, created_at=at)
            for seq, payload in enumerate(events, self._first_seq)
        )
        uow.events.append([_row(frame) for frame in self.frames])


class SessionStream:
    """One session's events. All methods but the storage work run on the event loop."""

    def __init__(
        self,
        session_id: str,
        store: Store,
        publish_globally: Callable[[Frame], None],
        *,
        reserved: int,
        trimmed_through: int,
    ) -> None:
        self.session_id = session_id
        self.published_seq = reserved
        self.trimmed_through = trimmed_through
        self.live = LiveMessages()
        self.subscribers: set[FrameQueue] = set()
        self._store = store
        self._publish_globally = publish_globally
        self._next_seq = reserved + 1
        self._reserved = reserved
        self._stored_reservation = reserved
        self._outbox: deque[_Pending] = deque()
        self._batch: list[_Record] = []

    @property
    def quiet(self) -> bool:
        """True when nobody listens and nothing is under way."""
        return not self.subscribers and not self._outbox and not self.live.any()

    def record(
        self,
        events: Sequence[EventPayload],
        work: Callable[[UnitOfWork], T] | None = None,
        *,
        run_id: str | None = None,
        agent_path: str | None = None,
        parent_tool_call_id: str | None = None,
        durable: bool = False,
    ) -> asyncio.Future[T | None]:
        """Store `events` and whatever `work` stores in one unit, then publish the events.

        The future ends when all of it is committed; when it fails nothing of it is published.
        `durable` asks for a commit that survives a power failure."""
        at = now_ms()
        frames = [self._frame(payload, at, run_id, agent_path, parent_tool_call_id) for payload in events]
        rows = [_row(frame) for frame in frames if frame.durable]
        loop = asyncio.get_running_loop()
        pending = _Pending(frames, ready=False)
        future: asyncio.Future[T | None] = loop.create_future()
        self._outbox.append(pending)
        if not self._batch:
            self._flush_after(loop, GATHER_TURNS)
        reserve = self._due_reservation()
        self._batch.append(_Record(work, rows, pending, future, durable=durable, reserve=reserve))
        return future

    def hold(self, room: int) -> HeldPlace:
        """Keep places for up to `room` durable events of a unit of work; later frames wait until it is
        settled. Numbers that are not used are left out. What was recorded before is stored before it."""
        self._flush()
        first_seq = self._next_seq
        self._next_seq += room
        pending = _Pending((), ready=False)
        self._outbox.append(pending)
        return HeldPlace(self.session_id, first_seq, room, pending, self._due_reservation())

    def settle(self, held: HeldPlace, *, stored: bool) -> None:
        """Publish what the unit has stored, or nothing when it failed."""
        if stored:
            self._stored_reservation = max(self._stored_reservation, held.reserve or 0)
        elif held.reserve is not None:
            self._reserved = self._stored_reservation
        held.pending.frames = held.frames if stored else ()
        held.pending.ready = True
        self._publish_ready()

    def emit(
        self,
        payload: EventPayload,
        *,
        run_id: str | None = None,
        agent_path: str | None = None,
        parent_tool_call_id: str | None = None,
    ) -> None:
        """Publish a transient event: it has a `seq` and its place in the order, and no row."""
        if self._next_seq >= self._reserved:
            self.record(
                [payload], run_id=run_id, agent_path=agent_path, parent_tool_call_id=parent_tool_call_id
            )
            return
        frame = self._frame(payload, now_ms(), run_id, agent_path, parent_tool_call_id)
        if self._outbox:
            self._outbox.append(_Pending((frame,), ready=True))
        else:
            self._publish(frame)

    def _frame(
        self,
        payload: EventPayload,
        at: int,
        run_id: str | None,
        agent_path: str | None,
        parent_tool_call_id: str | None,
    ) -> Frame:
        frame = Frame.make(
            self._next_seq,
            payload,
            session_id=self.session_id,
            created_at=at,
            run_id=run_id,
            agent_path=agent_path,
            parent_tool_call_id=parent_tool_call_id,
        )
        self._next_seq += 1
        return frame

    def _due_reservation(self) -> int | None:
        """Return the next reservation when one is due; it is stored with the present record."""
        if self._next_seq + RESERVATION // 4 <= self._reserved:
            return None
        self._reserved = self._next_seq + RESERVATION
        return self._reserved

    def _flush_after(self, loop: asyncio.AbstractEventLoop, turns: int) -> None:
        """Submit the batch a few turns of the loop from now, without any wait in time."""
        if turns:
            loop.call_soon(self._flush_after, loop, turns - 1)
        else:
            self._flush()

    def _flush(self) -> None:
        """Submit what was recorded in the last turns of the loop as one unit."""
        batch, self._batch = self._batch, []
        if batch:
            self._submit(batch)

    def _submit(self, batch: list[_Record]) -> None:
        def unit(uow: UnitOfWork) -> list[Any]:
            reserve = max((record.reserve for record in batch if record.reserve is not None), default=None)
            if reserve is not None:
                uow.sessions.update(self.session_id, seq_reserved=reserve)
            results = [record.work(uow) if record.work is not None else None for record in batch]
            uow.events.append([row for record in batch for row in record.rows])
            return results

        try:
            submitted = self._store.submit(unit, durable=any(record.durable for record in batch))
        except Exception as refusal:  # noqa: BLE001 - the storage is closed: whoever waits is told
            self._failed(batch, refusal)
            return
        submitted.add_done_callback(lambda done: self._submitted(batch, done))

    def _submitted(self, batch: list[_Record], done: asyncio.Future[list[Any]]) -> None:
        error = None if done.cancelled() else done.exception()
        if error is not None and len(batch) > 1:
            reserve = max((record.reserve for record in batch if record.reserve is not None), default=None)
            for record in batch:  # one of them is at fault; each is tried on its own
                record.reserve = reserve  # whichever is stored must store the reservation too
                self._submit([record])
            return
        if error is not None or done.cancelled():
            self._failed(batch, error or asyncio.CancelledError())
            return
        for record, result in zip(batch, done.result(), strict=True):
            self._stored_reservation = max(self._stored_reservation, record.reserve or 0)
            record.pending.ready = True
            if not record.future.done():
                record.future.set_result(result)
        self._publish_ready()

    def _failed(self, batch: list[_Record], error: BaseException) -> None:
        for record in batch:
            if record.reserve is not None:
                # Not stored: the next record asks for it again.
                self._reserved = self._stored_reservation
            record.pending.frames = ()
            record.pending.ready = True
            if not record.future.done():
                record.future.set_exception(error)
        self._publish_ready()

    def _publish_ready(self) -> None:
        while self._outbox and self._outbox[0].ready:
            for frame in self._outbox.popleft().frames:
                self._publish(frame)

    def _publish(self, frame: Frame) -> None:
        if not frame.durable and frame.seq > self._stored_reservation:
            return  # storing the reservation failed: a restart would give this number out again
        self.published_seq = frame.seq
        self.live.observe(frame)
        for queue in self.subscribers:
            queue.push(frame)
        if frame.type in GLOBAL_TYPES:
            self._publish_globally(frame)


def _row(frame: Frame) -> dict[str, Any]:
    return {
        "session_id": frame.session_id,
        "seq": frame.seq,
        "type": frame.type,
        "created_at": frame.created_at,
        "frame": frame.text.encode(),
    }
