"""What the database's own errors mean to the rest of the daemon.

Owns: the mapping from driver errors to the errors of `app/errors`. Never: recovery.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from app.errors import Conflict, StorageError, StorageOutage

_DISK_FULL = "the disk is full: nothing more can be stored until space is freed for the data folder"
_READ_ONLY = "the database is read-only: check the owner and mode of the data folder, and its mount"

_SQLITE_HINTS = {
    sqlite3.SQLITE_FULL: _DISK_FULL,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: "the database file cannot be opened: check the data folder",
    sqlite3.SQLITE_NOTADB: "the file is not a kaged database: restore a backup with `kaged db restore`",
    sqlite3.SQLITE_CORRUPT: "the database file is damaged: run `kaged db check`, then `kaged db restore`",
    sqlite3.SQLITE_BUSY: "another process locks the database: stop it, then retry",
    sqlite3.SQLITE_IOERR: "reading or writing the database file failed: check the disk",
}

_SQLITE_LASTING = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})

_POSTGRES_HINTS = {
    "53100": _DISK_FULL,
    "25006": _READ_ONLY,
    "28P01": "PostgreSQL refused the password of the storage URL",
    "28000": "PostgreSQL refused the user of the storage URL",
    "55P03": "another client locks a table of the PostgreSQL database: let it finish, then retry",
    "3D000": "the PostgreSQL database of the storage URL does not exist",
    "42501": "the PostgreSQL user of the storage URL lacks a privilege",
}

# Classes of SQLSTATE: connection, transaction rollback, resources, operator intervention, system.
_POSTGRES_PASSING = frozenset({"08", "40", "53", "57", "58"})


def translate(error: Exception) -> Exception:
    """Return Conflict for a broken constraint, StorageError for other database errors, and other errors as
    they are."""
    if isinstance(error, IntegrityError):
        return _conflict(error)
    if isinstance(error, DBAPIError):
        return storage_error(error.orig or error)
    if isinstance(error, SQLAlchemyError | sqlite3.Error) or type(error).__module__.startswith("psycopg"):
        return storage_error(error)
    return error


def storage_error(error: BaseException) -> StorageError:
    """Return a StorageError that says what to do; a StorageOutage when the write may work later."""
    hint = _hint(error)
    # Only the first line: the lines after it may quote the values of the row.
    said = (str(error).strip().splitlines() or [type(error).__name__])[0]
    kind = StorageOutage if _passing(error, hint) else StorageError
    return kind(f"{hint} ({said})" if hint else f"the database failed: {said}")


def _passing(error: BaseException, hint: str | None) -> bool:
    code: Any = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int):
        return hint is not None and code & 0xFF not in _SQLITE_LASTING
    state: Any = getattr(error, "sqlstate", None)
    return hint is not None or (isinstance(state, str) and state[:2] in _POSTGRES_PASSING)


def _hint(error: BaseException) -> str | None:
    code: Any = getattr(error, "sqlite_errorcode", None)
    if isinstance(code, int):
        return _SQLITE_HINTS.get(code & 0xFF)
    state: Any = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        return _POSTGRES_HINTS.get(state)
    if type(error).__module__.startswith("psycopg"):
        return "PostgreSQL cannot be reached or closed the connection"
    return None


def _conflict(error: IntegrityError) -> Exception:
    original: Any = error.orig
    name = getattr(original, "sqlite_errorname", "") or ""
    state = getattr(original, "sqlstate", "") or ""
    if name in {"SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"} or state == "23505":
        return Conflict("a row with this key is stored already", reason="duplicate")
    if name == "SQLITE_CONSTRAINT_FOREIGNKEY" or state == "23503":
        return Conflict("the row belongs to, or is needed by, another row", reason="foreign_key")
    return storage_error(original)
