"""The two databases, SQLite and PostgreSQL, behind one interface.

Owns: connections, their settings, how a transaction begins, and whether it is lost. Never: tables, commits.
"""

from __future__ import annotations

import select
import sqlite3
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from app.errors import ConfigError, Conflict, StorageError
from app.storage.private_file import make_private

DATABASE_FILE = "kaged.db"
READERS = 4

_WAL_LIMIT_BYTES = 16 * 1024 * 1024
_BUSY_TIMEOUT_MS = 10_000
# "kaged" in ASCII: one key for the advisory lock that a daemon holds on its PostgreSQL database.
_ADVISORY_LOCK = 0x6B61676564
_CLAIM_TIMEOUT = "2s"
# As long as SQLite waits for another process; PostgreSQL would wait for ever for `VACUUM FULL` and the like.
_LOCK_TIMEOUT = "10s"
_LOCK_NOT_AVAILABLE = "55P03"
_ARGUMENTS: dict[str, Any] = {
    "connect_timeout": 10,
    "application_name": "kaged",
    # A server that vanished without a word is noticed within a minute; by default it takes up to two hours.
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 50_000,
}


_LEASE_ARGUMENTS: dict[str, Any] = {"connect_timeout": 3, "tcp_user_timeout": 4_000}
"""A lease is renewed in seconds, or not at all."""
_LEASE_TIMEOUT = "3s"
# A transaction of a stopped daemon holds its leases: nobody could take them. Both clocks begin with the stop,
# so that as long as a lease lasts is soon enough. The server may also wait until a result is read, which is
# not idling: then its connection is closed (a Unix socket is not).
_IDLE_TIMEOUT, _IDLE_LEASE_TIMEOUT = "10s", "5s"


class Database(ABC):
    """One database. `connect` returns connections for writing, `readers` an engine for reading."""

    name: Literal["sqlite", "postgresql"]

    @abstractmethod
    def describe(self) -> str:
        """Return where the database is, without its password."""

    @abstractmethod
    def connect(self, *, exclusive: bool) -> Connection:
        """Return a connection for writing; `exclusive` claims the database for this daemon.

        Raises StorageError when it cannot be reached, Conflict when another daemon has it."""

    def connect_for_leases(self) -> Connection:
        """Return a connection that gives up soon. Raises StorageError where there are no leases."""
        raise StorageError("storage.replicas needs a PostgreSQL database: set storage.url")

    def connect_to_listen(self) -> Connection:
        """Return a connection that waits for notices, outside of transactions. Raises StorageError where
        there are none."""
        raise StorageError("storage.replicas needs a PostgreSQL database: set storage.url")

    @abstractmethod
    def readers(self) -> Engine:
        """Return an engine whose transactions see one state each and cannot write."""

    @abstractmethod
    def begin(self, connection: Connection, *, durable: bool) -> None:
        """Begin a transaction whose commit waits for the disk, at least when `durable`."""

    @abstractmethod
    def holds(self, connection: Connection) -> bool:
        """Tell whether the open transaction still stands, so that a commit would store it."""

    @abstractmethod
    def stands(self, connection: Connection) -> bool:
        """Tell whether an idle connection is still open."""

    @abstractmethod
    def lost(self, connection: Connection) -> bool:
        """Tell whether the connection itself is gone."""

    @abstractmethod
    def before_close(self, connection: Connection) -> None:
        """Leave the database tidy; called once, with no other connection open."""


class SqliteDatabase(Database):
    """An embedded database file in WAL mode."""

    name = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path
        # Of the only connection for writing; None until a transaction began.
        self._durable: bool | None = None

    def describe(self) -> str:
        return str(self.path)

    def connect(self, *, exclusive: bool = False) -> Connection:
        engine = self._engine(NullPool)
        self._keep_private()

        def configure(driver: Any, _record: Any) -> None:
            # Before the first table and before WAL: it cannot be switched on later.
            driver.execute("PRAGMA auto_vacuum=INCREMENTAL")
            driver.execute("PRAGMA journal_mode=WAL")
            driver.execute("PRAGMA synchronous=NORMAL")
            driver.execute("PRAGMA foreign_keys=ON")
            driver.execute(f"PRAGMA journal_size_limit={_WAL_LIMIT_BYTES}")

        event.listen(engine, "connect", configure)
        # A deferred transaction that reads first and writes later fails at once when another
        # connection wrote in between; an immediate one waits its turn.
        event.listen(engine, "begin", _begin_immediate)
        self._durable = None
        return engine.connect()

    def _keep_private(self) -> None:
        """SQLite gives the log and the index beside the file its mode."""
        try:
            make_private(self.path)
        except OSError as failure:
            raise StorageError(f"cannot open the database {self.path}: {failure.strerror}") from None

    def readers(self) -> Engine:
        engine = self._engine(None, pool_size=READERS, max_overflow=0)
        event.listen(engine, "connect", _configure_sqlite_reader)
        event.listen(engine, "begin", _begin_deferred)
        return engine

    def _engine(self, pool: type[NullPool] | None, **options: object) -> Engine:
        return create_engine(
            URL.create("sqlite", database=str(self.path)),
            poolclass=pool,
            # None: the driver begins nothing by itself, so that tables are made inside the
            # transaction too and a failed migration leaves nothing behind.
            connect_args={
                "isolation_level": None,
                "check_same_thread": False,
                "timeout": _BUSY_TIMEOUT_MS / 1000,
                "cached_statements": 256,
            },
            **options,
        )

    def begin(self, connection: Connection, *, durable: bool) -> None:
        if durable != self._durable:
            level = "FULL" if durable else "NORMAL"
            driver_of(connection).execute(f"PRAGMA synchronous={level}")
            self._durable = durable
        connection.begin()

    def holds(self, connection: Connection) -> bool:
        # A full disk and some I/O errors make SQLite roll the whole transaction back by itself.
        return bool(driver_of(connection).in_transaction)

    def stands(self, connection: Connection) -> bool:
        return True

    def lost(self, connection: Connection) -> bool:
        return connection.invalidated

    def before_close(self, connection: Connection) -> None:
        driver_of(connection).execute("PRAGMA wal_checkpoint(TRUNCATE)")


class PostgresDatabase(Database):
    """A PostgreSQL database by URL; `shared` by several daemons, or claimed by one."""

    name = "postgresql"

    def __init__(self, url: URL, *, shared: bool = False) -> None:
        self._url = url.set(drivername="postgresql+psycopg")
        self._shared = shared

    def describe(self) -> str:
        return self._url.set(drivername="postgresql", query={}).render_as_string(hide_password=True)

    def connect(self, *, exclusive: bool = False) -> Connection:
        engine = create_engine(self._url, poolclass=NullPool, connect_args=self._arguments())
        event.listen(engine, "connect", _configure_postgres_writer)
        if self._shared:
            event.listen(engine, "connect", _limit_idling)
        connection = engine.connect()
        try:
            if exclusive:
                self._claim(connection)
        except BaseException:
            close_connection(connection)
            raise
        return connection

    def connect_for_leases(self) -> Connection:
        arguments = {**_ARGUMENTS, **_LEASE_ARGUMENTS}
        engine = create_engine(self._url, poolclass=NullPool, connect_args=arguments)
        event.listen(engine, "connect", _limit_leases)
        return engine.connect()

    def connect_to_listen(self) -> Connection:
        arguments = {**_ARGUMENTS, **_LEASE_ARGUMENTS, "autocommit": True}
        return create_engine(self._url, poolclass=NullPool, connect_args=arguments).connect()

    def readers(self) -> Engine:
        engine = create_engine(
            self._url,
            pool_size=READERS,
            max_overflow=0,
            isolation_level="REPEATABLE READ",
            execution_options={"postgresql_readonly": True},
            connect_args=self._arguments(),
        )
        event.listen(engine, "connect", _limit_waiting)
        return engine

    def _arguments(self) -> dict[str, Any]:
        """Return the defaults that the URL does not override."""
        return {name: value for name, value in _ARGUMENTS.items() if name not in self._url.query}

    def _claim(self, connection: Connection) -> None:
        try:
            # Waits a little: the server notices the end of a killed daemon with a delay.
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_CLAIM_TIMEOUT}'")
            lock = "pg_advisory_lock_shared" if self._shared else "pg_advisory_lock"
            connection.exec_driver_sql(f"SELECT {lock}({_ADVISORY_LOCK})")
        except OperationalError as failure:
            connection.rollback()
            if getattr(failure.orig, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
                raise
        else:
            connection.rollback()
            return
        holder = connection.exec_driver_sql(_LOCK_HOLDER).first()
        who = f": {holder[0]} from {holder[1]}, since {holder[2]}" if holder else ""
        raise Conflict(
            f"another kaged daemon uses the database {self.describe()}{who}; stop it first",
            reason="database_in_use",
        )

    def begin(self, connection: Connection, *, durable: bool) -> None:
        # Every commit waits: the daemon lives on when the server crashes, and with it what it has published.
        connection.begin()

    def holds(self, connection: Connection) -> bool:
        # After an error PostgreSQL answers a commit with a silent rollback. Before the first statement the
        # driver has not begun.
        driver = driver_of(connection)
        return not driver.closed and driver.info.transaction_status.name in {"INTRANS", "IDLE"}

    def stands(self, connection: Connection) -> bool:
        driver = driver_of(connection)
        if driver.closed:
            return False
        arrived = select.poll()
        arrived.register(driver.fileno(), select.POLLIN)
        if arrived.poll(0):
            # Nothing was asked: it is a notice or the end. Rare enough for a round trip.
            try:
                connection.exec_driver_sql("SELECT 1")
                connection.rollback()
            except SQLAlchemyError:
                return False
        return True

    def lost(self, connection: Connection) -> bool:
        return connection.invalidated or connection.closed or bool(driver_of(connection).closed)

    def before_close(self, connection: Connection) -> None:
        return None


_LOCK_HOLDER = f"""
    SELECT coalesce(a.application_name, 'a client'), coalesce(host(a.client_addr), 'this machine'),
           to_char(a.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"')
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND l.classid = {_ADVISORY_LOCK >> 32} AND l.objid = {_ADVISORY_LOCK & 0xFFFFFFFF}
"""


def open_database(url: str | None, data_dir: Path, *, shared: bool = False) -> Database:
    """Return the database of the storage URL, by default the file in the data folder. Nothing is opened yet.
    `shared`: several daemons use it. Raises ConfigError."""
    if url is None:
        return SqliteDatabase(data_dir / DATABASE_FILE)
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # Without the cause: it quotes the URL, and with it the password.
        raise ConfigError("storage.url is not a URL; write postgresql://user@host/database") from None
    if parsed.drivername not in {"postgres", "postgresql", "postgresql+psycopg"}:
        raise ConfigError(
            f"storage.url has the scheme {parsed.drivername!r}; write postgresql://user@host/database, "
            "or leave it out for the embedded SQLite file"
        )
    return PostgresDatabase(parsed, shared=shared)


def close_connection(connection: Connection) -> None:
    """Close a connection of `Database.connect`, and the engine that was made for it."""
    connection.close()
    connection.engine.dispose()


def driver_of(connection: Connection) -> Any:
    """Return the connection of the driver (sqlite3 or psycopg) behind one of SQLAlchemy."""
    return connection.connection.driver_connection


def _begin_immediate(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _begin_deferred(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _configure_sqlite_reader(driver: Any, _record: Any) -> None:
    driver.execute("PRAGMA query_only=ON")


def _limit_waiting(driver: Any, _record: Any) -> None:
    driver.autocommit = True
    driver.execute(f"SET lock_timeout TO '{_LOCK_TIMEOUT}'")
    driver.autocommit = False


def _limit_idling(driver: Any, _record: Any) -> None:
    driver.autocommit = True
    driver.execute(f"SET idle_in_transaction_session_timeout TO '{_IDLE_TIMEOUT}'")
    driver.execute(f"SET tcp_user_timeout TO '{_IDLE_TIMEOUT}'")
    driver.autocommit = False


def _limit_leases(driver: Any, _record: Any) -> None:
    driver.autocommit = True
    driver.execute(f"SET idle_in_transaction_session_timeout TO '{_IDLE_LEASE_TIMEOUT}'")
    driver.execute(f"SET statement_timeout TO '{_LEASE_TIMEOUT}'")
    # A renewal must survive a crash of the server: its owner counts on it.
    driver.execute("SET synchronous_commit TO on")
    driver.autocommit = False


def _configure_postgres_writer(driver: Any, record: Any) -> None:
    _limit_waiting(driver, record)
    driver.autocommit = True
    encoding = driver.execute("SHOW server_encoding").fetchone()[0]
    # Whatever the server's default.
    driver.execute("SET synchronous_commit TO on")
    driver.autocommit = False
    if encoding != "UTF8":
        raise StorageError(
            f"the PostgreSQL database is encoded in {encoding}; create it with ENCODING 'UTF8'"
        )


def sqlite_version() -> str:
    """Return the version of the SQLite library, such as `3.40.1`."""
    return sqlite3.sqlite_version
