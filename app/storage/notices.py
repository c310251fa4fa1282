"""Notices between the daemons of a PostgreSQL database: what one has committed wakes the others.

Owns: the one connection that listens, and noticing that it has gone silent. Never: what a notice means.
A notice may be lost. A subscriber therefore reads the rows every few seconds as well.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from app.storage.engine import Database, close_connection, driver_of
from app.storage.failures import translate
from app.storage.repositories.events import EVENTS_CHANNEL, OWN_PREFIX

log = logging.getLogger("kaged.storage")

SILENT_SECONDS = 10.0
"""After so long without a notice of its own a listener connects again."""
STEP_SECONDS = 1.0
RETRY_SECONDS = 1.0


class Notices:
    """Listens in a thread of its own. `deliver` is called there with the text of each notice.

    Behind a pooler that shares connections between transactions nothing arrives, and there is no error. So
    the daemon notifies itself by its `name` with each renewal of its leases, over another connection, and the
    listener connects again when that does not arrive."""

    def __init__(self, database: Database, name: str, deliver: Callable[[str], None]) -> None:
        self._database, self._name, self._deliver = database, name, deliver
        self._heard = 0.0
        self._silent = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kaged-notices", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Listen no more; blocks until the thread has ended."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join()

    @property
    def silent(self) -> bool:
        """Whether the listener's own notices do not arrive."""
        return self._silent

    def _run(self) -> None:
        while not self._stopping.is_set():
            connection: Connection | None = None
            try:
                connection = self._database.connect_to_listen()
                self._listen(connection)
            except Exception as problem:  # noqa: BLE001 - also the driver's own; the next try is the answer
                self._complain(str(translate(problem)))
            if connection is not None:
                with suppress(SQLAlchemyError):
                    close_connection(connection)
            self._stopping.wait(RETRY_SECONDS)

    def _listen(self, connection: Connection) -> None:
        """Deliver notices until the listener's own one does not arrive."""
        driver = driver_of(connection)
        driver.execute(f"LISTEN {EVENTS_CHANNEL}")
        self._deliver("*")  # what was committed while nobody listened
        self._heard = time.monotonic()
        while not self._stopping.is_set():
            for notice in driver.notifies(timeout=STEP_SECONDS, stop_after=1):
                self._take(notice.payload)
            if time.monotonic() > self._heard + SILENT_SECONDS:
                self._complain("its own do not either; set storage.listen_url to the server, past the pooler")
                return

    def _take(self, text: str) -> None:
        if text == self._name:
            self._heard = time.monotonic()
            if self._silent:
                log.warning("notices of other daemons arrive again")
            self._silent = False
        elif not text.startswith(OWN_PREFIX):
            self._deliver(text)

    def _complain(self, problem: str) -> None:
        if not self._silent:
            log.error("notices of other daemons do not arrive, streams of their sessions lag: %s", problem)
        self._silent = True
