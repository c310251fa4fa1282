"""The tables of the search, which are made from others.

Owns: making them in a new database, and telling them from the tables that hold what cannot be made again:
backups have only those. Never: what is in them (`repositories.issue_search`).
"""

from __future__ import annotations

from sqlalchemy import Connection

from app.storage.repositories.issue_search import (
    METADATA,
    POSTGRESQL_INDEX,
    PREFIX,
    SQLITE_INDEX,
    IssueSearchRepository,
)


def is_search_table(name: str | None) -> bool:
    """Tell whether a table can be filled from others; those of FTS5 are among them."""
    return name is not None and name.startswith(PREFIX)


def create_search_tables(connection: Connection) -> None:
    """Make the tables in the open transaction."""
    METADATA.create_all(connection, checkfirst=False)
    index = (SQLITE_INDEX,) if connection.dialect.name == "sqlite" else POSTGRESQL_INDEX
    for statement in index:
        connection.exec_driver_sql(statement)


def fill_search(connection: Connection) -> None:
    """Index what is not indexed, in the open transaction."""
    IssueSearchRepository(connection).fill()
