"""The events of sessions whose project another daemon owns, read from the database that they share.

Owns: subscriptions that follow the stored rows, waking them, and ending them when this daemon takes the
project over. Never: who owns what (`daemon/ownership`), or frames that are not stored, such as the words of
a message that is not complete: only the owner has these.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass, field
from functools import partial

from app.errors import NotFound, StorageError
from app.events.union import EVENT_TYPES, Heartbeat, Sync
from app.harness.stream.frames import Failure, HubClosed, SessionDeleted
from app.harness.stream.subscription import PAGE, PAGE_BYTES, Entry, channel_of, entry, resync
from app.storage.models import Event
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

POLL_SECONDS = 2.0
"""How often a subscriber looks at the rows without having been notified."""
NOTICE_PAUSE_SECONDS = 0.1
"""Between two looks at the sessions of all other daemons."""
_END = 2**62
_OF_ALL = frozenset(event.TYPE for event in EVENT_TYPES if event.GLOBAL)


@dataclass(frozen=True, slots=True)
class StoredEvents:
    """Events of a session after a number, as many as fit into a page. Numbers up to `highest` may have been
    given out."""

    rows: list[Event]
    trimmed_through: int
    highest: int


def stored_events(uow: UnitOfWork, session_id: str, after: int) -> StoredEvents | None:
    """Return what is stored after a number; None when there is no such session."""
    session = uow.sessions.get(session_id)
    if session is None:
        return None
    until = uow.events.fitting_through(session_id, after, _END, limit=PAGE, max_bytes=PAGE_BYTES)
    rows = uow.events.after(session_id, after, until, PAGE)
    last = rows[-1].seq if rows else 0
    return StoredEvents(rows, session.trimmed_through_seq, max(session.seq_reserved, last))


class FollowedSubscription:
    """Iterate `batches()` once: lists of `(seq, channel, text)` in order. Then `close()`."""

    def __init__(
        self,
        storage: Storage,
        session_id: str,
        project_id: str,
        after_seq: int,
        leave: Callable[[FollowedSubscription], None],
    ) -> None:
        self.project_id = project_id
        self._storage, self._session_id, self._after = storage, session_id, after_seq
        self._leave = leave
        self._news = asyncio.Event()
        self._beats = False
        self._failure: Failure | None = None

    def wake(self) -> None:
        """Look at the rows now."""
        self._news.set()

    def heartbeat(self) -> None:
        self._beats = True
        self._news.set()

    def fail(self, failure: Failure) -> None:
        """End the subscription: the subscriber gets `failure` next."""
        self._failure = self._failure or failure
        self._news.set()

    def close(self) -> None:
        """Stop following; safe to call twice."""
        self._leave(self)

    async def batches(self) -> AsyncIterator[list[Entry]]:
        """Yield lists of `(seq, channel, text)`, `sync` first. Raises a `Failure` at the end, `StorageError`
        when the database cannot be read. A heartbeat bears the number of the event before it."""
        found = await self._read()
        highest = max(found.highest, found.trimmed_through)
        opening = []
        if self._after < found.trimmed_through or self._after > highest:
            self._after = found.trimmed_through if self._after < found.trimmed_through else highest
            opening.append(resync(self._session_id, self._after))
        through = max(self._after, found.rows[-1].seq if found.rows else 0)
        sync = Sync(from_seq=self._after + 1, through_seq=through)
        opening.append(entry(self._session_id, self._after, sync))
        yield opening
        while True:
            self._news.clear()
            found = await self._read()
            if found.trimmed_through > self._after:
                self._after = found.trimmed_through
                yield [resync(self._session_id, self._after)]
            elif found.rows:
                self._after = found.rows[-1].seq
                yield [(row.seq, channel_of(row.type), row.frame.decode()) for row in found.rows]
            else:
                await self._wait()
                if self._beats:
                    self._beats = False
                    yield [entry(self._session_id, self._after, Heartbeat())]

    async def _read(self) -> StoredEvents:
        if self._failure is not None:
            raise self._failure
        session_id, after = self._session_id, self._after
        found = await self._storage.read(lambda uow: stored_events(uow, session_id, after))
        if found is None:
            raise SessionDeleted
        return found

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(POLL_SECONDS):
                await self._news.wait()
        except TimeoutError:
            return


@dataclass(slots=True)
class FollowedSessions:
    """Who follows sessions of other daemons. `owned` are the projects of this one, `publish` sends a stored
    event to those who listen to all sessions, and `listened` tells whether there is anybody."""

    storage: Storage
    owned: Callable[[], Collection[str]]
    publish: Callable[[Event], None]
    listened: Callable[[], bool]
    _subscriptions: set[FollowedSubscription] = field(default_factory=set)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._follow_all(), name="followed sessions")

    def close(self) -> None:
        """Send every subscriber away; they come back with `after_seq`."""
        for subscription in list(self._subscriptions):
            subscription.fail(HubClosed())
        if self._task is not None:
            self._task.cancel()

    @property
    def subscribers(self) -> int:
        return len(self._subscriptions)

    async def subscribe(self, session_id: str, after_seq: int) -> FollowedSubscription | None:
        """Follow a session; None when this daemon owns its project. Raises `NotFound`."""
        row = await self.storage.read(lambda uow: uow.sessions.get(session_id))
        if row is None:
            raise NotFound(f"There is no session {session_id}.")
        if row.project_id in self.owned():
            return None
        made = FollowedSubscription(
            self.storage, session_id, row.project_id, after_seq, self._subscriptions.discard
        )
        self._subscriptions.add(made)
        return made

    def take_over(self, project_id: str) -> None:
        """Send away who follows a project that this daemon owns now: its own stream says more."""
        for subscription in list(self._subscriptions):
            if subscription.project_id == project_id:
                subscription.fail(HubClosed())

    def notice(self, text: str) -> None:
        """Wake who follows the projects that a notice names; `*` stands for all."""
        named = {part.partition(" ")[0] for part in text.split(",")}
        for subscription in self._subscriptions:
            if "*" in named or subscription.project_id in named:
                subscription.wake()
        self._news.set()

    def heartbeat(self) -> None:
        for subscription in self._subscriptions:
            subscription.heartbeat()

    async def _follow_all(self) -> None:
        """Publish what concerns those who listen to all sessions, while there is somebody."""
        seen: dict[str, int] | None = None
        while True:
            if not self.listened():
                seen = None
            else:
                seen = await self._publish_since(seen)
            await asyncio.sleep(NOTICE_PAUSE_SECONDS)
            try:
                async with asyncio.timeout(POLL_SECONDS):
                    await self._news.wait()
            except TimeoutError:
                pass
            self._news.clear()

    async def _publish_since(self, seen: dict[str, int] | None) -> dict[str, int] | None:
        """Publish the events after those that were seen; return what is seen now."""
        owned = self.owned()
        try:
            last = await self.storage.read(lambda uow: uow.events.last_seqs(except_projects=owned))
            for session_id, highest in last.items() if seen is not None else ():
                await self._publish_session(session_id, (seen or {}).get(session_id, 0), highest)
        except StorageError:
            return seen  # and again with the next poll
        return last

    async def _publish_session(self, session_id: str, after: int, through: int) -> None:
        while after < through:
            page = await self.storage.read(partial(_after, session_id, after, through))
            for row in page:
                if row.type in _OF_ALL:
                    self.publish(row)
            after = page[-1].seq if len(page) == PAGE else through


def _after(session_id: str, after: int, through: int, uow: UnitOfWork) -> list[Event]:
    return uow.events.after(session_id, after, through, PAGE)
