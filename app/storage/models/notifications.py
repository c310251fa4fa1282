"""Rows of notifications that are not delivered yet: the outbox."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Index
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


class Notification(SQLModel, table=True):
    """What one channel has to deliver; the row goes when that is done or given up. `kind` is `question`,
    `failure`, `budget` or `finish`; `about` holds what belongs to the kind, never content. It is tried next
    at `due_at`. Times are milliseconds since the epoch."""

    __tablename__ = "notifications"
    __table_args__ = (
        Index("ix_notifications_due", "channel", "due_at"),
        Index("ix_notifications_session", "session_id"),
        Index("ix_notifications_created", "created_at"),
    )

    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key="sessions.id", ondelete="CASCADE")
    project_id: str
    agent_path: str
    channel: str
    kind: str
    about: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    tries: int = 0
    due_at: int = Field(sa_type=BigInteger)
    created_at: int = Field(sa_type=BigInteger)
