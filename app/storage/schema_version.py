"""The schema of a database, and migrating it to that of this version. Alembic is imported only for a
migration; a new database is created from the models, and a test holds them equal to the migrations.

Owns: the check at start, creating and migrating. Never: what a migration does
(`migrations/`).
"""

from __future__ import annotations

import glob
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection, inspect
from sqlalchemy.exc import DatabaseError
from sqlmodel import SQLModel

import app.storage.models
from app.errors import StorageError
from app.storage.engine import Database, SqliteDatabase, close_connection
from app.storage.failures import translate
from app.storage.file_failures import file_error
from app.storage.private_file import make_private
from app.storage.repositories.issue_search import create_search_tables, fill_search, is_search_table
from app.storage.revisions import HEAD, REVISIONS, is_next_that_adds, only_adds

# What lies in a data folder once a daemon had a database there.
_LEFT_BY_USE = ("token", "uploads", "worktrees", "scratch")

# As alembic makes it.
_VERSION_TABLE = (
    "CREATE TABLE alembic_version "
    "(version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)


def current_revision(connection: Connection) -> str | None:
    """Return the schema revision of a database; None when it is empty.

    Raises StorageError when its tables are not kaged's."""
    inspector = inspect(connection)
    if inspector.has_table("alembic_version"):
        return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    foreign = ", ".join(sorted(inspector.get_table_names())[:3])
    if foreign:
        raise StorageError(f"the database has tables that are not kaged's ({foreign}); use another one")
    return None


def is_usable(database: Database, revision: str | None) -> bool:
    """Tell whether this version can use a database of a revision: its own, or on PostgreSQL the next one that
    only adds, to which daemons are updated one after the other."""
    if revision == HEAD:
        return True
    return not isinstance(database, SqliteDatabase) and is_next_that_adds(revision, HEAD)


def is_due_beside_daemons(revision: str | None) -> bool:
    """Tell whether all that is due is one revision that only adds, so that daemons of the one before may go
    on meanwhile."""
    due = REVISIONS[REVISIONS.index(revision) + 1 :] if revision in REVISIONS else ()
    return len(due) == 1 and only_adds(due[0])


def is_own_table(name: str) -> bool:
    """Tell whether a table is kaged's, of this or of an older schema: others may lie beside them."""
    return name in SQLModel.metadata.tables or name == "alembic_version" or is_search_table(name)


def require_whole(connection: Connection, revision: str | None) -> None:
    """Raise StorageError when a database has lost its revision, or a table or column of this version's
    schema. What an older schema has lost its migrations find out."""
    inspector, tables = inspect(connection), SQLModel.metadata.tables
    present = set(inspector.get_table_names())
    known = revision == HEAD or is_next_that_adds(revision, HEAD)
    lost: list[str] = []
    if revision is None and tables.keys() & present:
        lost = ["the row of alembic_version"]
    elif known:
        lost = sorted(tables.keys() - present)
    if known and not lost:
        found = inspector.get_multi_columns(filter_names=list(tables))
        names = {table: {column["name"] for column in columns} for (_, table), columns in found.items()}
        lost = [
            f"{table}.{name}" for table in tables for name in {*tables[table].columns.keys()} - names[table]
        ]
    if lost:
        raise StorageError(
            f"the database has lost parts ({', '.join(lost[:3])}): stop the daemon and restore a "
            "backup with `kaged db restore FILE`",
            reason="parts_missing",
        )


def require_known(revision: str | None) -> None:
    """Raise StorageError when a newer version of kaged has written the database."""
    if revision is not None and revision not in REVISIONS:
        raise StorageError(
            f"the database has the schema {revision}, which is newer than this version of kaged knows "
            f"(up to {HEAD}): update kaged, or restore a backup with `kaged db restore`"
        )


def open_at_head(database: Database) -> Connection:
    """Return a connection for writing to a database at the current schema; blocking.

    An embedded file is created, or copied and migrated; PostgreSQL is only checked. Raises StorageError, and
    Conflict when another daemon has the database."""
    if isinstance(database, SqliteDatabase):
        database.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_emptied(database.path)
    try:
        connection = database.connect(exclusive=True)
    except DatabaseError as failure:
        raise translate(failure) from None
    try:
        _bring_to_head(database, connection)
    except BaseException as failure:
        close_connection(connection)
        if isinstance(failure, DatabaseError):
            raise translate(failure) from failure
        raise
    return connection


def _bring_to_head(database: Database, connection: Connection) -> None:
    with connection.begin():
        revision = current_revision(connection)
        if is_usable(database, revision):
            require_whole(connection, revision)
            return
        require_known(revision)
        require_whole(connection, revision)
        if revision is None and isinstance(database, SqliteDatabase):
            create_at_head(connection)
            return
    if not isinstance(database, SqliteDatabase):
        raise StorageError(
            f"the database {database.describe()} has the schema {revision or '(none)'}, this version of "
            f"kaged needs {HEAD}: run `kaged db upgrade`",
            reason="schema_outdated",
        )
    migrate_with_copy(database, connection, revision)


def _refuse_emptied(path: Path) -> None:
    """Raise StorageError for an empty file in a data folder that was used before."""
    if not path.exists() or path.stat().st_size:
        return
    left = [name for name in _LEFT_BY_USE if (path.parent / name).exists()]
    left += sorted(one.name for one in path.parent.glob(f"{glob.escape(path.name)}.*"))
    if left:
        raise StorageError(
            f"the database {path} is empty (0 bytes), but its folder has been used ({', '.join(left[:3])}): "
            "restore a backup with `kaged db restore FILE`, or delete the empty file to begin without "
            "the earlier sessions",
            reason="database_emptied",
        )


def create_at_head(connection: Connection) -> None:
    """Make every table of the models in an empty database, inside the open transaction."""
    # Named, so that the import that fills the metadata is seen to be used.
    assert app.storage.models.__all__
    SQLModel.metadata.create_all(connection, checkfirst=False)
    create_search_tables(connection)
    connection.exec_driver_sql(_VERSION_TABLE)
    connection.exec_driver_sql(f"INSERT INTO alembic_version (version_num) VALUES ('{HEAD}')")


def migrate(connection: Connection, *, beside_daemons: bool = False) -> None:
    """Run the migrations that are due in one transaction: all of them or, on failure, none. Beside daemons
    the search is left as these keep it.

    Raises StorageError that names what failed."""
    with migration_transaction(connection):
        run_migrations(connection, HEAD)
        if not beside_daemons:
            fill_search(connection)


def migrate_with_copy(database: SqliteDatabase, connection: Connection, revision: str | None) -> Path:
    """Copy an embedded file, then migrate it; return the copy. Raises StorageError, and removes the copy
    then: restarts would fill the disk."""
    copy = copy_before_migration(database.path, revision)
    try:
        migrate(connection)
    except StorageError:
        copy.unlink(missing_ok=True)
        raise
    return copy


@contextmanager
def migration_transaction(connection: Connection) -> Iterator[None]:
    """A transaction that may rebuild tables; every failure in it undoes all of it."""
    sqlite = connection.dialect.name == "sqlite"
    if sqlite:
        # Tables are rebuilt under the same name; the check below takes the place of the rule.
        _set_foreign_keys(connection, on=False)
    try:
        with connection.begin():
            yield
            if sqlite and connection.exec_driver_sql("PRAGMA foreign_key_check").first():
                raise StorageError("rows would be left that belong to nothing")
    except Exception as failure:
        raise StorageError(f"the change was undone, nothing was kept: {translate(failure)}") from failure
    finally:
        if sqlite:
            _set_foreign_keys(connection, on=True)


def run_migrations(connection: Connection, revision: str) -> None:
    """Run the migrations up to a revision inside the open transaction."""
    # Alembic takes up to 0.3 s to import and is needed once per release.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def migrations_folder() -> Path:
    """Return the folder of the migrations, which lies beside the package."""
    return Path(__file__).parents[2] / "migrations"


def copy_before_migration(path: Path, revision: str | None) -> Path:
    """Copy a database file, WAL included, to `kaged.db.backup-<revision>-<time>`; return its path. Raises
    StorageError."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    target = path.with_name(f"{path.name}.backup-{revision or 'empty'}-{stamp}")
    partial = target.with_name(target.name + ".partial")
    try:
        _remove_partial_copies(path)  # of a process that was killed
        needed = path.stat().st_size
        if shutil.disk_usage(path.parent).free < needed:
            raise StorageError(
                f"no space for the backup before the migration: {needed} bytes are needed in {path.parent}"
            )
        make_private(partial)
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(partial)) as copy:
            source.backup(copy)
        return partial.replace(target)
    except (OSError, sqlite3.Error) as failure:
        with suppress(OSError):
            _remove_partial_copies(path)
        if isinstance(failure, OSError):
            raise file_error(failure, f"the backup {target} cannot be made before the migration") from failure
        raise translate(failure) from failure


def _remove_partial_copies(path: Path) -> None:
    for found in path.parent.glob(f"{glob.escape(path.name)}.backup-*.partial*"):
        found.unlink(missing_ok=True)


def _set_foreign_keys(connection: Connection, *, on: bool) -> None:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    driver.execute(f"PRAGMA foreign_keys={'ON' if on else 'OFF'}")
