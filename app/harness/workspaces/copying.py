"""Copies of folders: by reference where the file system has that, without following links.

Owns: copying, how much of it there may be, and its end when nobody waits for it. Never: what is copied.
Blocks, but for `stoppable` and `to_its_end`.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import stat
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from app.errors import Conflict

T = TypeVar("T")

FICLONE = 0x40049409
_PORTION = 1024 * 1024
_SOURCE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class CopyStopped(Exception):
    """Nobody waits for the copy any more."""


@dataclass(frozen=True, slots=True)
class CopyBounds:
    """How much may be copied. What is `closed` is left out; a copy ends soon after `stop` is set."""

    most_bytes: int
    closed: tuple[Path, ...] = ()
    stop: threading.Event = field(default_factory=threading.Event)
    shows: Callable[[str, bool], bool] | None = None
    """Tells by its real path whether a file, or a folder (`True`), is copied."""


async def stoppable(work: Callable[[threading.Event], T]) -> T:
    """Run `work` in a thread. When this is cancelled, its event is set, and its end is awaited."""
    stop = threading.Event()
    running = asyncio.get_running_loop().run_in_executor(None, work, stop)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait({running})
        running.exception()
        raise


async def to_its_end(work: Callable[..., T], *given: Any) -> T:
    """Run `work` in a thread. When this is cancelled, its end is awaited: what comes next may remove what it
    writes."""
    return await stoppable(lambda _: work(*given))


def copy_tree(source: Path, target: Path, bounds: CopyBounds) -> int:
    """Copy what lies in a folder into the folder `target`, links as links; pipes, sockets and devices are
    left out, as is what is closed. Return the bytes copied. Raises `Conflict` when it is too much, and
    `CopyStopped`."""
    folder = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return copy_folder(folder, os.path.realpath(source), target, bounds)
    finally:
        os.close(folder)


def copy_folder(folder: int, path: str, target: Path, bounds: CopyBounds) -> int:
    """As `copy_tree`, of an open folder that has the real path `path`."""
    copying = _Copying(bounds)
    try:
        copying.folder(folder, path, target)
    except OSError as problem:
        at = os.fsencode(copying.at).decode("utf-8", "replace")
        raise OSError(problem.errno, f"{at}: {problem.strerror}") from problem
    return copying.copied


def too_much(most_bytes: int) -> Conflict:
    return Conflict(
        f"A copy takes more than the {most_bytes // 1_000_000} MB that are left for workspaces.",
        reason="workspaces_full",
    )


class _Copying:
    def __init__(self, bounds: CopyBounds) -> None:
        self.copied = 0
        self.at = ""
        self._most = bounds.most_bytes
        self._closed = _real(bounds.closed)
        self._stop = bounds.stop
        self._shows = bounds.shows

    def folder(self, source: int, path: str, target: Path) -> None:
        for name in sorted(os.listdir(source)):
            place = os.path.join(path, name)
            if place not in self._closed:
                with suppress(FileNotFoundError):
                    self._one(source, name, place, target / name)

    def _one(self, folder: int, name: str, path: str, target: Path) -> None:
        if self._stop.is_set():
            raise CopyStopped
        self.at = path
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if self._shows is not None and not self._shows(path, stat.S_ISDIR(status.st_mode)):
            return
        if stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(name, dir_fd=folder), target)
        elif stat.S_ISDIR(status.st_mode):
            target.mkdir(mode=0o700)
            inner = os.open(name, _FOLDER, dir_fd=folder)
            try:
                self.folder(inner, path, target)
                os.chmod(target, stat.S_IMODE(status.st_mode) | 0o700)
            finally:
                os.close(inner)
        elif stat.S_ISREG(status.st_mode):
            self._file(folder, name, target)

    def _file(self, folder: int, name: str, target: Path) -> None:
        with open(os.open(name, _SOURCE, dir_fd=folder), "rb") as source:
            status = os.fstat(source.fileno())
            self.copied += status.st_size
            if self.copied > self._most:
                raise too_much(self._most)
            with open(target, "xb") as made:
                self._content(source.fileno(), made.fileno())
            os.chmod(target, stat.S_IMODE(status.st_mode) | 0o600)
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _content(self, source: int, target: int) -> None:
        """Copy a file's content, by reference where that is possible."""
        try:
            fcntl.ioctl(target, FICLONE, source)
            return
        except OSError:
            pass
        with open(source, "rb", closefd=False) as reading, open(target, "wb", closefd=False) as writing:
            while portion := reading.read(_PORTION):
                if self._stop.is_set():
                    raise CopyStopped
                writing.write(portion)


def _real(places: Iterable[Path]) -> frozenset[str]:
    return frozenset(map(os.path.realpath, places))
