"""The one thread that writes. Everything queued runs as one group in one transaction; each unit of a group
has a savepoint, so a unit that fails is undone alone. Futures are resolved after the commit.

Owns: the writing connection, the order of writes, the commit, and the futures. Never: what a unit does.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from app.errors import StorageError, StorageOutage
from app.observability import Redactor
from app.storage.engine import Database, close_connection, driver_of
from app.storage.failures import translate
from app.storage.leases import Leases
from app.storage.unit_of_work import UnitOfWork

T = TypeVar("T")

# Bounds how long the first unit of a group waits for the last one.
_LARGEST_GROUP = 512


@dataclass(slots=True)
class Statistics:
    """What the writer did since it started."""

    commits: int = 0
    durable_commits: int = 0
    units: int = 0
    failed_units: int = 0
    largest_group: int = 0
    commit_seconds: float = 0.0


@dataclass(slots=True, eq=False)
class Lane:
    """Units that depend on each other. After an outage all later ones fail, until one reopens the lane."""

    outage: StorageOutage | None = None


class Divided(Exception):
    """A unit failed as a whole and was run in parts: what each has returned, or its error, in order."""

    def __init__(self) -> None:
        super().__init__("a unit of work was run in parts")
        self.outcomes: list[Outcome] = []


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one part of a divided unit has ended."""

    result: Any
    error: BaseException | None


@dataclass(slots=True, eq=False)
class _Unit:
    statements: Callable[[UnitOfWork], Any]
    future: asyncio.Future[Any]
    durable: bool
    lane: Lane | None = None
    reopens: bool = False
    parts: Sequence[Callable[[UnitOfWork], Any]] = ()
    result: Any = None
    error: Exception | None = None
    divided: Divided | None = None
    """Of a part: what is known of all of them."""
    is_last: bool = True


class Writer:
    """Runs units of work one after the other on its own thread."""

    def __init__(
        self,
        database: Database,
        connection: Connection,
        loop: asyncio.AbstractEventLoop,
        redactor: Redactor,
        leases: Leases | None = None,
    ) -> None:
        """`leases` are checked in every transaction."""
        self.statistics = Statistics()
        self._leases = leases
        self._redactor = redactor
        self._database = database
        self._connection: Connection | None = connection
        self._unit_of_work = UnitOfWork(connection, redactor)
        self._loop = loop
        self._queue: queue.SimpleQueue[_Unit | None] = queue.SimpleQueue()
        self._refusal: StorageError | None = None
        self._crashed = threading.Event()
        self._finished: asyncio.Future[None] = loop.create_future()
        self._thread = threading.Thread(target=self._run, name="kaged-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(
        self,
        statements: Callable[[UnitOfWork], T],
        *,
        durable: bool,
        lane: Lane | None = None,
        reopens: bool = False,
        parts: Sequence[Callable[[UnitOfWork], Any]] = (),
    ) -> asyncio.Future[T]:
        """Queue a unit; its future has the result once it is committed. Call it on the loop.

        A unit of several `parts` that fails, unless by an outage, is undone and run in these, each alone and
        before any later unit; its future then has the error `Divided`. Raises StorageError when the writer
        was closed or has crashed."""
        if self._refusal is not None:
            raise self._refusal
        future: asyncio.Future[T] = self._loop.create_future()
        self._queue.put(_Unit(statements, future, durable, lane, reopens, parts))
        if self._crashed.is_set():
            # In between: the thread may have emptied the queue before this unit was in it.
            self._fail_queued()
        return future

    @property
    def waiting(self) -> int:
        return self._queue.qsize()

    async def close(self) -> None:
        """Refuse new units, run those that are queued, and end the thread."""
        if self._refusal is None:
            self._refusal = StorageError("the storage is closed: the daemon is stopping")
            self._queue.put(None)
        await asyncio.shield(self._finished)

    def release(self) -> None:
        """Close the connection; blocking, after `close` and with no reader left."""
        if self._connection is None:
            return
        with contextlib.suppress(SQLAlchemyError, sqlite3.Error):  # committed is committed, tidy or not
            self._database.before_close(self._connection)
        self._drop_connection()

    def _run(self) -> None:
        units: list[_Unit] = []
        try:
            stop = False
            while not stop:
                units, stop = self._take()
                while units:
                    ended, units = self._run_group(units)
                    self._answer(ended)
        except BaseException as crash:  # noqa: BLE001 - the edge of the thread: nobody may wait for ever
            self._refusal = StorageError(f"the storage writer crashed ({crash!r}); restart the daemon")
            self._crashed.set()
            _fail(units, self._refusal)
            self._answer(units)
            self._fail_queued()
        finally:
            self._on_loop(self._finish)

    def _take(self) -> tuple[list[_Unit], bool]:
        """Wait for a unit, then take everything queued; the flag says that close was asked for."""
        unit = self._queue.get()
        units: list[_Unit] = []
        while unit is not None:
            units.append(unit)
            if len(units) >= _LARGEST_GROUP:
                return units, False
            try:
                unit = self._queue.get_nowait()
            except queue.Empty:
                return units, False
        return units, True

    def _run_group(self, units: list[_Unit]) -> tuple[list[_Unit], list[_Unit]]:
        """Run the units in one transaction; return those that have ended, with a result or an error, and
        those to be run next, because a unit before them lost the transaction or is divided."""
        durable = any(unit.durable for unit in units)
        ended: list[_Unit] = units
        rest: list[_Unit] = []
        try:
            connection = self._ready_connection()
            self._database.begin(connection, durable=durable)
            if self._leases is not None:
                self._leases.check(connection)
                self._unit_of_work.events.noted = {}
            ended, rest = self._run_units(connection, units)
            if any(unit.error is None for unit in ended):
                if self._leases is not None:
                    self._unit_of_work.events.notify()
                began = time.perf_counter()
                connection.commit()
                self.statistics.commit_seconds += time.perf_counter() - began
                self.statistics.commits += 1
                self.statistics.durable_commits += durable
        except Exception as failure:  # noqa: BLE001 - the edge of a group: its units get the error
            _fail(ended, translate(failure))
        self._roll_back()
        for unit in ended:
            _close_lane(unit)
        self._count(ended)
        return ended, rest

    def _run_units(self, connection: Connection, units: list[_Unit]) -> tuple[list[_Unit], list[_Unit]]:
        """Run units until one loses the transaction or must be divided; return those that have ended and
        those to be run next."""
        several = len(units) > 1
        # Straight to the driver: two of these for each unit, a tenth of the time.
        mark = driver_of(connection).execute
        for number, unit in enumerate(units, start=1):
            try:
                if several:
                    mark("SAVEPOINT unit")
                _enter_lane(unit)
                unit.result = unit.statements(self._unit_of_work)
                if not self._database.holds(connection):
                    raise StorageError("the unit went on after a database error; nothing of it is stored")
                if several:
                    mark("RELEASE SAVEPOINT unit")
            except Exception as failure:  # noqa: BLE001 - the edge of a unit: its caller gets the error
                unit.error = translate(failure)
                _close_lane(unit)
                if several and not self._undo_unit(connection):
                    kind = StorageOutage if isinstance(unit.error, StorageOutage) else StorageError
                    _fail(units[:number], kind(f"lost with another write: {unit.error}"))
                    return units[:number], units[number:]
                if len(unit.parts) > 1 and not isinstance(unit.error, StorageOutage):
                    return units[: number - 1], [*_parts_of(unit), *units[number:]]
        return units, []

    def _undo_unit(self, connection: Connection) -> bool:
        """Undo one unit; False when the whole transaction is gone."""
        try:
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT unit")
            connection.exec_driver_sql("RELEASE SAVEPOINT unit")
        except SQLAlchemyError:
            return False
        return self._database.holds(connection)

    def _roll_back(self) -> None:
        """End what is left of a transaction, and forget a connection that is gone."""
        connection = self._connection
        if connection is None:
            return
        with contextlib.suppress(SQLAlchemyError):
            connection.rollback()
        if self._database.lost(connection):
            self._drop_connection()

    def _ready_connection(self) -> Connection:
        # Before anything has run: a server that restarted meanwhile costs nobody a write.
        if self._connection is not None and not self._database.stands(self._connection):
            self._drop_connection()
        if self._connection is None:
            self._connection = self._database.connect(exclusive=True)
            self._unit_of_work = UnitOfWork(self._connection, self._redactor)
        return self._connection

    def _drop_connection(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(SQLAlchemyError):
                close_connection(self._connection)
            self._connection = None

    def _count(self, units: Sequence[_Unit]) -> None:
        statistics = self.statistics
        statistics.units += len(units)
        statistics.failed_units += sum(unit.error is not None for unit in units)
        statistics.largest_group = max(statistics.largest_group, len(units))

    def _fail_queued(self) -> None:
        assert self._refusal is not None
        units: list[_Unit] = []
        with contextlib.suppress(queue.Empty):
            while True:
                unit = self._queue.get_nowait()
                if unit is not None:
                    units.append(unit)
        _fail(units, self._refusal)
        self._answer(units)

    def _answer(self, units: Sequence[_Unit]) -> None:
        if units:
            self._on_loop(_resolve, units)

    def _finish(self) -> None:
        if not self._finished.done():
            self._finished.set_result(None)

    def _on_loop(self, callback: Callable[..., None], *arguments: Any) -> None:
        # A loop that is closed has nobody left to answer.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *arguments)


def _enter_lane(unit: _Unit) -> None:
    """Raise the outage of the unit's lane, unless the unit reopens it."""
    if unit.lane is None:
        return
    if unit.reopens:
        unit.lane.outage = None
    elif unit.lane.outage is not None:
        raise StorageOutage(unit.lane.outage.message)


def _parts_of(unit: _Unit) -> list[_Unit]:
    """Return the parts as units. What comes later in the order of the session must not overtake them."""
    divided = Divided()
    return [
        _Unit(
            part,
            unit.future,
            unit.durable,
            unit.lane,
            reopens=unit.reopens and number == 1,
            divided=divided,
            is_last=number == len(unit.parts),
        )
        for number, part in enumerate(unit.parts, start=1)
    ]


def _close_lane(unit: _Unit) -> None:
    if unit.lane is not None and isinstance(unit.error, StorageOutage):
        unit.lane.outage = unit.error


def _fail(units: Sequence[_Unit], error: Exception) -> None:
    """Give the error to every unit that has none of its own."""
    for unit in units:
        unit.error = unit.error or error


def _resolve(units: Sequence[_Unit]) -> None:
    for unit in units:
        if unit.divided is not None:
            unit.divided.outcomes.append(Outcome(unit.result, unit.error))
            if not unit.is_last:
                continue
            unit.error = unit.divided
        if unit.future.done():
            # The caller was cancelled; what it asked for is stored all the same.
            continue
        if unit.error is None:
            unit.future.set_result(unit.result)
        elif isinstance(unit.error, StopIteration):
            # A future refuses this one type.
            unit.future.set_exception(RuntimeError("a unit of work raised StopIteration"))
        else:
            unit.future.set_exception(unit.error)
