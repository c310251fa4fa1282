"""The daemon of a data folder of this machine, by the lock of the folder, and signals to it.

Owns: which process it is, also when its number is another process's here. Never: requests (`client`).
"""

from __future__ import annotations

import os
import pwd
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from select import POLLIN, poll

from app.cli.output import CommandFailed
from app.storage.lock import LockHolder, is_alive, look_at_lock, process_start

_LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class LocalDaemon:
    """Who holds a data folder. `holder` is None when nobody does, and when the lock does not say."""

    folder: Path
    held: bool
    holder: LockHolder | None

    @property
    def url(self) -> str | None:
        return self.holder.url.rstrip("/") if self.holder is not None and self.holder.url else None

    @property
    def pid(self) -> int | None:
        """The process of the daemon, None when it has no number in this namespace of processes."""
        return self.holder.pid if self.holder is not None and is_same_process(self.holder) else None

    @property
    def ended(self) -> bool:
        """Whether the process has ended and its lock is about to be free."""
        return self.holder is not None and self.pid is None and process_start(self.holder.pid) is None


def find_local_daemon(folder: Path) -> LocalDaemon:
    """Return who holds a data folder. Raises `CommandFailed` when this user may not see that."""
    try:
        held, holder = look_at_lock(folder)
    except OSError as error:
        whose = _owner(folder)
        raise CommandFailed(
            "forbidden",
            f"the data folder {folder} cannot be read ({error.strerror}), so its daemon is out of sight"
            + (f"; run this as the user {whose}" if whose else ""),
        ) from error
    return LocalDaemon(folder, held, holder)


def is_same_process(holder: LockHolder) -> bool:
    """Tell whether the process with the holder's number is the holder: it is not when the holder runs in
    another container or on another machine."""
    started = process_start(holder.pid)
    if started is None or holder.process_started is None:
        return is_alive(holder.pid)
    return started == holder.process_started


@dataclass(frozen=True, slots=True)
class Process:
    """A process that can be signalled, and no other that gets its number later."""

    pid: int
    descriptor: int | None

    def send(self, number: signal.Signals) -> None:
        """Send a signal. Raises `CommandFailed` when the process is another user's."""
        try:
            if self.descriptor is not None:
                signal.pidfd_send_signal(self.descriptor, number)
            else:
                os.kill(self.pid, number)
        except ProcessLookupError:
            pass
        except PermissionError as error:
            whose = _owner(Path(f"/proc/{self.pid}"))
            raise CommandFailed(
                "forbidden",
                f"the process {self.pid} belongs to {whose or 'another user'}, and this user may not stop "
                "it; run this as that user or as root",
            ) from error

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the process; tell whether it came. Blocks."""
        if self.descriptor is not None:
            ended = poll()
            ended.register(self.descriptor, POLLIN)
            return bool(ended.poll(max(seconds, 0) * 1000))
        end = time.monotonic() + seconds
        while is_alive(self.pid) and time.monotonic() < end:
            threading.Event().wait(_LOOK_SECONDS)
        return not is_alive(self.pid)


@contextmanager
def opened_process(holder: LockHolder) -> Iterator[Process | None]:
    """Open the process that holds a data folder; None when it has ended. Raises `CommandFailed` when it
    cannot be found here."""
    descriptor: int | None = None
    try:
        if hasattr(os, "pidfd_open"):
            with suppress(ProcessLookupError):
                descriptor = os.pidfd_open(holder.pid)
        # Compared after it is opened: a number that changes hands later does not matter any more.
        if is_same_process(holder):
            yield Process(holder.pid, descriptor)
        elif process_start(holder.pid) is None:
            yield None
        else:
            raise CommandFailed(
                "elsewhere",
                f"the daemon calls itself process {holder.pid}, which is another process here: it runs in "
                "another container or on another machine; stop it there",
            )
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _owner(path: Path) -> str | None:
    """Return the user of the nearest folder that can be seen; its number when it has no name."""
    for place in (path, *path.parents):
        with suppress(OSError):
            number = place.stat().st_uid
            try:
                return pwd.getpwuid(number).pw_name
            except KeyError:
                return str(number)
    return None
