"""How much room a table takes, and what of it must go so that the rest fits.

Owns: measuring. Never: deleting (each repository deletes its own rows).
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, Table, func, select, text

_MINUTE_MS = 60_000
_SQLITE_SIZE = (
    "SELECT (page_count - freelist_count) * page_size "
    "FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()"
)


def stored_bytes(connection: Connection, table: Table) -> int:
    """Return the size of the table (PostgreSQL) or of the file without its free pages (SQLite)."""
    if connection.dialect.name == "sqlite":
        return int(connection.execute(text(_SQLITE_SIZE)).scalar_one())
    size = connection.execute(text("SELECT pg_total_relation_size(:name)"), {"name": table.name})
    return int(size.scalar_one())


def fitting_since(
    connection: Connection, table: Table, size_of_row: ColumnElement[int], max_bytes: int
) -> int | None:
    """Return the time (milliseconds since the epoch) before which rows must go, so that the others have
    at most `max_bytes`; None when all may stay.

    To the minute; the newest minute always stays. Reads the whole table, but only when what is
    stored takes more than `max_bytes` at all."""
    if stored_bytes(connection, table) <= max_bytes:
        return None
    minute = (table.c.created_at // _MINUTE_MS).label("minute")
    newest_first = select(minute, func.sum(size_of_row)).group_by(minute).order_by(minute.desc())
    total, since = 0, None
    for number, held in connection.execute(newest_first).all():
        total += int(held)
        if total > max_bytes and since is not None:
            return since
        since = int(number) * _MINUTE_MS
    return None
