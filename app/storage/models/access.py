"""Rows about who may do what: access tokens (digests only), permission rules, and idempotency keys."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, text
from sqlmodel import Field, SQLModel


class AccessToken(SQLModel, table=True):
    """A bearer token of the HTTP interface. Only its SHA-256 digest is stored. An agent's token is bound
    to a project, a session and an agent, a plugin's to a project and the plugin's name."""

    __tablename__ = "access_tokens"

    id: str = Field(primary_key=True)
    name: str
    digest: str = Field(unique=True)
    scope: str = "operator"
    created_at: int = Field(sa_type=BigInteger)
    expires_at: int | None = Field(default=None, sa_type=BigInteger)
    revoked_at: int | None = Field(default=None, sa_type=BigInteger)
    project_id: str | None = None
    session_id: str | None = None
    agent_path: str | None = None
    plugin: str | None = None


class IdempotencyKey(SQLModel, table=True):
    """The first answer to a POST with an `Idempotency-Key`, given again to a repeat of it."""

    __tablename__ = "idempotency_keys"

    scope: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    body_digest: str
    status: int | None = None
    response: bytes | None = None
    created_at: int = Field(sa_type=BigInteger, index=True)


class PermissionRuleRow(SQLModel, table=True):
    """One rule. Without `session_id` it holds for every session of the project.

    In each scope there is one rule for a permission and pattern: `identity` is their digest, as a
    pattern may be longer than what an index takes. The rules of the project file are not here:
    they are part of the compiled project."""

    __tablename__ = "permission_rules"
    __table_args__ = (
        Index(
            "ix_permission_rules_one_in_project",
            "project_id",
            "identity",
            unique=True,
            sqlite_where=text("session_id IS NULL"),
            postgresql_where=text("session_id IS NULL"),
        ),
        # Equal without a session is allowed here: NULL is not equal to NULL.
        Index("ix_permission_rules_one_in_session", "session_id", "identity", unique=True),
        Index("ix_permission_rules_project", "project_id", "session_id", "created_at"),
        Index("ix_permission_rules_session", "session_id", "created_at"),
    )

    id: str = Field(primary_key=True)
    project_id: str = Field(foreign_key="projects.id")
    session_id: str | None = Field(default=None, foreign_key="sessions.id")
    permission: str
    pattern: str
    identity: str
    action: str
    created_by: str
    created_at: int = Field(sa_type=BigInteger)
