"""Rows of checkpoints: a pointer into the stored messages of a session."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index
from sqlmodel import Field, SQLModel


class Checkpoint(SQLModel, table=True):
    __tablename__ = "checkpoints"
    __table_args__ = (Index("ix_checkpoints_session", "session_id", "created_at"),)

    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key="sessions.id")
    run_id: str | None = None
    created_at: int = Field(sa_type=BigInteger)
    created_by: str
    reason: str
    detail: str | None = None
    message_cursor: str | None = None
    resumed_at: int | None = Field(default=None, sa_type=BigInteger)
    rolled_back: bool = False
    superseded_by: str | None = None
