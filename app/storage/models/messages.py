"""Rows of messages: append-only, ordered by `position` within a session."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


class Message(SQLModel, table=True):
    """One message. `position` is null while an operator's message waits in the queue;
    `complete` is false for the one row that holds the partial text of a message in flight.
    `details` holds what the harness source calls metadata (contentBlocks, usage, ...);
    `superseded_by` is the compaction or rollback that took it out of what the model is sent."""

    __tablename__ = "messages"
    __table_args__ = (
        Index("ix_messages_history", "session_id", "position"),
        Index(
            "ix_messages_incomplete",
            "session_id",
            sqlite_where=text("complete IS 0"),
            postgresql_where=text("complete IS false"),
        ),
    )

    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key="sessions.id")
    run_id: str | None = None
    agent_path: str = "primary"
    position: int | None = Field(default=None, sa_type=BigInteger)
    role: str
    content: str
    details: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    complete: bool = True
    superseded: bool = False
    delivery: str = "direct"
    created_at: int = Field(sa_type=BigInteger)
    superseded_by: str | None = None
