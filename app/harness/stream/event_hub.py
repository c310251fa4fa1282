"""The event hub: every session's stream, and who is listening.

Owns: opening and forgetting streams, subscriptions, the listeners of all sessions. Never: the order of one
session's frames (`session_stream`), or what an event means.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection

from app.errors import NotFound
from app.events.sessions import SessionCreated
from app.events.union import Heartbeat
from app.harness.stream.followed import FollowedSessions
from app.harness.stream.frames import Frame, FrameQueue, HubClosed, SessionDeleted
from app.harness.stream.session_stream import SessionStream
from app.harness.stream.stream_records import StoredBeside
from app.harness.stream.subscription import (
    GlobalSubscription,
    ReplayPage,
    Source,
    Subscription,
    replay_page,
)
from app.ids import now_ms
from app.storage.models import Event
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage

log = logging.getLogger("kaged.storage")

MAX_CACHED_STREAMS = 1_000
RETRY_SECONDS = 1.0


class StorageDebts:
    """The streams with something to store that an outage kept from being stored."""

    def __init__(self) -> None:
        self._streams: dict[SessionStream, None] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, stream: SessionStream) -> None:
        """Have a stream pay what it owes as soon as the storage works again."""
        self._streams[stream] = None
        if self._task is None or self._task.done():
            log.error("the storage is unavailable; unsaved changes of sessions are kept and stored later")
            self._task = asyncio.create_task(self._retry(), name="storage debts")

    def close(self) -> None:
        """Try no more: the daemon stops, and the next start puts right what is not stored."""
        if self._task is not None:
            self._task.cancel()

    async def _retry(self) -> None:
        while self._streams:
            await asyncio.sleep(RETRY_SECONDS)
            for stream in list(self._streams):
                if stream.owes and not await stream.pay():
                    break
                self._streams.pop(stream, None)
        log.warning("the storage is available again; the unsaved changes of sessions are stored")


class EventHub:
    """All sessions' streams, and those who listen to all sessions."""

    def __init__(self, store: Storage, beside: StoredBeside | None = None) -> None:
        """`beside` stores what follows from events of any session in the unit that stores them."""
        self.store = store
        self._beside = beside
        self._streams: OrderedDict[str, SessionStream] = OrderedDict()
        # Also those that were let go of while a session still holds them: two streams of one
        # session would give out the same numbers and have different listeners.
        self._alive: weakref.WeakValueDictionary[str, SessionStream] = weakref.WeakValueDictionary()
        self._opening: dict[str, asyncio.Lock] = {}
        self._global: set[GlobalSubscription] = set()
        self._listeners: list[tuple[Callable[[Frame], None], Callable[[str], None]]] = []
        self._closed = False
        self._debts = StorageDebts()
        self.followed: FollowedSessions | None = None
        """The sessions of other daemons, where several share the database."""

    def follow_others(self, owned: Callable[[], Collection[str]]) -> None:
        """Begin to follow the sessions of projects that other daemons own; `owned` are this one's."""
        self.followed = FollowedSessions(self.store, owned, self._publish_stored, lambda: bool(self._global))
        self.followed.start()

    def take_over(self, project_id: str) -> None:
        """Send away who follows a project that this daemon owns from now on."""
        if self.followed is not None:
            self.followed.take_over(project_id)

    async def stream(self, session_id: str) -> SessionStream:
        """Return the session's stream; raise `NotFound` when there is no such session."""
        found = self._streams.get(session_id)
        if found is not None:
            self._streams.move_to_end(session_id)
            return found
        lock = self._opening.setdefault(session_id, asyncio.Lock())
        try:
            async with lock:
                found = self._alive.get(session_id)
                if found is None:
                    # Who comes after a failure has a lock of its own: the first stream counts.
                    found = self._alive.setdefault(session_id, await self._open(session_id))
                self._streams[session_id] = found
        finally:
            self._opening.pop(session_id, None)
        self._evict()
        return found

    async def subscribe(self, session_id: str, after_seq: int, *, all_snapshots: bool = False) -> Source:
        """Listen to one session: everything durable after `after_seq`, then what comes.

        A message in flight has a snapshot when the client has missed deltas of it. With
        `all_snapshots`, for a client that has none of the deltas, each message in flight has one.
        Listening starts before this returns; close the subscription when done. Raises
        `NotFound`, and `HubClosed` when the daemon is stopping."""
        if self._closed:
            raise HubClosed
        if self.followed is not None:
            followed = await self.followed.subscribe(session_id, after_seq)
            if followed is not None:
                return followed
        stream = await self.stream(session_id)
        if self._closed:  # meanwhile
            raise HubClosed
        queue = FrameQueue()
        stream.subscribers.add(queue)
        published, trimmed = stream.published_seq, stream.trimmed_through
        reads_again = not trimmed <= after_seq <= published
        snapshots = stream.live.all if all_snapshots or reads_again else stream.live.missed
        return Subscription(
            queue=queue,
            session_id=session_id,
            after_seq=after_seq,
            through_seq=published,
            trimmed_through=trimmed,
            snapshots=snapshots(session_id, max(trimmed, min(after_seq, published))),
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

    def listen(self, deliver: Callable[[Frame], None], gone: Callable[[str], None]) -> None:
        """Let a service of the daemon hear, for good, the events of all sessions once they are stored, and
        the ids of sessions that are deleted. Both are called on the loop and must not raise."""
        self._listeners.append((deliver, gone))

    def is_followed(self, session_id: str) -> bool:
        """Tell whether a socket follows this very session."""
        stream = self._alive.get(session_id)
        return stream is not None and bool(stream.subscribers)

    @property
    def subscribers(self) -> int:
        """How many sockets listen, to one session or to all."""
        followers = self.followed.subscribers if self.followed is not None else 0
        own = sum(len(stream.subscribers) for stream in self._streams.values())
        return len(self._global) + own + followers

    def publish_globally(self, frame: Frame) -> None:
        for subscription in self._global:
            subscription.push(frame)
        for deliver, _ in self._listeners:
            deliver(frame)

    def announce(self, session: SessionRow) -> None:
        """Tell who listens to all sessions that a new one is stored."""
        payload = SessionCreated(project_id=session.project_id, title=session.title)
        self.publish_globally(Frame.make(0, payload, session_id=session.id, created_at=now_ms()))

    def heartbeat(self) -> None:
        """Send every subscriber the sign that the daemon is alive."""
        for stream in self._streams.values():
            if stream.subscribers:
                stream.emit(Heartbeat())
        for subscription in self._global:
            subscription.heartbeat()
        if self.followed is not None:
            self.followed.heartbeat()

    async def refresh_trim_points(self) -> None:
        """Learn from the storage how far each open stream's log has been trimmed."""
        for session_id, stream in list(self._alive.items()):
            row = await self.store.read(lambda uow, key=session_id: uow.sessions.get(key))  # type: ignore[misc]
            if row is not None:
                stream.trimmed_through = row.trimmed_through_seq

    def forget(self, session_id: str) -> None:
        """Drop the stream of a deleted session and send its subscribers away."""
        self._streams.pop(session_id, None)
        stream = self._alive.pop(session_id, None)
        for queue in list(stream.subscribers) if stream is not None else ():
            queue.fail(SessionDeleted())
        for _, gone in self._listeners:
            gone(session_id)

    def close(self) -> None:
        """Send every subscriber away; they come back with `after_seq` after the restart."""
        self._closed = True
        self._debts.close()
        for stream in self._streams.values():
            for queue in list(stream.subscribers):
                queue.fail(HubClosed())
        for subscription in list(self._global):
            subscription.fail(HubClosed())
        if self.followed is not None:
            self.followed.close()

    def _publish_stored(self, event: Event) -> None:
        for subscription in self._global:
            subscription.push_stored(event)

    async def _open(self, session_id: str) -> SessionStream:
        row, last_seq = await self.store.read(
            lambda uow: (uow.sessions.get(session_id), uow.events.last_seq(session_id))
        )
        if row is None:
            raise NotFound(f"There is no session {session_id}.")
        return SessionStream(
            session_id,
            self.store,
            self.publish_globally,
            reserved=max(row.seq_reserved, last_seq),
            trimmed_through=row.trimmed_through_seq,
            in_debt=self._debts.add,
            beside=self._beside,
        )

    async def _read_page(self, session_id: str, after: int, through: int) -> ReplayPage:
        return await self.store.read(lambda uow: replay_page(uow, session_id, after, through))

    def _evict(self) -> None:
        if len(self._streams) <= MAX_CACHED_STREAMS:
            return
        for session_id, stream in list(self._streams.items())[: len(self._streams) - MAX_CACHED_STREAMS]:
            if stream.quiet:
                del self._streams[session_id]
