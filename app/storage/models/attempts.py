"""Rows of attempts: several sessions that do the same from one baseline, of which one is picked."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Index
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


class AttemptGroup(SQLModel, table=True):
    """Attempts that belong together. `session_id` is the session whose history they go on from, `workflow`
    the workflow that they are runs of. `base` is what was asked for, `base_commit` the commit that all start
    from. `asked_check` is `{command, seconds}`, `budget` is `{tokens, cost_usd}` for all together. `journal`
    is the pick that is under way, with its claim, or the discard. Times are milliseconds since the epoch."""

    __tablename__ = "attempt_groups"
    __table_args__ = (
        Index("ix_attempt_groups_project", "project_id", "created_at"),
        Index("ix_attempt_groups_state", "state", "created_at"),
    )

    id: str = Field(primary_key=True)
    project_id: str = Field(foreign_key="projects.id")
    session_id: str | None = None
    workflow: str | None = None
    title: str = ""
    state: str = "open"
    base: str
    base_commit: str | None = None
    asked_check: dict[str, Any] | None = Field(default=None, sa_type=Json)
    budget: dict[str, Any] | None = Field(default=None, sa_type=Json)
    journal: dict[str, Any] | None = Field(default=None, sa_type=Json)
    picked_session_id: str | None = None
    picked_at: int | None = Field(default=None, sa_type=BigInteger)
    created_by: str = "operator"
    created_at: int = Field(sa_type=BigInteger)


class Attempt(SQLModel, table=True):
    """One attempt, named by its session. `number` counts from 1 within the group. `check_state` is one of
    `app.states.CheckState`, `checked` what the last check said: `{run_id, exit_code, seconds, output,
    problem}`."""

    __tablename__ = "attempts"
    __table_args__ = (
        Index("ix_attempts_group", "group_id", "number"),
        Index("ix_attempts_run", "workflow_run_id"),
    )

    session_id: str = Field(primary_key=True, foreign_key="sessions.id", ondelete="CASCADE")
    group_id: str = Field(foreign_key="attempt_groups.id")
    number: int
    model: str | None = None
    workflow_run_id: str | None = None
    check_state: str = "none"
    checked: dict[str, Any] | None = Field(default=None, sa_type=Json)
