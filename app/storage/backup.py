"""Maintenance of a database: upgrade, backup, restore, check.

Owns: the commands of `kaged db`. Never: their output. Upgrade and restore refuse while a daemon runs.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, MetaData, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from app.errors import StorageError
from app.storage.dump import Dump, count_rows, write_dump
from app.storage.engine import Database, PostgresDatabase, SqliteDatabase, close_connection, open_database
from app.storage.failures import translate
from app.storage.file_failures import file_error
from app.storage.lock import DataFolderLock
from app.storage.repositories.issue_search import fill_search
from app.storage.repositories.leases import LeaseRepository, LeaseState
from app.storage.repositories.projects import ProjectRepository, ProjectTrustRepository
from app.storage.repositories.workspaces import WorkspaceRepository
from app.storage.revisions import HEAD
from app.storage.schema_version import (
    current_revision,
    is_due_beside_daemons,
    is_own_table,
    is_usable,
    migrate,
    migrate_with_copy,
    migration_transaction,
    require_known,
    require_whole,
    run_migrations,
)

_SQLITE_FILES = ("", "-wal", "-shm")


@dataclass(frozen=True, slots=True)
class UpgradeReport:
    """`before` is None for an empty database; `copy` is the backup of an embedded file."""

    database: str
    before: str | None
    after: str
    copy: Path | None


@dataclass(frozen=True, slots=True)
class BackupReport:
    """`rows` counts by table."""

    database: str
    file: Path
    rows: dict[str, int]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """`problems` is empty when all is well; each is a sentence."""

    database: str
    schema: str | None
    needed: str
    problems: tuple[str, ...]
    rows: dict[str, int]

    @property
    def ok(self) -> bool:
        return not self.problems


async def upgrade(url: str | None, data_dir: Path) -> UpgradeReport:
    """Migrate the schema to this version, completely or not at all.

    Raises StorageError, or Conflict while a daemon uses the data folder or the database. Daemons that share a
    PostgreSQL database may go on when all that is due is one revision that only adds."""
    return await asyncio.to_thread(_upgrade, url, data_dir)


async def backup(url: str | None, data_dir: Path, target: Path) -> BackupReport:
    """Write every row to a portable file, also while a daemon runs. Raises StorageError."""
    return await asyncio.to_thread(_backup, open_database(url, data_dir), target)


async def restore(url: str | None, data_dir: Path, source: Path) -> BackupReport:
    """Replace the whole content by that of a backup, of this or of an older schema.

    An embedded file is kept beside the new one as `kaged.db.backup-before-restore-<time>`.
    Raises StorageError, or Conflict while a daemon uses the data folder or the database."""
    return await asyncio.to_thread(_restore, open_database(url, data_dir), data_dir, source)


async def check(url: str | None, data_dir: Path) -> CheckReport:
    """Look for damage, broken references and a wrong schema. Raises StorageError."""
    return await asyncio.to_thread(_check, open_database(url, data_dir))


async def project_owners(url: str, data_dir: Path) -> list[LeaseState]:
    """Return every project with the daemon that owns it. Raises StorageError."""
    database = open_database(url, data_dir)

    def read() -> list[LeaseState]:
        with _reading(database) as connection:
            return LeaseRepository(connection).states()

    return await asyncio.to_thread(read)


async def trusted_by_upgrade(url: str | None, data_dir: Path) -> list[str]:
    """Return the roots of the projects that the upgrade trusted. Raises StorageError."""
    return await asyncio.to_thread(_trusted_by_upgrade, open_database(url, data_dir))


async def held_workspaces(url: str | None, data_dir: Path) -> tuple[set[str], list[str]]:
    """Return the workspaces whose folder is not removed, and the roots of all projects. Raises StorageError,
    also for a database that is not there or has another schema than this release's."""
    return await asyncio.to_thread(_held_workspaces, open_database(url, data_dir))


def _upgrade(url: str | None, data_dir: Path) -> UpgradeReport:
    database = open_database(url, data_dir)
    if isinstance(database, PostgresDatabase):
        with _reading(database) as connection:
            beside = is_due_beside_daemons(current_revision(connection))
        if beside:
            return _migrated(open_database(url, data_dir, shared=True), beside_daemons=True)
    with DataFolderLock(data_dir):
        return _migrated(database)


def _migrated(database: Database, *, beside_daemons: bool = False) -> UpgradeReport:
    with _connected(database) as connection:
        with connection.begin():
            before = current_revision(connection)
            require_whole(connection, before)
        require_known(before)
        copy = None
        if before != HEAD:
            if isinstance(database, SqliteDatabase) and before is not None:
                copy = migrate_with_copy(database, connection, before)
            else:
                migrate(connection, beside_daemons=beside_daemons)
        return UpgradeReport(database.describe(), before, HEAD, copy)


def _backup(database: Database, target: Path) -> BackupReport:
    if target.exists():
        raise StorageError(f"{target} exists already; name another file")
    _require_file(database)
    with _reading(database) as connection:
        revision = current_revision(connection)
        require_known(revision)
        if revision is None:
            raise StorageError(f"the database {database.describe()} is empty; there is nothing to back up")
        rows = write_dump(connection, revision, target)
    return BackupReport(database.describe(), target, rows)


def _restore(database: Database, data_dir: Path, source: Path) -> BackupReport:
    dump = Dump(source)
    require_known(dump.revision)
    with DataFolderLock(data_dir):
        if isinstance(database, SqliteDatabase):
            rows = _restore_file(database.path, dump)
        else:
            with _connected(database) as connection, migration_transaction(connection):
                _drop_tables(connection)
                rows = _fill(connection, dump)
    return BackupReport(database.describe(), source, rows)


def _restore_file(path: Path, dump: Dump) -> dict[str, int]:
    """Fill a new file, then replace the old one."""
    fresh = path.with_name(path.name + ".restoring")
    try:
        _remove(fresh)
        with _connected(SqliteDatabase(fresh)) as connection, migration_transaction(connection):
            rows = _fill(connection, dump)
        _take_the_place(fresh, path)
    except OSError as problem:
        raise file_error(problem, f"the database {path} cannot be replaced") from problem
    finally:
        with suppress(OSError):
            _remove(fresh)
    return rows


def _take_the_place(fresh: Path, path: Path) -> None:
    """Keep the old files under another name, then put the new one in their place. A kill at any moment leaves
    a complete database at `path`; the old log, which would damage the new file, is removed first."""
    kept = _name_to_keep(path)
    for suffix in _SQLITE_FILES:
        # Not opened to fold its log in: it may be damaged.
        old = path.with_name(path.name + suffix)
        if old.exists():
            try:
                os.link(old, kept.with_name(kept.name + suffix))
            except OSError:  # a file system without links
                old.rename(kept.with_name(kept.name + suffix))
    for suffix in _SQLITE_FILES[1:]:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    fresh.replace(path)


def _name_to_keep(path: Path) -> Path:
    """Return a name that no file has, nor one with the ending of a log."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    kept, number = path.with_name(f"{path.name}.backup-before-restore-{stamp}"), 1
    while any(kept.with_name(kept.name + suffix).exists() for suffix in _SQLITE_FILES):
        number += 1
        kept = path.with_name(f"{path.name}.backup-before-restore-{stamp}-{number}")
    return kept


def _fill(connection: Connection, dump: Dump) -> dict[str, int]:
    """Create the schema of the dump in an empty database, load the rows, and migrate."""
    run_migrations(connection, dump.revision)
    rows = dump.load(connection)
    if dump.revision != HEAD:
        run_migrations(connection, HEAD)
    fill_search(connection)
    return rows


def _drop_tables(connection: Connection) -> None:
    require_known(current_revision(connection))
    metadata = MetaData()
    metadata.reflect(connection, only=lambda name, _: is_own_table(name))
    metadata.drop_all(connection)


def _check(database: Database) -> CheckReport:
    _require_file(database)
    problems: list[str] = []
    rows: dict[str, int] = {}
    with _reading(database) as connection:
        revision = current_revision(connection)
        problems += _losses(connection, revision)
        if not is_usable(database, revision) and not problems:
            problems.append(f"the schema is {revision or 'missing'}, this version needs {HEAD}")
        if isinstance(database, SqliteDatabase):
            problems += _damage(connection)
        if not problems:
            rows = count_rows(connection)
    return CheckReport(database.describe(), revision, HEAD, tuple(problems), rows)


def _trusted_by_upgrade(database: Database) -> list[str]:
    if isinstance(database, SqliteDatabase) and not database.path.exists():
        return []
    with _reading(database) as connection:
        if current_revision(connection) != HEAD:
            return []
        return [row.root for row in ProjectTrustRepository(connection).upgraded()]


MOST_PROJECTS = 10_000


def _held_workspaces(database: Database) -> tuple[set[str], list[str]]:
    if isinstance(database, SqliteDatabase) and not database.path.exists():
        raise StorageError("There is no database.")
    with _reading(database) as connection:
        if current_revision(connection) != HEAD:
            raise StorageError("The schema is not this release's.")
        held = {row.id for row in WorkspaceRepository(connection).with_folder()}
        return held, [row.root for row in ProjectRepository(connection).list(limit=MOST_PROJECTS).items]


def _losses(connection: Connection, revision: str | None) -> Iterator[str]:
    try:
        require_whole(connection, revision)
    except StorageError as loss:
        yield loss.message
    except DBAPIError as failure:
        yield f"the file is damaged: {failure.orig}"


def _damage(connection: Connection) -> Iterator[str]:
    try:
        for (finding,) in connection.execute(text("PRAGMA integrity_check(20)")):
            if finding != "ok":
                yield f"the file is damaged: {finding}"
        for table, row, parent, _ in connection.execute(text("PRAGMA foreign_key_check")):
            yield f"row {row} of {table} refers to a row of {parent} that does not exist"
    except DBAPIError as failure:  # so damaged that it cannot be read to the end
        yield f"the file is damaged: {failure.orig}"


@contextmanager
def _connected(database: Database) -> Iterator[Connection]:
    """A connection for writing that no other daemon has."""
    with _translated():
        connection = database.connect(exclusive=True)
    try:
        with _translated():
            yield connection
            database.before_close(connection)
    finally:
        close_connection(connection)


@contextmanager
def _reading(database: Database) -> Iterator[Connection]:
    """A connection whose transaction sees one state."""
    engine = database.readers()
    try:
        with _translated(), engine.connect() as connection:
            yield connection
    finally:
        engine.dispose()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as failure:
        raise translate(failure) from failure


def _require_file(database: Database) -> None:
    if isinstance(database, SqliteDatabase) and not database.path.exists():
        raise StorageError(f"there is no database at {database.path}; start kaged once, or name --data-dir")


def _remove(path: Path) -> None:
    for suffix in _SQLITE_FILES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
