"""Files of a closed folder that have further names (hard links).

Owns: searching such a folder, and when to search again. Never: refusing anything.

Adding or removing a name changes the inode's time. A file whose inode is unchanged since a search is in the
folder now if it was then.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

from app.workspace.own_places import WORKSPACES_FOLDER

SETTLED_NS = 2_000_000_000
"""File systems keep time less exactly than the clock does."""
OTHERS = frozenset({"cages", "plugins", WORKSPACES_FOLDER})
"""Folders directly in the data folder that hold files of other programs. Package managers give files of
one cache names there and in projects."""
_QUICK = 0.005
_SHARE = 20

Identity = tuple[int, int]


class LinkedFiles:
    """The regular files in the folder `path`, or at it, that have more than one name. Thread-safe;
    blocking."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._found: frozenset[Identity] = frozenset()
        self._folder: Identity | None = None
        self._began_ns = 0
        self._clock_ns = 0
        self._seconds = 0.0

    def holds(self, status: os.stat_result) -> bool:
        """Tell whether a file that has further names is one of these. The folder is looked through
        only when the file's inode has changed since the last time."""
        with self._lock:
            if not self._is_known(status.st_ctime_ns):
                self._look()
            return (status.st_dev, status.st_ino) in self._found

    def identities(self) -> frozenset[Identity]:
        """Return device and inode of all. Where it takes more than 5 ms to find them, they are those of
        up to twenty times as long ago."""
        with self._lock:
            age = (time.time_ns() - self._began_ns) / 1e9
            if self._seconds < _QUICK or age > _SHARE * self._seconds or not self._is_known(0):
                self._look()
            return self._found

    def _is_known(self, changed_ns: int) -> bool:
        if changed_ns + SETTLED_NS >= self._began_ns or self._folder != _identity(self._path):
            return False
        return self._clock_is_the_same()

    def _clock_is_the_same(self) -> bool:
        return abs(_clock_ns() - self._clock_ns) < SETTLED_NS // 2

    def _look(self) -> None:
        self._began_ns, self._clock_ns = time.time_ns(), _clock_ns()
        self._folder = _identity(self._path)
        begun = time.monotonic()
        self._found = frozenset(
            (status.st_dev, status.st_ino)
            for status in _files(self._path)
            if status.st_nlink > 1 and stat.S_ISREG(status.st_mode)
        )
        self._seconds = time.monotonic() - begun


@lru_cache(maxsize=64)
def linked_files(path: str) -> LinkedFiles:
    """Return what is known of the closed folder or file at `path`."""
    return LinkedFiles(path)


def _files(path: str) -> Iterator[os.stat_result]:
    """Yield the status of the file at `path`, or of all in that folder but for what is `OTHERS`."""
    with suppress(OSError):
        own = os.stat(path, follow_symlinks=False)
        if not stat.S_ISDIR(own.st_mode):
            yield own
            return
    left = [path]
    while left:
        folder = left.pop()
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    if not entry.is_dir(follow_symlinks=False):
                        yield entry.stat(follow_symlinks=False)
                    elif folder != path or entry.name not in OTHERS:
                        left.append(entry.path)


def _identity(path: str) -> Identity | None:
    try:
        status = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _clock_ns() -> int:
    """Return by how much the clock of files is ahead of one that is never put back."""
    return time.time_ns() - time.monotonic_ns()
