"""Rows of issues: what is to be done in a project, its history, its checklist and its links."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Index, Text, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


class Issue(SQLModel, table=True):
    """One issue. `number` counts from 1 within the project, without holes. `status` is one of
    `app.states.IssueState`; `assignment` is None, `primary`, `workflow:<name>` or `session:<id>`.
    `original_body` is the first text, kept when the body is edited for the first time."""

    __tablename__ = "issues"
    __table_args__ = (
        UniqueConstraint("project_id", "number", name="uq_issues_number"),
        Index("ix_issues_status", "project_id", "status", "number"),
    )

    id: str = Field(primary_key=True)
    project_id: str = Field(foreign_key="projects.id")
    number: int
    title: str
    body: str = Field(default="", sa_type=Text)
    original_body: str | None = Field(default=None, sa_type=Text)
    status: str = "open"
    assignment: str | None = None
    created_by: str
    created_at: int = Field(sa_type=BigInteger)
    updated_at: int = Field(sa_type=BigInteger)
    resolved_at: int | None = Field(default=None, sa_type=BigInteger)
    resolved_by: str | None = None


class IssueUpdate(SQLModel, table=True):
    """One entry of an issue's history. `kind` is `comment`, `status_change`, `title_edit`, `body_edit`
    or `assignment_change`; `details` has the old and the new value. `visibility` is `all` or
    `operator_only`."""

    __tablename__ = "issue_updates"
    __table_args__ = (Index("ix_issue_updates_issue", "issue_id", "created_at", "id"),)

    id: str = Field(primary_key=True)
    issue_id: str = Field(foreign_key="issues.id")
    author: str
    kind: str
    body: str | None = Field(default=None, sa_type=Text)
    details: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
    visibility: str = "all"
    created_at: int = Field(sa_type=BigInteger)


class IssueTodo(SQLModel, table=True):
    """One entry of an issue's checklist: a `step` of the plan, or a `criterion` of acceptance.

    `status` is one of `app.states.IssueTodoState`. `notes` are objects with `author`, `text` and
    `created_at`. `origin_agent` is the subagent that proposed it. A completed criterion is a claim until
    an operator accepts it."""

    __tablename__ = "issue_todos"
    __table_args__ = (Index("ix_issue_todos_issue", "issue_id", "position"),)

    id: str = Field(primary_key=True)
    issue_id: str = Field(foreign_key="issues.id")
    content: str = Field(sa_type=Text)
    kind: str = "step"
    status: str = "pending"
    phase: str | None = None
    position: int
    notes: list[Any] = Field(default_factory=list, sa_type=Json)
    origin_agent: str | None = None
    created_by: str
    created_at: int = Field(sa_type=BigInteger)
    updated_at: int = Field(sa_type=BigInteger)
    completed_at: int | None = Field(default=None, sa_type=BigInteger)
    completed_by: str | None = None
    accepted_at: int | None = Field(default=None, sa_type=BigInteger)
    accepted_by: str | None = None


class IssueLink(SQLModel, table=True):
    """One issue `blocks`, `relates` to or `duplicates` another of the same project."""

    __tablename__ = "issue_links"
    __table_args__ = (
        UniqueConstraint("issue_id", "target_id", "kind", name="uq_issue_links"),
        Index("ix_issue_links_target", "target_id"),
    )

    id: str = Field(primary_key=True)
    issue_id: str = Field(foreign_key="issues.id")
    target_id: str = Field(foreign_key="issues.id")
    kind: str
    created_by: str
    created_at: int = Field(sa_type=BigInteger)


class TodoProposal(SQLModel, table=True):
    """One entry that a subagent has proposed for the checklist of its session's issue.

    `state` is one of `app.states.TodoProposalState`; `call_id` is the delegation that brought it."""

    __tablename__ = "todo_proposals"
    __table_args__ = (
        Index("ix_todo_proposals_session", "session_id", "state", "created_at"),
        Index(
            "ix_todo_proposals_open",
            "created_at",
            sqlite_where=text("state = 'proposed'"),
            postgresql_where=text("state = 'proposed'"),
        ),
    )

    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key="sessions.id")
    run_id: str | None = None
    call_id: str | None = None
    agent_path: str
    content: str = Field(sa_type=Text)
    kind: str = "step"
    state: str = "proposed"
    created_at: int = Field(sa_type=BigInteger)
    decided_at: int | None = Field(default=None, sa_type=BigInteger)
    decided_by: str | None = None
