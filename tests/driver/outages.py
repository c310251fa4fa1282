"""Storage that is really out for a while: a full disk below SQLite, a PostgreSQL server that is stopped."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.driver.postgres import PostgresServer

DISK_BYTES = 64 * 1024 * 1024


class Outage(ABC):
    """A database that a test takes away and gives back. `settings` are the daemon's, for its storage."""

    settings: dict[str, Any]

    @abstractmethod
    def begin(self) -> None:
        """Let every write fail from now on."""

    @abstractmethod
    def end(self) -> None:
        """Let writes work again."""


class FullDisk(Outage):
    """The disk of the data folder, filled to its last byte."""

    def __init__(self, data_dir: Path) -> None:
        self.settings = {}
        self._data_dir = data_dir
        self._ballast = data_dir / "ballast"

    def begin(self) -> None:
        with closing(sqlite3.connect(self._data_dir / "kaged.db")) as connection:
            # What the log has allocated would take small writes on the fullest of disks.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ballast = os.open(self._ballast, os.O_WRONLY | os.O_CREAT)
        try:
            while True:
                os.write(ballast, bytes(4096))
        except OSError as full:
            if full.errno != errno.ENOSPC:
                raise
        finally:
            os.close(ballast)

    def end(self) -> None:
        self._ballast.unlink()


class StoppedServer(Outage):
    """A PostgreSQL server that is stopped and started again."""

    def __init__(self, server: PostgresServer, url: str) -> None:
        self.settings = {"storage": {"url": url}}
        self._server = server
        self._stopped = False

    def begin(self) -> None:
        self._server.stop()
        self._stopped = True

    def end(self) -> None:
        if self._stopped:
            self._server.start()
            self._stopped = False


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a disk of its own at `folder`; a test without the right to mount is skipped."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "kaged-test", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
