"""Rows of runs, their steps (one model call each) and their tool calls."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json

UNPRICED_STEP = """stats LIKE '%"usage":{"%' AND stats NOT LIKE '%"cost":%'"""
"""Which steps used tokens whose cost is not known. Stats are written compactly, with no text of anybody in
them. Whoever asks must write it as the index does, or the index is not used."""


class Run(SQLModel, table=True):
    """One run: an agent's work on an operator's message, a resume of it, or a child agent's on a task.

    A child's run has the run and the tool call of its parent; `background`: the parent did not wait.
    `budget_warnings` are its limits that were near, each `{unit, limit, used, shared}`, and
    `budget_warned_at` is when the last one was; null when a person has seen them."""

    __tablename__ = "runs"
    __table_args__ = (
        Index("ix_runs_session", "session_id", "created_at"),
        Index("ix_runs_state", "state"),
        Index("ix_runs_parent", "parent_run_id"),
    )

    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key="sessions.id")
    agent_path: str = "primary"
    state: str = "pending"
    reason: str | None = None
    error: dict[str, Any] | None = Field(default=None, sa_type=Json)
    trigger_message_id: str | None = None
    checkpoint_id: str | None = None
    model: str | None = None
    step_count: int = 0
    input_tokens: int = Field(default=0, sa_type=BigInteger)
    output_tokens: int = Field(default=0, sa_type=BigInteger)
    reasoning_tokens: int = Field(default=0, sa_type=BigInteger)
    cache_read_tokens: int = Field(default=0, sa_type=BigInteger)
    cache_write_tokens: int = Field(default=0, sa_type=BigInteger)
    cost_usd: float | None = None
    created_at: int = Field(sa_type=BigInteger)
    started_at: int | None = Field(default=None, sa_type=BigInteger)
    ended_at: int | None = Field(default=None, sa_type=BigInteger)
    parent_run_id: str | None = None
    parent_call_id: str | None = None
    background: bool = Field(default=False, sa_column_kwargs={"server_default": text("false")})
    retry_of: str | None = None
    budget_warnings: list[dict[str, Any]] | None = Field(default=None, sa_type=Json)
    budget_warned_at: int | None = Field(default=None, sa_type=BigInteger)


class Step(SQLModel, table=True):
    """One model call of a run. `stats` holds usage, cost, ttft, duration, attempts and `context`."""

    __tablename__ = "steps"
    __table_args__ = (
        # It has few entries: nearly every step has a price.
        Index(
            "ix_steps_unpriced",
            "run_id",
            sqlite_where=text(UNPRICED_STEP),
            postgresql_where=text(UNPRICED_STEP),
        ),
        {"sqlite_with_rowid": False},
    )

    run_id: str = Field(foreign_key="runs.id", primary_key=True)
    number: int = Field(primary_key=True)
    message_id: str
    provider: str
    model: str
    stop_reason: str | None = None
    request_digest: str | None = None
    stats: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    started_at: int = Field(sa_type=BigInteger)
    ended_at: int | None = Field(default=None, sa_type=BigInteger)


class ToolCall(SQLModel, table=True):
    """One tool call. The row is stored as `running` before the tool starts, so that after a
    crash it is known which calls may have run. The result text is in the tool message."""

    __tablename__ = "tool_calls"
    __table_args__ = (
        Index("ix_tool_calls_run", "run_id"),
        # Not over the state: each change of it would be written twice more.
        Index("ix_tool_calls_session", "session_id"),
        Index(
            "ix_tool_calls_open",
            "session_id",
            sqlite_where=text("ended_at IS NULL"),
            postgresql_where=text("ended_at IS NULL"),
        ),
    )

    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key="sessions.id")
    run_id: str | None = None
    step: int | None = None
    message_id: str | None = None
    agent_path: str = "primary"
    call_id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    state: str = "pending"
    error_code: str | None = None
    result_message_id: str | None = None
    started_at: int | None = Field(default=None, sa_type=BigInteger)
    ended_at: int | None = Field(default=None, sa_type=BigInteger)
