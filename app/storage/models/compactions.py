"""Rows of compactions: what was taken out of an agent's context, why, and what came in its place."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Index, Text, text
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


class Compaction(SQLModel, table=True):
    """One compaction. Estimates are tokens, `window_upper` and `window_lower` shares of the model's window.

    `state` is `proposed` while an operator is asked, then `applied` or `rejected`. `undone_by` is the
    rollback that brought the messages back. `details` holds what is only shown."""

    __tablename__ = "compactions"
    __table_args__ = (
        Index("ix_compactions_session", "session_id", "created_at"),
        Index(
            "ix_compactions_open",
            "created_at",
            sqlite_where=text("state = 'proposed'"),
            postgresql_where=text("state = 'proposed'"),
        ),
    )

    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key="sessions.id")
    run_id: str | None = None
    agent_path: str = "primary"
    created_at: int = Field(sa_type=BigInteger)
    state: str = "applied"
    trigger: str
    strategy: str
    threshold_estimate: int = Field(default=0, sa_type=BigInteger)
    after_estimate: int = Field(default=0, sa_type=BigInteger)
    window_upper: float
    window_lower: float
    superseded_message_ids: list[Any] = Field(default_factory=list, sa_type=Json)
    summary_message_id: str | None = None
    summary: str | None = Field(default=None, sa_type=Text)
    plugins_fired: list[Any] = Field(default_factory=list, sa_type=Json)
    plugin_cost: dict[str, Any] | None = Field(default=None, sa_type=Json)
    fallback_occurred: bool = False
    fallback_reason: str | None = None
    operator_flag: str | None = None
    operator_notes: str | None = None
    checkpoint_id: str | None = None
    undone_by: str | None = None
    details: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
