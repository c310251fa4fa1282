"""Frames as subscribers get them, and the bounded queue of one subscriber.

Owns: encoding once for all subscribers, merging deltas for one that lags, the bounds (`TooSlow`); a durable
frame is never dropped. Never: sequence numbers or storage.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from dataclasses import dataclass

from app.events.payload import NO_ORIGIN, EventPayload, Origin
from app.events.union import EVENT_TYPES, MessageDelta, encode_frame
from app.storage.models import Event

MAX_QUEUED_FRAMES = 2_000
MAX_QUEUED_BYTES = 8 * 1024 * 1024
ENOUGH_FREED = 0.75
"""How full a queue may be after merging. Merging reads the whole queue: were one frame freed
each time, a stalled subscriber would cost every later frame that much."""

_KINDS = {event.TYPE: event for event in EVENT_TYPES}


class TooSlow(Exception):
    """The subscriber's queue is full of frames that may not be dropped."""


class HubClosed(Exception):
    """The daemon is stopping; the client should come back with `after_seq`."""


class SessionDeleted(Exception):
    """The session is gone; there is nothing to come back to."""


Failure = TooSlow | HubClosed | SessionDeleted


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One encoded frame. `text` is shared by all subscribers. `created_at` is milliseconds."""

    seq: int
    type: str
    channel: str
    durable: bool
    text: str
    session_id: str
    origin: Origin
    created_at: int
    payload: EventPayload

    @classmethod
    def make(
        cls,
        seq: int,
        payload: EventPayload,
        *,
        session_id: str,
        created_at: int,
        origin: Origin = NO_ORIGIN,
    ) -> Frame:
        encoded = encode_frame(seq, payload, session_id=session_id, created_at=created_at, origin=origin)
        kind, channel, durable = payload.TYPE, payload.CHANNEL, payload.DURABLE
        text = encoded.decode()
        return cls(seq, kind, channel, durable, text, session_id, origin, created_at, payload)

    @classmethod
    def of_stored(cls, seq: int, event: Event) -> Frame:
        """Return a stored event under another number. Its payload is of its class and has no fields: the
        text is what is sent."""
        stored = json.loads(event.frame)
        stored.pop("parent_tool_call_id", None)
        text = json.dumps({**stored, "seq": seq}, separators=(",", ":"))
        payload = _KINDS[event.type].model_construct()
        channel = payload.CHANNEL
        return cls(
            seq, event.type, channel, True, text, event.session_id, NO_ORIGIN, event.created_at, payload
        )


class FrameQueue:
    """The frames that one subscriber has not taken yet, bounded by count and bytes."""

    def __init__(self, *, max_frames: int = MAX_QUEUED_FRAMES, max_bytes: int = MAX_QUEUED_BYTES) -> None:
        self._frames: deque[Frame] = deque()
        self._bytes = 0
        self._max_frames = max_frames
        self._max_bytes = max_bytes
        self._waiter: asyncio.Future[None] | None = None
        self._failure: Failure | None = None

    def push(self, frame: Frame) -> None:
        """Append a frame; on overflow merge deltas, drop superseded heartbeats, else give up."""
        if self._failure is not None:
            return
        self._frames.append(frame)
        self._bytes += len(frame.text)
        if len(self._frames) > self._max_frames or self._bytes > self._max_bytes:
            self._compact()
            frames, size = self._max_frames * ENOUGH_FREED, self._max_bytes * ENOUGH_FREED
            if len(self._frames) > frames or self._bytes > size:
                self.fail(TooSlow(f"{len(self._frames)} frames are waiting"))
        self._wake()

    def fail(self, failure: Failure) -> None:
        """End the queue: the subscriber gets `failure` in place of what is still waiting
        (`TooSlow`) or after it (the others)."""
        if self._failure is None:
            self._failure = failure
            if isinstance(failure, TooSlow):
                self._frames.clear()
                self._bytes = 0
        self._wake()

    async def take(self) -> list[Frame]:
        """Wait for frames and return all that are there, in order."""
        while not self._frames:
            if self._failure is not None:
                raise self._failure
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        taken = list(self._frames)
        self._frames.clear()
        self._bytes = 0
        return taken

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _compact(self) -> None:
        """Merge runs of deltas; heartbeats say nothing once later frames exist."""
        merged: deque[Frame] = deque()
        run: list[Frame] = []
        for frame in self._frames:
            if frame.type == "heartbeat":
                continue
            if run and self._mergeable(run[-1], frame):
                run.append(frame)
                continue
            self._flush(run, merged)
            run = [frame]
        self._flush(run, merged)
        self._frames = merged
        self._bytes = sum(len(frame.text) for frame in merged)

    @staticmethod
    def _mergeable(earlier: Frame, later: Frame) -> bool:
        first, second = earlier.payload, later.payload
        return (
            isinstance(first, MessageDelta)
            and isinstance(second, MessageDelta)
            and (first.message_id, first.kind, first.attempt)
            == (second.message_id, second.kind, second.attempt)
        )

    @staticmethod
    def _flush(run: list[Frame], into: deque[Frame]) -> None:
        if len(run) == 1:
            into.append(run[0])
        elif run:
            last = run[-1]
            assert isinstance(last.payload, MessageDelta)
            text = "".join(f.payload.delta for f in run if isinstance(f.payload, MessageDelta))
            into.append(
                Frame.make(
                    last.seq,
                    last.payload.model_copy(update={"delta": text}),
                    session_id=last.session_id,
                    created_at=last.created_at,
                    origin=last.origin,
                )
            )
