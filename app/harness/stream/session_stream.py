"""One session's events: numbers, persist-then-publish, one order for everybody.

Owns: the session's `seq`, its outbox, the state of messages in flight. Never: who listens to what
(`event_hub`), or what an event means.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from app.errors import Conflict, StorageError, StorageOutage
from app.events.payload import NO_ORIGIN, EventPayload, Origin
from app.harness.stream.frames import Frame, FrameQueue
from app.harness.stream.live_messages import LiveMessages
from app.harness.stream.stream_records import HeldPlace, Numbers, Pending, Record, StoredBeside, row_of
from app.ids import now_ms
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from app.storage.writer import Divided, Lane, Outcome

log = logging.getLogger("kaged.session")

T = TypeVar("T")

GATHER_TURNS = 4
"""Turns of the event loop in which records are gathered for one unit: the result of a step's last
call and the start of the next step are that far apart. With nothing else to do, a turn takes
microseconds."""


@dataclass(frozen=True, slots=True)
class Outlets:
    """What a stream is connected to. `publish_globally` gets each frame, `in_debt` retries failed storage,
    and `beside` stores rows with its events."""

    publish_globally: Callable[[Frame], None]
    in_debt: Callable[[SessionStream], None]
    beside: StoredBeside | None


class SessionStream:
    """One session's events. All methods but the storage work run on the event loop.

    Numbers are given out below a stored reservation, so that a restarted daemon continues above them. A
    durable frame is published after its row is committed, and no later frame overtakes it. What is recorded
    in one turn of the event loop is one unit of work. What an outage of the storage kept from being stored is
    stored, in its order, before anything after it."""

    def __init__(
        self,
        session_id: str,
        store: Storage,
        publish_globally: Callable[[Frame], None],
        *,
        reserved: int,
        trimmed_through: int,
        in_debt: Callable[[SessionStream], None] = lambda stream: None,
        beside: StoredBeside | None = None,
    ) -> None:
        self.session_id = session_id
        self.published_seq = reserved
        self.trimmed_through = trimmed_through
        self.live = LiveMessages()
        self.subscribers: set[FrameQueue] = set()
        self._store = store
        self._numbers = Numbers(reserved)
        self._outbox: deque[Pending] = deque()
        self._batch: list[Record] = []
        self._outlets = Outlets(publish_globally, in_debt, beside)
        self._owed: list[Record] = []
        self._debt = 0
        self._lane = Lane()
        self._lane_closed = False

    @property
    def owes(self) -> bool:
        """True while something that is to be kept is not stored, because of an outage."""
        return self._debt > 0

    @property
    def quiet(self) -> bool:
        """True when nobody listens and nothing is under way."""
        return not self.subscribers and not self._outbox and not self.live.any()

    def record(
        self,
        events: Sequence[EventPayload],
        statements: Callable[[UnitOfWork], T] | None = None,
        *,
        origin: Origin = NO_ORIGIN,
        durable: bool = False,
        kept: bool = False,
    ) -> asyncio.Future[T | None]:
        """Store `events` and whatever `statements` store in one unit, then publish the events.

        The future ends when all of it is committed; when it fails nothing of it is published. Of what is
        `kept` an outage of the storage is raised in the future as well, and it is stored and published
        when the outage is over; later frames wait for it. `statements` may run more than once.
        `durable` asks for a commit that survives a power failure."""
        at = now_ms()
        frames = [self._frame(payload, at, origin) for payload in events]
        rows = [row_of(frame) for frame in frames if frame.durable]
        loop = asyncio.get_running_loop()
        pending = Pending(frames, ready=False)
        future: asyncio.Future[T | None] = loop.create_future()
        future.add_done_callback(_seen)
        self._outbox.append(pending)
        if not self._batch:
            self._flush_after(loop, GATHER_TURNS)
        reserve = self._numbers.due()
        record = Record(statements, rows, pending, future, durable=durable, kept=kept, reserve=reserve)
        self._batch.append(record)
        return future

    async def pay(self) -> bool:
        """Try to store what is owed; return whether nothing is owed any more."""
        self._flush()
        self._submit_owed()
        try:
            # Behind what is owed, in the same lane: when this is done, that was tried.
            await self._store.submit(lambda uow: None, lane=self._lane)
        except StorageError:
            return False
        return not self.owes

    def hold(self, room: int) -> HeldPlace:
        """Keep places for up to `room` durable events of a unit of work; later frames wait until it is
        settled. Numbers that are not used are left out. What was recorded before is stored before it."""
        self._flush()
        self._submit_owed()
        first_seq = self._numbers.take(room)
        pending = Pending((), ready=False)
        self._outbox.append(pending)
        return HeldPlace(self.session_id, first_seq, room, pending, self._numbers.due())

    def settle(self, held: HeldPlace, *, stored: bool) -> None:
        """Publish what the unit has stored, or nothing when it failed."""
        if stored:
            self._numbers.stored(held.reserve)
        else:
            self._numbers.failed(held.reserve)
        held.pending.frames = held.frames if stored else ()
        held.pending.ready = True
        self._publish_ready()

    def emit(self, payload: EventPayload, *, origin: Origin = NO_ORIGIN) -> None:
        """Publish a transient event: it has a `seq` and its place in the order, and no row."""
        if self._numbers.used_up:
            self.record([payload], origin=origin)
            return
        frame = self._frame(payload, now_ms(), origin)
        if self._outbox:
            self._outbox.append(Pending((frame,), ready=True))
        else:
            self._publish(frame)

    def _frame(self, payload: EventPayload, at: int, origin: Origin) -> Frame:
        return Frame.make(
            self._numbers.take(), payload, session_id=self.session_id, created_at=at, origin=origin
        )

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
            self._submit_owed()
            self._submit(batch)

    def _submit_owed(self) -> None:
        owed, self._owed = self._owed, []
        if owed:
            self._submit(owed)

    def _submit(self, batch: list[Record]) -> None:
        # Whichever is stored must store the reservation too.
        reserve = max((record.reserve for record in batch if record.reserve is not None), default=None)

        def store(uow: UnitOfWork, records: Sequence[Record]) -> list[Any]:
            if reserve is not None:
                uow.sessions.update(self.session_id, seq_reserved=reserve)
            results = [
                record.statements(uow) if record.statements is not None else None for record in records
            ]
            uow.events.append([row for record in records for row in record.rows])
            if self._outlets.beside is not None:
                self._outlets.beside(uow, [frame for record in records for frame in record.pending.frames])
            return results

        durable, reopens = any(record.durable for record in batch), self._lane_closed
        self._lane_closed = False
        parts = [lambda uow, one=record: store(uow, [one])[0] for record in batch] if len(batch) > 1 else []
        try:
            submitted = self._store.submit(
                lambda uow: store(uow, batch), durable=durable, lane=self._lane, reopens=reopens, parts=parts
            )
        except Exception as refusal:  # noqa: BLE001 - the storage is closed: every waiter gets the error
            self._failed(batch, refusal)
            return
        submitted.add_done_callback(lambda done: self._submitted(batch, reserve, done))

    def _submitted(self, batch: list[Record], reserve: int | None, done: asyncio.Future[list[Any]]) -> None:
        error = None if done.cancelled() else done.exception()
        if isinstance(error, Divided):
            # First: what is published between a refused record and a stored one needs the reservation.
            self._numbers.stored(reserve if any(one.error is None for one in error.outcomes) else None)
            for record, outcome in zip(batch, error.outcomes, strict=True):
                record.reserve = reserve
                self._ended(record, outcome)
        elif isinstance(error, StorageOutage):
            self._met_outage(batch, error)
        elif error is not None or done.cancelled():
            for record in batch:
                self._ended(record, Outcome(None, error or asyncio.CancelledError()))
        else:
            self._stored(batch, done.result())

    def _ended(self, record: Record, outcome: Outcome) -> None:
        if outcome.error is None:
            self._stored([record], [outcome.result])
        elif isinstance(outcome.error, StorageOutage):
            self._met_outage([record], outcome.error)
        elif record.owed and not isinstance(outcome.error, asyncio.CancelledError):
            self._settle_owed(record, outcome.error)
        else:
            self._failed([record], outcome.error)

    def _stored(self, batch: Sequence[Record], results: Sequence[Any]) -> None:
        for record, result in zip(batch, results, strict=True):
            self._numbers.stored(record.reserve)
            self._debt -= record.owed
            record.pending.ready = True
            if not record.future.done():
                record.future.set_result(result)
        self._publish_ready()

    def _met_outage(self, batch: list[Record], error: StorageOutage) -> None:
        """Keep what is to be kept until the storage works again; nothing overtakes it."""
        self._lane_closed = True
        self._failed([record for record in batch if not record.kept], error)
        for record in batch:
            if record.kept:
                self._debt += not record.owed
                record.owed = True
                self._owed.append(record)
                if not record.future.done():
                    record.future.set_exception(error)
        if self._owed:
            self._outlets.in_debt(self)

    def _settle_owed(self, record: Record, error: BaseException) -> None:
        """End a record that was owed and that the storage refuses now that it works."""
        if isinstance(error, Conflict) and error.details.get("reason") == "duplicate":
            self._stored([record], [None])  # its commit had worked; only the answer was lost
            return
        log.error("something of session %s could not be stored: %s", self.session_id, error)
        self._failed([record], error)

    def _failed(self, batch: Sequence[Record], error: BaseException) -> None:
        if not isinstance(error, StorageOutage | asyncio.CancelledError):
            log.warning("something of session %s could not be stored: %s", self.session_id, error)
        for record in batch:
            self._debt -= record.owed
            self._numbers.failed(record.reserve)
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
        if not frame.durable and not self._numbers.covers(frame.seq):
            return  # storing the reservation failed: a restart would give this number out again
        self.published_seq = frame.seq
        self.live.observe(frame)
        for queue in self.subscribers:
            queue.push(frame)
        if frame.payload.GLOBAL:
            self._outlets.publish_globally(frame)


def _seen(done: asyncio.Future[Any]) -> None:
    """Take note of a failure that perhaps nobody waits for; it is logged already."""
    if not done.cancelled():
        done.exception()
