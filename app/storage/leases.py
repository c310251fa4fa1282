"""The leases of one daemon among several on a PostgreSQL database, and the thread that renews them.

Owns: which projects this daemon owns, when each lease ends by its own clock, and that no transaction commits
without them (fencing). Never: which project is taken when (`daemon/ownership`), or SQL.

A daemon that has lost the lease of a project has been stalled for longer than any of its leases last. All
that it has in memory is from before, so it stops as a whole: `Replica.lost` starts the process again. The
lease for work that concerns the whole database is not worth that: it is only given up.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from app.errors import KagedError, StorageError
from app.ids import new_id
from app.storage.engine import Database, close_connection
from app.storage.failures import translate
from app.storage.repositories.events import EVENTS_CHANNEL
from app.storage.repositories.leases import LEASE_SECONDS, WHOLE_DATABASE, LeaseRepository, Owner

log = logging.getLogger("kaged.storage")

RENEW_SECONDS = 3.0
RETRY_SECONDS = 0.5
SAFETY_SECONDS = 2.0
"""So long before its lease ends an owner's processes are ended."""
CLOSE_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Replica:
    """What one of several daemons is given. `renewed` gets the time (`boot_seconds`) until which processes
    may run, from the first lease of a project on; `lost` is called in any thread when such a lease was lost,
    and should not return."""

    url: str
    renewed: Callable[[float], None] = lambda _: None
    lost: Callable[[str], None] = lambda _: None


def boot_seconds() -> float:
    """The clock of deadlines. It also goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Leases:
    """Every lease of this daemon. `add` is called on the event loop, `check` by the writer."""

    def __init__(self, database: Database, replica: Replica) -> None:
        self.owner = Owner(new_id("dmn"), replica.url)
        self._database = database
        self._replica = replica
        self._fences: Mapping[str, int] = {}  # replaced under the lock, never changed: three threads read it
        self._taken: dict[str, float] = {}
        self._changing = threading.Lock()
        self._lost: str | None = None
        self._connection: Connection | None = None
        self._until = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kaged-leases", daemon=True)

    def start(self) -> None:
        """Renew for the first time, then again and again. Raises StorageError."""
        try:
            self._renew()
        except SQLAlchemyError as problem:
            raise translate(problem) from problem
        self._thread.start()

    @property
    def projects(self) -> frozenset[str]:
        """The ids of the projects that this daemon owns, and `WHOLE_DATABASE`."""
        return frozenset(self._fences)

    @property
    def seconds_left(self) -> float:
        """How long the leases last by this machine's clock. Renewing makes it longer."""
        return self._until - boot_seconds()

    def add(self, project_id: str, fence: int, begun: float | None = None) -> None:
        """Note a lease that was taken, not before the time `begun`, in a transaction which is committed."""
        with self._changing:
            self._fences = {**self._fences, project_id: fence}
            if begun is not None:
                # The transaction may have lasted long, and no renewal has seen what it has taken.
                self._taken[project_id] = begun
                self._until = min(self._until, begun + LEASE_SECONDS)
            self._tell()

    def check(self, connection: Connection) -> None:
        """Raise StorageError unless the open transaction holds every lease of this daemon. Nobody takes one
        of these before it ends."""
        fences = self._fences
        if self._lost is None and fences:
            found = LeaseRepository(connection).hold(self.owner.id)
            self._compare(fences, found)
        if self._lost is not None:
            raise StorageError(self._lost, reason="lease_lost")

    def give_up(self, reason: str) -> None:
        """Write nothing more, and start again."""
        if self._lost is None:
            self._lost = reason
            log.error("%s: nothing more is written, and the daemon starts again", reason)
            self._replica.lost(reason)

    def close(self) -> None:
        """Release every lease; blocks. Nothing is written any more."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(CLOSE_SECONDS)
        if self._lost is None and not self._thread.is_alive():
            try:
                connection = self._ready_connection()
                with connection.begin():
                    LeaseRepository(connection).release(self.owner.id)
            except (SQLAlchemyError, KagedError) as problem:
                log.error("the leases of projects are not released and expire: %s", translate(problem))
        self._disconnect()

    def _run(self) -> None:
        pause = RENEW_SECONDS
        while not self._stopping.wait(pause):
            pause = RENEW_SECONDS
            try:
                self._renew()
            except (SQLAlchemyError, KagedError) as problem:
                log.error("the leases of projects could not be renewed: %s", translate(problem))
                self._disconnect()
                pause = RETRY_SECONDS

    def _renew(self) -> None:
        fences = self._fences
        begun = boot_seconds()  # earlier than the clock of the database is read
        connection = self._ready_connection()
        with connection.begin():
            found = LeaseRepository(connection).renew(self.owner.id)
            connection.exec_driver_sql("SELECT pg_notify(%s, %s)", (EVENTS_CHANNEL, self.owner.id))
        self._compare(fences, found)
        if self._lost is None:
            with self._changing:
                self._taken = {one: at for one, at in self._taken.items() if one not in found}
                self._until = min([begun, *self._taken.values()]) + LEASE_SECONDS
                self._tell()

    def _tell(self) -> None:
        """Processes are for projects: who has none, as while it starts, has nothing to end in time."""
        if self._fences.keys() - {WHOLE_DATABASE}:
            self._replica.renewed(self._until - SAFETY_SECONDS)

    def _compare(self, fences: Mapping[str, int], found: Mapping[str, int]) -> None:
        lost = sorted(one for one, fence in fences.items() if found.get(one) != fence)
        if lost == [WHOLE_DATABASE]:
            # Nothing in memory comes of it: who starts slowly would begin from the start again and again.
            with self._changing:
                if self._fences.get(WHOLE_DATABASE) == fences[WHOLE_DATABASE]:
                    self._fences = {one: its for one, its in self._fences.items() if one != WHOLE_DATABASE}
            log.warning("another daemon does the work that concerns the whole database now")
        elif lost:
            self.give_up(f"another daemon has taken over what this one owned ({', '.join(lost[:3])})")

    def _ready_connection(self) -> Connection:
        if self._connection is None or not self._database.stands(self._connection):
            self._disconnect()
            self._connection = self._database.connect_for_leases()
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(SQLAlchemyError):
                close_connection(connection)
