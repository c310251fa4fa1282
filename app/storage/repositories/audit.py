"""Queries about the audit trail: append without secrets, list, trim."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Text, cast, delete, func, select

from app.observability import Redactor
from app.storage.models import AuditEvent
from app.storage.pages import Page
from app.storage.repositories.rows import Rows
from app.storage.repositories.runs import of_run
from app.storage.repositories.sizes import fitting_since
from app.storage.text import storable

_OTHER_COLUMNS = 200
"""About how many bytes the ids and names of a row take."""


class AuditRepository(Rows[AuditEvent]):
    """Whoever writes a row: what has the value or the shape of a secret is taken out of it here."""

    model = AuditEvent

    def __init__(self, connection: Connection, redactor: Redactor) -> None:
        super().__init__(connection)
        self._redactor = redactor

    def add(self, row: AuditEvent) -> None:
        self.add_many([row])

    def add_many(self, rows: Iterable[AuditEvent]) -> None:
        super().add_many([row.model_copy(update={"data": self._redactor.data(row.data)}) for row in rows])

    def insert(self, **values: object) -> None:
        self.insert_many([values])

    def insert_many(self, rows: Sequence[dict[str, Any]]) -> None:
        super().insert_many([self._clean(row) for row in rows])

    def append(self, rows: builtins.list[dict[str, Any]]) -> None:
        super().append([self._clean(row) for row in rows])

    def _clean(self, row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "data": self._redactor.data(row["data"])} if "data" in row else row

    def list(
        self,
        *,
        event: str | None = None,
        session_id: str | None = None,
        run_id: str | None = None,
        project_id: str | None = None,
        since: int | None = None,
        until: int | None = None,
        limit: int = 25,
        cursor: str | None = None,
    ) -> Page[AuditEvent]:
        """Return a page, the newest first. `event` may hold `*`; `since` (inclusive) and `until`
        (exclusive) are milliseconds since the epoch."""
        where = self._equal(session_id=session_id, project_id=project_id)
        if event is not None:
            where.append(self.c.event.in_(self._names(storable(event))))
        if run_id is not None:
            where += of_run(self.c, run_id)
        if since is not None:
            where.append(self.c.created_at >= since)
        if until is not None:
            where.append(self.c.created_at < until)
        return self._newest_first("audit", where, limit=limit, cursor=cursor)

    def trim_older_than(self, before_ms: int, *, limit: int = 5000) -> int:
        """Delete up to `limit` rows created before a time; returns how many were deleted."""
        oldest = (
            select(self.c.id).where(self.c.created_at < before_ms).order_by(self.c.created_at).limit(limit)
        )
        return self.connection.execute(delete(self.table).where(self.c.id.in_(oldest))).rowcount

    def fitting_since(self, max_bytes: int) -> int | None:
        """Return the time before which rows must go, so that the others have at most `max_bytes`; None when
        all may stay. See `sizes.fitting_since`."""
        size = func.length(cast(self.c.data, Text)) + _OTHER_COLUMNS
        return fitting_since(self.connection, self.table, size, max_bytes)

    def _names(self, pattern: str) -> builtins.list[str]:
        """Return the event names that match; finds the few distinct ones by jumping the index."""
        if "*" not in pattern:
            return [pattern]
        parts = pattern.split("*")
        names: list[str] = []
        name = self._scalar(select(func.min(self.c.event)))
        while name is not None:
            if _holds(name, parts):
                names.append(name)
            name = self._scalar(select(func.min(self.c.event)).where(self.c.event > name))
        return names


def _holds(name: str, parts: Sequence[str]) -> bool:
    """Tell whether a name has the parts in their order, the first at its beginning and the last at its end.

    Not a regular expression: one with twelve stars takes half a minute, in which nobody else is served."""
    first, *between, last = parts
    at, end = len(first), len(name) - len(last)
    if at > end or not (name.startswith(first) and name.endswith(last)):
        return False
    for part in between:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
