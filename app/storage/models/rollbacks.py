"""Rows of checkpoints, rollbacks, reverts, prompts edited during a pause, and noted working trees."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Index, Text, text
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


class Rollback(SQLModel, table=True):
    """One rollback of a session. `details` holds what undoing it needs."""

    __tablename__ = "rollbacks"
    __table_args__ = (Index("ix_rollbacks_session", "session_id", "created_at"),)

    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key="sessions.id")
    checkpoint_id: str | None = None
    message_cursor: str | None = None
    created_at: int = Field(sa_type=BigInteger)
    created_by: str
    undone_at: int | None = Field(default=None, sa_type=BigInteger)
    details: dict[str, Any] = Field(default_factory=dict, sa_type=Json)


class PromptEdit(SQLModel, table=True):
    """A prompt that an operator has changed while a session was paused. Hashes are of the whole text."""

    __tablename__ = "prompt_edits"
    __table_args__ = (
        Index("ix_prompt_edits_checkpoint", "checkpoint_id", "edited_at"),
        Index("ix_prompt_edits_session", "session_id", "edited_at"),
    )

    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key="sessions.id")
    checkpoint_id: str
    target: str
    old_hash: str
    new_hash: str
    new_content: str = Field(sa_type=Text)
    edited_by: str
    edited_at: int = Field(sa_type=BigInteger)
    applied_at: int | None = Field(default=None, sa_type=BigInteger)


class Worktree(SQLModel, table=True):
    """The project's files as they were at a checkpoint or an operator's message: a tree of git's.

    `state` is `taken`, `unchanged` (as the one before), `failed` or `skipped`; `detail` says why."""

    __tablename__ = "worktrees"
    __table_args__ = (Index("ix_worktrees_session", "session_id", "created_at"),)

    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key="sessions.id")
    message_id: str | None = None
    checkpoint_id: str | None = None
    created_at: int = Field(sa_type=BigInteger)
    state: str
    tree: str | None = None
    detail: str | None = None
    size_bytes: int = Field(default=0, sa_type=BigInteger)


class Revert(SQLModel, table=True):
    """One revert of changes of a session. `tree` keeps the files as they were before; `details` has the files
    with what each held before and after, and what was written. `under_way` is set while files are touched, by
    the revert until `applied_at` is set, or by its undo until `undone_at` is."""

    __tablename__ = "reverts"
    __table_args__ = (
        Index("ix_reverts_session", "session_id", "created_at"),
        Index(
            "ix_reverts_under_way",
            "session_id",
            sqlite_where=text("under_way IS 1"),
            postgresql_where=text("under_way IS true"),
        ),
    )

    id: str = Field(primary_key=True)
    session_id: str = Field(foreign_key="sessions.id", ondelete="CASCADE")
    created_at: int = Field(sa_type=BigInteger)
    created_by: str
    tree: str
    under_way: bool
    applied_at: int | None = Field(default=None, sa_type=BigInteger)
    undone_at: int | None = Field(default=None, sa_type=BigInteger)
    undone_by: str | None = None
    details: dict[str, Any] = Field(default_factory=dict, sa_type=Json)


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
