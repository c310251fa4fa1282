"""Rows of sessions: one conversation with a project's agents, its durable events and its todo list."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Index
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


class Session(SQLModel, table=True):
    """One session. Times are milliseconds since the epoch; `seq_reserved` is the highest event
    sequence number that may have been given out (see `harness/event_hub`). `recalled_at` says that its
    plugins were asked what the model is to know at the start, and `recalled_digest` names the blob of
    what they said; `idle_fired_at` is when they last heard that it is idle. `mode` says how much it asks
    (`app.tools.contract.modes`). `workspace_id` names the folder of its own that it works in; without, it
    works in the project's. `seen_run_id` is the newest run of its root agent whose end a person has seen."""

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
    mode: str = Field(default="ask", sa_column_kwargs={"server_default": "ask"})
    workspace_id: str | None = None
    seen_run_id: str | None = None


class Event(SQLModel, table=True):
    """One durable frame; `frame` is the exact JSON that goes over the WebSocket.

    The key is the only index: within a session rows are in order of time as well, so that
    trimming by age walks it from its low end. With row ids on SQLite: without them a frame above
    1,000 bytes spills into a page of its own, which doubled the growth of a turn."""

    __tablename__ = "events"

    session_id: str = Field(foreign_key="sessions.id", primary_key=True)
    seq: int = Field(sa_type=BigInteger, primary_key=True)
    type: str
    created_at: int = Field(sa_type=BigInteger)
    frame: bytes


class TodoList(SQLModel, table=True):
    """The list of one session, replaced as a whole. `items` are objects with `content` and
    `status`; `updated_by` is the agent that wrote it last."""

    __tablename__ = "todo_lists"

    session_id: str = Field(primary_key=True, foreign_key="sessions.id")
    items: list[Any] = Field(default_factory=list, sa_type=Json)
    updated_by: str
    updated_at: int = Field(sa_type=BigInteger)
