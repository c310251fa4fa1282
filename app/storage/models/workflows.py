"""Rows of workflow runs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Index, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


class WorkflowRun(SQLModel, table=True):
    """One run of a workflow, which works in a session of its own.

    `state` is one of `app.states.WorkflowRunState`. `cause` is `operator`, `agent`, `schedule` or `issue`;
    `invoked_by` is the principal, `{type, id}`. `slot` is the time a schedule meant, in milliseconds: one
    run for each. `elapsed_ms` is how long its session has worked in all, without the time in which it
    waited for a human. `error` is `{code, message}`. `workspace` is where its session is to work; None: as
    the project file says."""

    __tablename__ = "workflow_runs"
    __table_args__ = (
        UniqueConstraint("project_id", "workflow", "slot", name="uq_workflow_runs_slot"),
        Index("ix_workflow_runs_created", "created_at"),
        Index("ix_workflow_runs_project", "project_id", "created_at"),
        Index("ix_workflow_runs_state", "state", "created_at"),
        Index("ix_workflow_runs_session", "session_id"),
    )

    id: str = Field(primary_key=True)
    project_id: str = Field(foreign_key="projects.id")
    workflow: str
    session_id: str | None = None
    state: str = "queued"
    inputs: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    cause: str
    invoked_by: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    issue_number: int | None = None
    slot: int | None = Field(default=None, sa_type=BigInteger)
    timeout_seconds: int
    elapsed_ms: int = Field(default=0, sa_type=BigInteger)
    created_at: int = Field(sa_type=BigInteger)
    started_at: int | None = Field(default=None, sa_type=BigInteger)
    completed_at: int | None = Field(default=None, sa_type=BigInteger)
    output: str | None = Field(default=None, sa_type=Text)
    error: dict[str, Any] | None = Field(default=None, sa_type=Json)
    cost_usd: float | None = None
    workspace: str | None = None
