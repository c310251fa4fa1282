"""Rows of workspaces: the folder of its own in which a session works."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Index, Text
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


class Workspace(SQLModel, table=True):
    """One workspace. It outlives its session while it holds changes, so the session is no foreign key.

    That of a subagent has its `agent_path`, its `run_id`, and as `parent_id` the workspace that it began
    from: None where that was the project's own folder. `kind` is `worktree` (a clone with a branch of its
    own) or `copy`; a session in the project's own folder has none. `root` is the folder that stands for the
    project's root. `base` is what was asked for (`head`, `working` or a ref), `base_commit` the commit that
    changes are compared with. `detail` says what is wrong or worth knowing. `journal` is the step that runs,
    with what finishing or undoing it needs; `merged` is what was last brought back. `ended_at` is when it was
    merged, kept or discarded, `removed_at` when its folder went. Times are milliseconds since the epoch."""

    __tablename__ = "workspaces"
    __table_args__ = (
        Index("ix_workspaces_project", "project_id", "created_at"),
        Index("ix_workspaces_held", "removed_at", "created_at"),
        Index("ix_workspaces_session", "session_id"),
        Index("ix_workspaces_state", "state", "created_at"),
    )

    id: str = Field(primary_key=True)
    project_id: str = Field(foreign_key="projects.id")
    session_id: str | None = None
    agent_path: str | None = None
    run_id: str | None = None
    parent_id: str | None = None
    kind: str
    state: str = "creating"
    root: str
    branch: str | None = None
    base: str = "head"
    base_commit: str | None = None
    detail: str | None = Field(default=None, sa_type=Text)
    setup_log: str | None = Field(default=None, sa_type=Text)
    size_bytes: int = Field(default=0, sa_type=BigInteger)
    first_port: int | None = None
    ports: int = 0
    journal: dict[str, Any] | None = Field(default=None, sa_type=Json)
    merged: dict[str, Any] | None = Field(default=None, sa_type=Json)
    created_by: str = "operator"
    created_at: int = Field(sa_type=BigInteger)
    updated_at: int = Field(sa_type=BigInteger)
    ended_at: int | None = Field(default=None, sa_type=BigInteger)
    removed_at: int | None = Field(default=None, sa_type=BigInteger)
