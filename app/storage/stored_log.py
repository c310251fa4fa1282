"""The stored log, read without a daemon.

Owns: one page of it. Never: writing, or migrating a database for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from app.errors import StorageError
from app.storage.engine import SqliteDatabase, open_database
from app.storage.failures import translate
from app.storage.models import LogEntry
from app.storage.pages import Page
from app.storage.repositories.logs import LogRepository
from app.storage.revisions import HEAD
from app.storage.schema_version import current_revision, is_usable


def read_log(url: str | None, data_dir: Path, filters: dict[str, Any]) -> Page[LogEntry]:
    """Return a page of the log, as `LogRepository.list` with these filters. Blocks. Raises StorageError when
    there is no database, or one of another schema."""
    database = open_database(url, data_dir)
    if isinstance(database, SqliteDatabase) and not database.path.exists():
        raise StorageError(f"there is no log yet: no daemon has stored anything in {data_dir}")
    engine = database.readers()
    try:
        with engine.connect() as connection, connection.begin():
            revision = current_revision(connection)
            if not is_usable(database, revision):
                raise StorageError(
                    f"the database {database.describe()} has the schema {revision or '(none)'}, and this "
                    f"version reads {HEAD}; start the daemon, which migrates it, or run `kaged db upgrade`"
                )
            return LogRepository(connection).list(**filters)
    except SQLAlchemyError as failure:
        raise translate(failure) from failure
    finally:
        engine.dispose()
