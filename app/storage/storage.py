"""The storage of one daemon: open, write, read, close. Called on the event loop, which it does not block.

Owns: the life of the writer thread and of the reader threads. Never: SQL, or what is stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from app.errors import StorageError
from app.observability import Redactor
from app.storage.engine import READERS, Database, close_connection, open_database
from app.storage.failures import translate
from app.storage.leases import Leases, Replica
from app.storage.schema_version import open_at_head
from app.storage.unit_of_work import UnitOfWork
from app.storage.writer import Lane, Statistics, Writer

T = TypeVar("T")


class Storage:
    """The database of one daemon: one writer, a few readers."""

    def __init__(
        self,
        database: Database,
        writer: Writer,
        readers: Engine,
        redactor: Redactor,
        leases: Leases | None = None,
    ) -> None:
        self.leases = leases
        self._database = database
        self._redactor = redactor
        self._writer = writer
        self._readers = readers
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="kaged-reader")
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    async def open(
        cls,
        settings_url: str | None,
        data_dir: Path,
        redactor: Redactor | None = None,
        *,
        replica: Replica | None = None,
    ) -> Storage:
        """Open the PostgreSQL database of the URL, or the SQLite file in the data folder. `redactor` removes
        secrets from audit rows; the default knows secrets by their shape. With `replica` other daemons may
        use the PostgreSQL database, too.

        The file is created, or copied and migrated, as needed; PostgreSQL is only checked. Raises
        ConfigError, StorageError, or Conflict when another daemon has the database."""
        database = open_database(settings_url, data_dir, shared=replica is not None)
        connection = await asyncio.to_thread(open_at_head, database)
        redactor = redactor if redactor is not None else Redactor()
        leases = Leases(database, replica) if replica is not None else None
        if leases is not None:
            try:
                await asyncio.to_thread(leases.start)
            except BaseException:
                close_connection(connection)
                raise
        writer = Writer(database, connection, asyncio.get_running_loop(), redactor, leases)
        writer.start()
        return cls(database, writer, database.readers(), redactor, leases)

    @property
    def database(self) -> Database:
        """Which database it is."""
        return self._database

    @property
    def statistics(self) -> Statistics:
        """What the writer did so far."""
        return self._writer.statistics

    @property
    def waiting(self) -> int:
        """How many units of work wait for the writer."""
        return self._writer.waiting

    def submit(
        self,
        statements: Callable[[UnitOfWork], T],
        *,
        durable: bool = False,
        lane: Lane | None = None,
        reopens: bool = False,
        parts: Sequence[Callable[[UnitOfWork], Any]] = (),
    ) -> asyncio.Future[T]:
        """Queue a unit of work; the future is done when it is committed. Cancelling it does not stop the
        unit.

        After an outage the later units of a `lane` fail, until one `reopens` it. `durable` waits for the
        disk, as acknowledged data must. The unit must let database errors pass. It runs once; one of several
        `parts` that fails, unless by an outage, is run again in these, in its place: the future then has the
        error `Divided`. Raises StorageError after `close`."""
        return self._writer.submit(statements, durable=durable, lane=lane, reopens=reopens, parts=parts)

    async def write(self, statements: Callable[[UnitOfWork], T], *, durable: bool = False) -> T:
        """Run a unit of work and wait until it is committed; see `submit`."""
        return await self._writer.submit(statements, durable=durable)

    async def read(self, statements: Callable[[UnitOfWork], T]) -> T:
        """Run a unit that only reads, in one transaction that sees every write committed before. It runs
        again when a PostgreSQL connection is lost. Raises StorageError after `close`."""
        if self._closing is not None:
            raise StorageError("the storage is closed: the daemon is stopping")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, statements)

    async def close(self) -> None:
        """Run queued units, end the threads, close the connections. May be called again."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        await self._writer.close()
        await asyncio.to_thread(self._release)

    def _release(self) -> None:
        self._threads.shutdown()
        if self.leases is not None:  # the writer has ended
            self.leases.close()
        self._readers.dispose()
        # Last: only with every reader gone can the WAL be folded into the file.
        self._writer.release()

    def _read(self, statements: Callable[[UnitOfWork], T]) -> T:
        try:
            return self._read_once(statements)
        except DBAPIError as failure:
            if not failure.connection_invalidated:
                raise translate(failure) from failure
        try:
            return self._read_once(statements)
        except SQLAlchemyError as failure:
            raise translate(failure) from failure

    def _read_once(self, statements: Callable[[UnitOfWork], T]) -> T:
        # Begun here: else each query through the ORM would be a transaction of its own.
        with self._readers.connect() as connection, connection.begin():
            return statements(UnitOfWork(connection, self._redactor))
