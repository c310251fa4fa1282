"""Compiled statements and the schema, shared by all SQLite databases of one test process.

SQLAlchemy compiles for each engine anew, which takes longer than SQLite takes to run it. A user's daemon has
two engines for months; the daemons of one test process have thousands.

Owns: that they share what is compiled. Never: connections, data, PostgreSQL.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

import app.storage.engine
import app.storage.schema_version
from app.storage.schema_version import create_at_head

_STATEMENTS = 5000
_FIRST: list[Engine] = []
_SCHEMA: list[str] = []


def share_compiled_statements() -> None:
    """Let every later database on SQLite use what the first one compiled."""
    vars(app.storage.engine)["create_engine"] = _sharing_engine
    vars(app.storage.schema_version)["create_at_head"] = _create_at_head


def _sharing_engine(url: URL, **options: Any) -> Engine:
    if url.drivername != "sqlite":
        return create_engine(url, **options)
    engine = create_engine(url, query_cache_size=_STATEMENTS, **options)
    if not _FIRST:
        _FIRST.append(engine)
    # A compiled statement is found by its dialect, so that both have to be the same.
    engine.dialect, engine._compiled_cache = _FIRST[0].dialect, _FIRST[0]._compiled_cache
    return engine


def _create_at_head(connection: Connection) -> None:
    """Make the tables by the statements that made those of the first database."""
    if connection.dialect.name != "sqlite":
        create_at_head(connection)
        return
    if not _SCHEMA:
        _SCHEMA[:] = _noted(connection)
        return
    for statement in _SCHEMA:
        connection.exec_driver_sql(statement)


def _noted(connection: Connection) -> list[str]:
    """Make the tables and return the statements that did it."""
    noted: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        assert not parameters, "a statement with parameters cannot be repeated by its text"
        noted.append(statement)

    event.listen(connection, "before_cursor_execute", note)
    try:
        create_at_head(connection)
    finally:
        event.remove(connection, "before_cursor_execute", note)
    return noted
