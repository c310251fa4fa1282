"""One client's view of a session's events: replay first, then live, in one order.

Owns: paging through stored frames, placing snapshots among them, skipping what the replay has
already delivered. Never: sockets.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from app.events.payload import Origin
from app.events.union import EVENT_TYPES, Heartbeat, Resync, Sync
from app.harness.stream.frames import Failure, Frame, FrameQueue
from app.ids import now_ms
from app.storage.models import Event
from app.storage.unit_of_work import UnitOfWork

PAGE = 500
PAGE_BYTES = 4 * 1024 * 1024
"""A page ends earlier at so many bytes; one frame that is larger has a page of its own."""

Entry = tuple[int, str, str]
"""The `seq`, the channel and the text of one frame."""


class Source(Protocol):
    """What a client's frames come from, in order."""

    def batches(self) -> AsyncIterator[list[Entry]]: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ReplayPage:
    """Stored frames up to `last`. What was up to `trimmed_through` is not stored any more."""

    rows: list[Event]
    last: int
    trimmed_through: int


ReadPage = Callable[[str, int, int], Awaitable[ReplayPage]]


def replay_page(uow: UnitOfWork, session_id: str, after: int, through: int) -> ReplayPage:
    """Return the next frames with after < seq <= through, as many as fit into a page."""
    session = uow.sessions.get(session_id)
    trimmed = session.trimmed_through_seq if session is not None else 0
    until = uow.events.fitting_through(session_id, after, through, limit=PAGE, max_bytes=PAGE_BYTES)
    rows = uow.events.after(session_id, after, until, PAGE)
    return ReplayPage(rows, last=rows[-1].seq if len(rows) == PAGE else until, trimmed_through=trimmed)


def resync(session_id: str, after: int) -> Entry:
    """Return the frame that sends the client to the session itself, and on from `after`."""
    snapshot = f"/api/v1/sessions/{session_id}"
    return entry(session_id, after, Resync(from_seq=after + 1, snapshot=snapshot))


def entry(session_id: str, seq: int, payload: Resync | Sync | Heartbeat) -> Entry:
    """Return a frame of the subscription itself; `seq` is that of the event before it."""
    frame = Frame.make(seq, payload, session_id=session_id, created_at=now_ms())
    return frame.seq, frame.channel, frame.text


class Subscription:
    """Iterate `batches()` once: lists of encoded frames in order. Then `close()`."""

    def __init__(
        self,
        *,
        queue: FrameQueue,
        session_id: str,
        after_seq: int,
        through_seq: int,
        trimmed_through: int,
        snapshots: list[Frame],
        read_page: ReadPage,
        leave: Callable[[], None],
    ) -> None:
        self.session_id = session_id
        self.after_seq = after_seq
        self.through_seq = through_seq
        self._queue = queue
        self._trimmed_through = trimmed_through
        self._snapshots = snapshots
        self._read_page = read_page
        self._leave = leave

    def close(self) -> None:
        """Stop listening; safe to call twice."""
        self._leave()

    async def batches(self) -> AsyncIterator[list[tuple[int, str, str]]]:
        """Yield lists of `(seq, channel, text)`. Raises a `Failure` at the end.

        The first frame is `sync` (or `resync`, then `sync`); it bears the `seq` that the client
        came with, so that a client which remembers the last `seq` loses nothing."""
        after, opening = self._opening()
        yield opening
        async for batch in self._replay(after):
            yield batch
        while True:
            frames = await self._queue.take()
            live = [(f.seq, f.channel, f.text) for f in frames if f.seq > self.through_seq]
            if live:
                yield live

    def _opening(self) -> tuple[int, list[tuple[int, str, str]]]:
        after = self.after_seq
        frames = []
        if after < self._trimmed_through or after > self.through_seq:
            lost_log = after < self._trimmed_through
            after = self._trimmed_through if lost_log else self.through_seq
            frames.append(resync(self.session_id, after))
        sync = Sync(from_seq=after + 1, through_seq=max(after, self.through_seq))
        frames.append(entry(self.session_id, after, sync))
        return after, frames

    async def _replay(self, after: int) -> AsyncIterator[list[tuple[int, str, str]]]:
        snapshots = [(f.seq, f.channel, f.text) for f in self._snapshots]
        while after < self.through_seq:
            page = await self._read_page(self.session_id, after, self.through_seq)
            if page.trimmed_through > after:
                # The retention was faster than this client; what is between it has not seen.
                yield [resync(self.session_id, page.trimmed_through)]
            due = [entry for entry in snapshots if entry[0] <= page.last]
            snapshots = snapshots[len(due) :]
            batch = [(row.seq, channel_of(row.type), row.frame.decode()) for row in page.rows] + due
            if batch:
                yield sorted(batch)
            after = max(page.last, page.trimmed_through)
        if snapshots:
            # Nothing of these messages is newer than what the client came with.
            yield snapshots


_OUTPUT = frozenset(event.TYPE for event in EVENT_TYPES if event.CHANNEL == "output")


def channel_of(event_type: str) -> str:
    """Return the channel of a stored frame by its type."""
    return "output" if event_type in _OUTPUT else "events"


class GlobalSubscription:
    """State changes of all sessions. Its `seq` counts this subscription's own frames."""

    def __init__(self, *, leave: Callable[[GlobalSubscription], None]) -> None:
        self._queue = FrameQueue()
        self._leave = leave
        self._seq = 0

    def push(self, frame: Frame) -> None:
        self._seq += 1
        self._queue.push(
            Frame.make(
                self._seq,
                frame.payload,
                session_id=frame.session_id,
                created_at=frame.created_at,
                origin=Origin(frame.origin.run_id, frame.origin.agent_path),
            )
        )

    def push_stored(self, event: Event) -> None:
        """Send on an event of another daemon as it is stored, with a number of this subscription."""
        self._seq += 1
        self._queue.push(Frame.of_stored(self._seq, event))

    def heartbeat(self) -> None:
        self._seq += 1
        self._queue.push(Frame.make(self._seq, Heartbeat(), session_id="", created_at=now_ms()))

    def fail(self, failure: Failure) -> None:
        self._queue.fail(failure)

    def close(self) -> None:
        self._leave(self)

    async def batches(self) -> AsyncIterator[list[tuple[int, str, str]]]:
        """Yield lists of `(seq, channel, text)`. Raises a `Failure` at the end."""
        while True:
            frames = await self._queue.take()
            yield [(f.seq, f.channel, f.text) for f in frames]
