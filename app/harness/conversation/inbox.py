"""Messages that wait: for the run to end (queue) or for its next boundary (steer).

Owns: their order and which of them an operator's stop has put on hold. Never: storage; the rows
are stored before they get here, and leave only once it is stored where they went.
"""

from __future__ import annotations

from collections.abc import Collection

from app.storage.models import Message


class Inbox:
    """The waiting messages of one session, oldest first."""

    def __init__(self) -> None:
        self.stops = 0
        """Counts the operator's explicit stops: what was set going automatically before one does not start
        anything after it."""
        self._queued: list[Message] = []
        self._steers: list[Message] = []
        self._held: list[Message] = []

    def __contains__(self, message_id: object) -> bool:
        return any(row.id == message_id for row in (*self._queued, *self._steers, *self._held))

    def __len__(self) -> int:
        return len(self._queued) + len(self._steers) + len(self._held)

    @property
    def size(self) -> int:
        """How many bytes of text and attachments wait."""
        return sum(message_size(row) for row in (*self._queued, *self._steers, *self._held))

    def restore(self, rows: list[Message]) -> None:
        """Take up the rows that waited when the daemon stopped; steers become queued."""
        for row in rows:
            (self._held if row.delivery == "held" else self._queued).append(row)

    def add(self, row: Message) -> None:
        (self._steers if row.delivery == "steer" else self._queued).append(row)

    def steers(self) -> list[Message]:
        return list(self._steers)

    def held(self) -> list[Message]:
        return list(self._held)

    def next(self) -> Message | None:
        """Return the message to run next; steers that came too late are first."""
        waiting = self._steers or self._queued
        return waiting[0] if waiting else None

    def hold(self) -> list[str]:
        """Let nothing that waits now start by itself any more; return the ids of the rows."""
        newly_held = [*self._steers, *self._queued]
        self._steers.clear()
        self._queued.clear()
        self._held.extend(newly_held)
        return [row.id for row in newly_held]

    def stop(self) -> list[str]:
        """As `hold`, because an operator has stopped the session."""
        self.stops += 1
        return self.hold()

    def clear(self) -> None:
        """Forget what waits."""
        for waiting in (self._queued, self._steers, self._held):
            waiting.clear()

    def find(self, message_id: str) -> Message | None:
        """Return a message that waits."""
        waiting = (*self._steers, *self._queued, *self._held)
        return next((row for row in waiting if row.id == message_id), None)

    def replace(self, row: Message) -> None:
        """Let a message that still waits have other content."""
        for waiting in (self._queued, self._steers, self._held):
            waiting[:] = [row if one.id == row.id else one for one in waiting]

    def move(self, row: Message) -> None:
        """Let a message that still waits do so in another way: the last of its kind."""
        if row.id in self:
            self.remove({row.id})
            self._waiting_like(row).append(row)

    def put_back(self, row: Message) -> None:
        """Let a message wait again that was taken away; ids are in the order of time."""
        waiting = self._waiting_like(row)
        waiting.append(row)
        waiting.sort(key=lambda one: one.id)

    def _waiting_like(self, row: Message) -> list[Message]:
        return {"held": self._held, "steer": self._steers}.get(row.delivery, self._queued)

    def remove(self, ids: Collection[str]) -> None:
        """Forget messages that have entered the conversation."""
        for waiting in (self._queued, self._steers, self._held):
            waiting[:] = [row for row in waiting if row.id not in ids]


def message_size(row: Message) -> int:
    """Return the bytes of a message's text and, as they are stored, of its attachments."""
    attached = row.details.get("attachments", ())
    values = (value for attachment in attached for value in attachment.values())
    return len(row.content.encode()) + sum(len(value) for value in values if isinstance(value, str))
