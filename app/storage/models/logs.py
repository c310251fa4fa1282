"""Records of the daemon's log: append-only, redacted before they get here."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Index, Integer
from sqlmodel import Field, SQLModel

from app.storage.typed_json import Json


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
