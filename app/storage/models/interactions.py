"""Rows of interactions: what was asked of a human, and what became of it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


class Interaction(SQLModel, table=True):
    """One question of a tool call. `request` and `answer` have the shape of the `kind`.

    `state` is one of `app.states.InteractionState`; `closed_at` is when it left `pending`."""

    __tablename__ = "interactions"
    __table_args__ = (
        Index("ix_interactions_session", "session_id", "created_at"),
        Index(
            "ix_interactions_pending",
            "session_id",
            sqlite_where=text("state = 'pending'"),
            postgresql_where=text("state = 'pending'"),
        ),
    )

    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key="sessions.id")
    run_id: str | None = None
    agent_path: str = "primary"
    tool_call_id: str | None = None
    kind: str
    state: str = "pending"
    request: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    answer: dict[str, Any] | None = Field(default=None, sa_type=Json)
    answered_by: str | None = None
    created_at: int = Field(sa_type=BigInteger)
    closed_at: int | None = Field(default=None, sa_type=BigInteger)
