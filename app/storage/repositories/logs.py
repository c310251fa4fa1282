"""Queries about the daemon's log: append, list, trim."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Text, cast, delete, func, or_, select

from app.storage.models import LogEntry
from app.storage.pages import Page
from app.storage.repositories.rows import Rows
from app.storage.repositories.runs import of_run
from app.storage.text import storable


class LogRepository(Rows[LogEntry]):
    model = LogEntry

    def list(  # noqa: PLR0913
        self,
        *,
        severity: int | None = None,
        event: str | None = None,
        session_id: str | None = None,
        run_id: str | None = None,
        text: str | None = None,
        since: int | None = None,
        until: int | None = None,
        limit: int = 25,
        cursor: str | None = None,
    ) -> Page[LogEntry]:
        """Return a page, the newest first. `severity` is the lowest; `text` is found in the event's name,
        the logger's and the fields, whatever its case; `since` (inclusive) and `until` (exclusive) are
        milliseconds since the epoch."""
        where = self._equal(event=event, session_id=session_id)
        if severity is not None:
            where.append(self.c.severity >= severity)
        if run_id is not None:
            where += of_run(self.c, run_id)
        if text is not None:
            where.append(self._holds(storable(text).lower()))
        if since is not None:
            where.append(self.c.created_at >= since)
        if until is not None:
            where.append(self.c.created_at < until)
        return self._newest_first("logs", where, limit=limit, cursor=cursor)

    def trim(self, before_ms: int, keep: int, *, limit: int = 5000) -> int:
        """Delete up to `limit` entries: those created before a time, and those beyond the newest `keep`.
        Returns how many were deleted."""
        newest = self._scalar(select(func.max(self.c.id)))
        if newest is None:
            return 0
        oldest = (
            select(self.c.id).where(self.c.created_at < before_ms).order_by(self.c.created_at).limit(limit)
        )
        deleted = self.connection.execute(delete(self.table).where(self.c.id.in_(oldest))).rowcount
        surplus = select(self.c.id).where(self.c.id <= newest - keep).order_by(self.c.id).limit(limit)
        return deleted + self.connection.execute(delete(self.table).where(self.c.id.in_(surplus))).rowcount

    def _holds(self, text: str) -> ColumnElement[bool]:
        columns = (self.c.event, self.c.logger, cast(self.c.fields, Text))
        return or_(*(func.lower(column).contains(text, autoescape=True) for column in columns))
