"""The events of going back in a session: a rollback, and one that was undone.

Owns: their payloads. Never: the rollback itself (`harness.checkpoints`).
"""

from __future__ import annotations

from app.event_base import EventPayload


class SessionRolledBack(EventPayload):
    """What came after `message_cursor` is no part of the conversation any more (null: all of it).
    `compactions` are those that were undone by it, because they were made later; `files` is how many
    files were restored."""

    TYPE = "session.rolled_back"
    rollback_id: str
    checkpoint_id: str | None
    message_cursor: str | None
    created_by: str
    compactions: tuple[str, ...]
    files: int = 0


class RollbackUndone(EventPayload):
    """The conversation is again as it was before the rollback."""

    TYPE = "session.rollback_undone"
    rollback_id: str
    undone_by: str
