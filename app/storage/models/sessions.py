"""Rows of sessions: one conversation with a project's agents."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Index
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


class Session(SQLModel, table=True):
    """One session. Times are milliseconds since the epoch; `seq_reserved` is the highest event
    sequence number that may have been given out (see `harness/event_hub`). `recalled_at` tells that its
    plugins were asked what the model is to know at the start, and `recalled_digest` names the blob of
    what they said; `idle_fired_at` is when they last heard that it is idle."""

    __tablename__ = "sessions"
    __table_args__ = (
        Index("ix_sessions_created", "created_at"),
        Index("ix_sessions_project", "project_id", "created_at"),
        Index("ix_sessions_state", "state", "created_at"),
        Index("ix_sessions_issue", "project_id", "issue_number"),
    )

    id: str = Field(primary_key=True)
    project_id: str = Field(foreign_key="projects.id")
    title: str = ""
    kind: str = "chat"
    state: str = "idle"
    state_reason: str | None = None
    issue_number: int | None = None
    headless: bool = False
    created_by: str = "operator"
    overrides: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    compiled_digest: str | None = None
    created_at: int = Field(sa_type=BigInteger)
    updated_at: int = Field(sa_type=BigInteger)
    archived_at: int | None = Field(default=None, sa_type=BigInteger)
    recalled_at: int | None = Field(default=None, sa_type=BigInteger)
    seq_reserved: int = Field(default=0, sa_type=BigInteger)
    trimmed_through_seq: int = Field(default=0, sa_type=BigInteger)
    context_overflow: bool = False
    input_tokens: int = Field(default=0, sa_type=BigInteger)
    output_tokens: int = Field(default=0, sa_type=BigInteger)
    reasoning_tokens: int = Field(default=0, sa_type=BigInteger)
    cache_read_tokens: int = Field(default=0, sa_type=BigInteger)
    cache_write_tokens: int = Field(default=0, sa_type=BigInteger)
    cost_primary_usd: float | None = None
    cost_subagents_usd: float | None = None
    cost_compactor_usd: float | None = None
    recalled_digest: str | None = None
    idle_fired_at: int | None = Field(default=None, sa_type=BigInteger)
