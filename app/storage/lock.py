"""The lock on the data folder: at most one daemon per folder, and its address for clients. An flock ends with
its process; the content of the file counts only while it is held.

Owns: the file `daemon.lock`. Never: the database.
"""

from __future__ import annotations

import errno
import fcntl
import os
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import orjson

from app.errors import Conflict
from app.ids import now_ms
from app.process_stat import STARTED, process_stat
from app.storage.file_failures import file_error

LOCK_FILE = "daemon.lock"
LARGEST_PID = 2**31 - 1
LEFT_SECONDS = 2.0
"""How long the lock of a dead daemon may stay held."""


@dataclass(frozen=True, slots=True)
class LockHolder:
    """The process that holds a data folder. `started_at` is in milliseconds; `url` is None until the daemon
    listens, and for commands. `process_started` tells the process from another one of the same number; None
    where the system does not say."""

    pid: int
    url: str | None
    started_at: int
    process_started: int | None = None


class DataFolderLock:
    """An exclusive claim on a data folder; a context manager too."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._path = data_dir / LOCK_FILE
        self._descriptor: int | None = None
        self._started_at = now_ms()

    def acquire(self) -> None:
        """Claim the folder, which is created if missing. Raises Conflict, or StorageError when it is not
        writable."""
        try:
            self._data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = self._locked()
            self.announce(None)
        except OSError as problem:
            self.release()
            raise file_error(problem, f"the data folder {self._data_dir} cannot be used") from problem

    def _locked(self) -> int:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _claim(descriptor)
        except OSError as failure:
            holder = _parse(os.pread(descriptor, 4096, 0))
            os.close(descriptor)
            if failure.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            raise _held(self._data_dir, holder) from failure
        return descriptor

    def announce(self, url: str | None) -> None:
        """Write the address into the lock, once the daemon listens."""
        assert self._descriptor is not None, "acquire the lock first"
        pid = os.getpid()
        holder = LockHolder(pid, url, self._started_at, process_start(pid))
        content = orjson.dumps(asdict(holder)) + b"\n"
        # Written before it is truncated: a reader sees JSON at any moment.
        os.pwrite(self._descriptor, content, 0)
        os.ftruncate(self._descriptor, len(content))

    def release(self) -> None:
        """Release the folder, if it is held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):  # what it says counts for nothing once the lock is gone
                os.ftruncate(descriptor, 0)
            os.close(descriptor)

    def __enter__(self) -> DataFolderLock:
        if self._descriptor is None:
            self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def read_lock(data_dir: Path) -> LockHolder | None:
    """Return the process that holds the folder now; None when no process does, or none that can be seen."""
    try:
        return look_at_lock(data_dir)[1]
    except OSError:
        return None


def look_at_lock(data_dir: Path) -> tuple[bool, LockHolder | None]:
    """Tell whether a process holds the folder now, and which, if the file says so. Raises OSError when the
    file cannot be read."""
    try:
        descriptor = os.open(data_dir / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False, None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as failure:
        if failure.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        return True, _parse(os.pread(descriptor, 4096, 0))
    finally:
        os.close(descriptor)
    return False, None


def process_start(pid: int) -> int | None:
    """Return when a process was started, in clock ticks since the system started. None when there is no such
    process, or the system does not say."""
    found = process_stat(pid)
    return None if found is None else int(found[STARTED])


def _claim(descriptor: int) -> None:
    """Take the lock. A child that a killed daemon was just starting holds that daemon's lock until it runs
    its program: the lock of a dead daemon is waited for. Blocks for `LEFT_SECONDS`. Raises OSError."""
    end = time.monotonic() + LEFT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            holder = _parse(os.pread(descriptor, 4096, 0))
            if holder is None or is_alive(holder.pid) or time.monotonic() > end:
                raise
        threading.Event().wait(0.02)


def is_alive(pid: int) -> bool:
    """Tell whether there is a process of this number, also one of somebody else's."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _parse(content: bytes) -> LockHolder | None:
    """Return the holder that the file names; None for a file that is empty or damaged."""
    try:
        found = orjson.loads(content.split(b"\n", 1)[0])
        # Another version may write more.
        known = {field.name: found[field.name] for field in fields(LockHolder) if field.name in found}
        holder = LockHolder(**known)
    except (ValueError, TypeError):
        return None
    numbers = type(holder.pid) is int and type(holder.started_at) is int
    numbers = numbers and isinstance(holder.process_started, int | None)
    if not numbers or not 0 < holder.pid <= LARGEST_PID or not isinstance(holder.url, str | None):
        return None
    return holder


def _held(data_dir: Path, holder: LockHolder | None) -> Conflict:
    if holder is None:
        who, hint = "another process", f"; {data_dir / LOCK_FILE} does not say which"
    else:
        who, hint = f"the process {holder.pid}" + (f" at {holder.url}" if holder.url else ""), ""
    return Conflict(
        f"{who} already uses the data folder {data_dir}{hint}; stop it, or choose another with --data-dir",
        reason="data_folder_in_use",
        details={"pid": holder.pid, "url": holder.url} if holder else None,
    )
