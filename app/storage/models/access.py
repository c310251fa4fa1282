"""Rows of access tokens (digests only) and of idempotency keys."""

from __future__ import annotations

from sqlalchemy import BigInteger
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
