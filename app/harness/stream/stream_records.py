"""What a session's stream keeps of frames that are on their way to the storage.

Owns: its numbers, frames that wait for a commit, one call of `record`, a place that is held. Never: the order
of frames (`session_stream`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from app.events.payload import EventPayload
from app.harness.stream.frames import Frame
from app.storage.unit_of_work import UnitOfWork

StoredBeside = Callable[[UnitOfWork, Sequence[Frame]], None]
"""Stores what follows from frames in the unit of work that stores them; it may run more than once."""

RESERVATION = 10_000
"""How many sequence numbers one stored reservation covers."""


class Numbers:
    """The sequence numbers of one session. They are given out only below a reservation, which is stored
    before it is used up: after a restart the session counts on above it."""

    def __init__(self, reserved: int) -> None:
        self.next = reserved + 1
        self._reserved = self._stored = reserved

    def take(self, count: int = 1) -> int:
        """Return the first of so many neighbouring numbers."""
        first, self.next = self.next, self.next + count
        return first

    @property
    def used_up(self) -> bool:
        """True when the next number is beyond the reservation."""
        return self.next >= self._reserved

    def due(self) -> int | None:
        """Return the next reservation when one is due; it is to be stored with the present record."""
        if self.next + RESERVATION // 4 <= self._reserved:
            return None
        self._reserved = self.next + RESERVATION
        return self._reserved

    def stored(self, reservation: int | None) -> None:
        self._stored = max(self._stored, reservation or 0)

    def failed(self, reservation: int | None) -> None:
        """Ask for the reservation again: it was not stored."""
        if reservation is not None:
            self._reserved = self._stored

    def covers(self, seq: int) -> bool:
        """Tell whether a restart would not give this number out again."""
        return seq <= self._stored


class Pending:
    """Frames that wait for one commit (or for none)."""

    __slots__ = ("frames", "ready")

    def __init__(self, frames: Sequence[Frame], *, ready: bool) -> None:
        self.frames: Sequence[Frame] = frames
        self.ready = ready


class Record:
    """One call of `record`: what it stores, and who waits for it."""

    __slots__ = ("durable", "future", "kept", "owed", "pending", "reserve", "rows", "statements")

    def __init__(
        self,
        statements: Callable[[UnitOfWork], Any] | None,
        rows: list[dict[str, Any]],
        pending: Pending,
        future: asyncio.Future[Any],
        *,
        durable: bool,
        kept: bool,
        reserve: int | None,
    ) -> None:
        self.kept = kept
        self.owed = False
        self.statements = statements
        self.rows = rows
        self.pending = pending
        self.future = future
        self.reserve = reserve
        # A number that a client has seen is never given out again, not even after a power failure.
        self.durable = durable or reserve is not None


class HeldPlace:
    """A place in a session's order for events that a unit of work decides on while it runs.

    `store` is called inside that unit; `SessionStream.settle` when it is over, whatever became of it."""

    def __init__(
        self, session_id: str, first_seq: int, room: int, pending: Pending, reserve: int | None
    ) -> None:
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
        uow.events.append([row_of(frame) for frame in self.frames])


def row_of(frame: Frame) -> dict[str, Any]:
    return {
        "session_id": frame.session_id,
        "seq": frame.seq,
        "type": frame.type,
        "created_at": frame.created_at,
        "frame": frame.text.encode(),
    }
