"""Inserts that meet an existing key, in the dialect of each database.

Owns: `ON CONFLICT`. Never: which table or why.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import Insert


def insert_or_keep(connection: Connection, table: Table, values: dict[str, Any]) -> bool:
    """Insert the values unless the key exists; tell whether a row was inserted."""
    # Otherwise SQLAlchemy forgets the count of an insert.
    options = {"preserve_rowcount": True}
    statement = _keep(connection.dialect.name, table)
    return connection.execute(statement, values, execution_options=options).rowcount > 0


def insert_or_overwrite(connection: Connection, table: Table, values: dict[str, Any]) -> None:
    """Insert the values, or set every other column when the key exists."""
    connection.execute(_overwrite(connection.dialect.name, table), values)


@cache
def _keep(dialect: str, table: Table) -> Insert:
    return _insert(dialect, table).on_conflict_do_nothing(index_elements=list(table.primary_key.columns))


@cache
def _overwrite(dialect: str, table: Table) -> Insert:
    statement = _insert(dialect, table)
    return statement.on_conflict_do_update(
        index_elements=list(table.primary_key.columns),
        set_={c.name: statement.excluded[c.name] for c in table.columns if not c.primary_key},
    )


def _insert(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table).inline()
