"""Messages that wait: for the run to end (queue) or for its next boundary (steer).

Owns: their order and which of them an operator's stop has put on hold. Never: storage; the rows
are stored before they get here.
"""

from __future__ import annotations

from collections import deque
from typing import Literal

from app.storage.models import Message

Delivery = Literal["direct", "queued", "steer", "held", "continue"]


class Inbox:
    """The waiting messages of one session, oldest first."""

    def __init__(self) -> None:
        self._queued: deque[Message] = deque()
        self._steers: deque[Message] = deque()
        self._held: deque[Message] = deque()

    def __len__(self) -> int:
        return len(self._queued) + len(self._steers) + len(self._held)

    def restore(self, rows: list[Message]) -> None:
        """Take up the rows that waited when the daemon stopped; steers become queued."""
        for row in rows:
            (self._held if row.delivery == "held" else self._queued).append(row)

    def add(self, row: Message) -> None:
        (self._steers if row.delivery == "steer" else self._queued).append(row)

    def take_steers(self) -> list[Message]:
        taken = list(self._steers)
        self._steers.clear()
        return taken

    def take_next(self) -> Message | None:
        """Return the message to run next; steers that came too late are first."""
        if self._steers:
            return self._steers.popleft()
        return self._queued.popleft() if self._queued else None

    def has_next(self) -> bool:
        return bool(self._steers or self._queued)

    def hold(self) -> list[Message]:
        """An operator's stop: nothing that waits now may start by itself any more."""
        held = [*self._steers, *self._queued]
        self._steers.clear()
        self._queued.clear()
        self._held.extend(held)
        return held

    def take_held(self) -> list[Message]:
        taken = list(self._held)
        self._held.clear()
        return taken
