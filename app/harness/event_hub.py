"""The event hub: sequence numbers, persist-then-publish, and who is listening.

Owns: the per-session `seq`, the order of frames, replay after `after_seq`, the state of messages
in flight for those who join late. Never: what an event means. Proven by
`tests/harness/test_event_hub.py`.

`seq` is the same for every subscriber, strictly increasing, and survives a restart: numbers are
given out only below a stored reservation, and a restarted daemon continues above it. A durable
frame is published only after its row is committed, and no later frame overtakes it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from app.errors import NotFound
from app.events import EventPayload, Heartbeat
from app.harness.frames import Frame, FrameQueue, HubClosed
from app.harness.live_messages import LiveMessages
from app.harness.subscription import GlobalSubscription, Subscription
from app.ids import now_ms
from app.storage.models import Event
from app.storage.unit_of_work import UnitOfWork

T = TypeVar("T")

RESERVATION = 10_000
"""How many sequence numbers one stored reservation covers."""

MAX_CACHED_STREAMS = 1_000

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
    }
)


class Store(Protocol):
    """The part of the storage that the hub uses."""

    def submit(self, work: Callable[[UnitOfWork], T], *, durable: bool = False) -> asyncio.Future[T]: ...

    async def read(self, work: Callable[[UnitOfWork], T]) -> T: ...


class _Pending:
    """Frames that wait for one commit (or for none)."""

    __slots__ = ("frames", "ready")

    def __init__(self, frames: Sequence[Frame], *, ready: bool) -> None:
        self.frames: Sequence[Frame] = frames
        self.ready = ready


class SessionStream:
    """One session's events. All methods but the storage work run on the event loop."""

    def __init__(self, hub: EventHub, session_id: str, *, reserved: int, trimmed_through: int) -> None:
        self.session_id = session_id
        self.published_seq = reserved
        self.trimmed_through = trimmed_through
        self.live = LiveMessages()
        self.subscribers: set[FrameQueue] = set()
        self._hub = hub
        self._next_seq = reserved + 1
        self._reserved = reserved
        self._outbox: deque[_Pending] = deque()

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
        frames = []
        for payload in events:
            frames.append(
                Frame.make(
                    self._next_seq,
                    payload,
                    session_id=self.session_id,
                    created_at=at,
                    run_id=run_id,
                    agent_path=agent_path,
                    parent_tool_call_id=parent_tool_call_id,
                )
            )
            self._next_seq += 1
        reserve = self._extend_reservation()
        rows = [
            Event(session_id=self.session_id, seq=f.seq, type=f.type, created_at=at, frame=f.text.encode())
            for f in frames
            if f.durable
        ]
        session_id = self.session_id

        def unit(uow: UnitOfWork) -> T | None:
            if reserve is not None:
                uow.sessions.update(session_id, seq_reserved=reserve)
            result = work(uow) if work is not None else None
            if rows:
                uow.events.add_many(rows)
            return result

        pending = _Pending(frames, ready=False)
        self._outbox.append(pending)
        future = self._hub.store.submit(unit, durable=durable)
        future.add_done_callback(lambda done: self._committed(pending, done))
        return future

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
        frame = Frame.make(
            self._next_seq,
            payload,
            session_id=self.session_id,
            created_at=now_ms(),
            run_id=run_id,
            agent_path=agent_path,
            parent_tool_call_id=parent_tool_call_id,
        )
        self._next_seq += 1
        if self._outbox:
            self._outbox.append(_Pending((frame,), ready=True))
        else:
            self._publish(frame)

    def _extend_reservation(self) -> int | None:
        if self._next_seq + RESERVATION // 4 <= self._reserved:
            return None
        self._reserved = self._next_seq + RESERVATION
        return self._reserved

    def _committed(self, pending: _Pending, done: asyncio.Future[Any]) -> None:
        if done.cancelled() or done.exception() is not None:
            pending.frames = ()
        pending.ready = True
        while self._outbox and self._outbox[0].ready:
            for frame in self._outbox.popleft().frames:
                self._publish(frame)

    def _publish(self, frame: Frame) -> None:
        self.published_seq = frame.seq
        self.live.observe(frame)
        for queue in self.subscribers:
            queue.push(frame)
        if frame.type in GLOBAL_TYPES:
            self._hub.publish_globally(frame)


class EventHub:
    """All sessions' streams, and those who listen to all sessions."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._streams: OrderedDict[str, SessionStream] = OrderedDict()
        self._opening: dict[str, asyncio.Lock] = {}
        self._global: set[GlobalSubscription] = set()
        self._closed = False

    async def stream(self, session_id: str) -> SessionStream:
        """Return the session's stream; raise `NotFound` when there is no such session."""
        found = self._streams.get(session_id)
        if found is not None:
            self._streams.move_to_end(session_id)
            return found
        lock = self._opening.setdefault(session_id, asyncio.Lock())
        async with lock:
            found = self._streams.get(session_id)
            if found is None:
                found = await self._open(session_id)
                self._streams[session_id] = found
        self._opening.pop(session_id, None)
        self._evict()
        return found

    async def subscribe(self, session_id: str, after_seq: int) -> Subscription:
        """Listen to one session: everything durable after `after_seq`, then what comes.

        Listening starts before this returns; close the subscription when done. Raises
        `NotFound`, and `HubClosed` when the daemon is stopping."""
        if self._closed:
            raise HubClosed
        stream = await self.stream(session_id)
        queue = FrameQueue()
        stream.subscribers.add(queue)
        return Subscription(
            queue=queue,
            session_id=session_id,
            after_seq=after_seq,
            through_seq=stream.published_seq,
            trimmed_through=stream.trimmed_through,
            snapshots=stream.live.snapshots(session_id, after_seq),
            read_page=self._read_page,
            leave=lambda: stream.subscribers.discard(queue),
        )

    def subscribe_all(self) -> GlobalSubscription:
        """Listen to the state changes of all sessions, from now on."""
        if self._closed:
            raise HubClosed
        subscription = GlobalSubscription(leave=self._global.discard)
        self._global.add(subscription)
        return subscription

    def publish_globally(self, frame: Frame) -> None:
        for subscription in self._global:
            subscription.push(frame)

    def heartbeat(self) -> None:
        """Tell every session that has a subscriber that the daemon is alive."""
        for stream in self._streams.values():
            if stream.subscribers:
                stream.emit(Heartbeat())
        for subscription in self._global:
            subscription.heartbeat()

    async def refresh_trim_points(self) -> None:
        """Learn from the storage how far each open stream's log has been trimmed."""
        for session_id, stream in list(self._streams.items()):
            row = await self.store.read(lambda uow, key=session_id: uow.sessions.get(key))  # type: ignore[misc]
            if row is not None:
                stream.trimmed_through = row.trimmed_through_seq

    def forget(self, session_id: str) -> None:
        """Drop the stream of a deleted session and send its subscribers away."""
        stream = self._streams.pop(session_id, None)
        for queue in list(stream.subscribers) if stream is not None else ():
            queue.fail(HubClosed())

    def close(self) -> None:
        """Send every subscriber away; they come back with `after_seq` after the restart."""
        self._closed = True
        for stream in self._streams.values():
            for queue in list(stream.subscribers):
                queue.fail(HubClosed())
        for subscription in list(self._global):
            subscription.fail(HubClosed())

    async def _open(self, session_id: str) -> SessionStream:
        row = await self.store.read(lambda uow: uow.sessions.get(session_id))
        if row is None:
            raise NotFound(f"There is no session {session_id}.")
        return SessionStream(
            self, session_id, reserved=row.seq_reserved, trimmed_through=row.trimmed_through_seq
        )

    async def _read_page(self, session_id: str, after: int, through: int, limit: int) -> list[Event]:
        return await self.store.read(lambda uow: uow.events.after(session_id, after, through, limit))

    def _evict(self) -> None:
        if len(self._streams) <= MAX_CACHED_STREAMS:
            return
        for session_id, stream in list(self._streams.items())[: len(self._streams) - MAX_CACHED_STREAMS]:
            if stream.quiet:
                del self._streams[session_id]
