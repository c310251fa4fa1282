"""The event of files that a session changed.

Owns: its payload. Never: who emits it.
"""

from __future__ import annotations

from app.events.payload import EventPayload


class ChangesUpdated(EventPayload):
    """What differs from the session's start is not what it was: `paths` are the files in question, at most
    100. `total`, `additions` and `deletions` are of all changes."""

    TYPE = "changes.updated"
    DURABLE = False
    paths: tuple[str, ...]
    total: int
    additions: int
    deletions: int
