"""Rows of the audit trail and of the daemon's log: append-only, redacted before they get here."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Index, Integer
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


class AuditEvent(SQLModel, table=True):
    __tablename__ = "audit_events"
    __table_args__ = (
        Index("ix_audit_created", "created_at"),
        Index("ix_audit_session", "session_id", "created_at"),
        Index("ix_audit_project", "project_id", "created_at"),
        Index("ix_audit_event", "event", "created_at"),
    )

    id: int | None = Field(
        default=None,
        primary_key=True,
        sa_type=BigInteger().with_variant(Integer, "sqlite"),
    )
    created_at: int = Field(sa_type=BigInteger)
    event: str
    actor: str
    project_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    agent_path: str | None = None
    request_id: str | None = None
    data: dict[str, Any] = Field(default_factory=dict, sa_type=Json)


class LogEntry(SQLModel, table=True):
    """`severity` is the number of the standard library's logging: 10 debug to 50 critical."""

    __tablename__ = "log_entries"
    __table_args__ = (
        # What is filtered by is in it, so that pages are found and counted without reading the rows.
        Index("ix_log_entries_created", "created_at", "severity", "event"),
        Index("ix_log_entries_session", "session_id", "created_at"),
    )

    id: int | None = Field(
        default=None,
        primary_key=True,
        sa_type=BigInteger().with_variant(Integer, "sqlite"),
    )
    created_at: int = Field(sa_type=BigInteger)
    severity: int
    logger: str
    event: str
    session_id: str | None = None
    run_id: str | None = None
    fields: dict[str, Any] = Field(default_factory=dict, sa_type=Json)
