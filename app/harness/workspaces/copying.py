"""Copies of folders: by reference where the file system has that, without following links.

Owns: copying, and how much of it there may be. Never: what is copied. Blocks.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from app.errors import Conflict

FICLONE = 0x40049409
_SOURCE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def copy_tree(source: Path, target: Path, *, closed: Iterable[Path] = (), most_bytes: int) -> int:
    """Copy what lies in a folder into the folder `target`, links as links; pipes, sockets and devices are
    left out, as is what is `closed`. Return the bytes copied. Raises `Conflict` when it is too much."""
    copying = _Copying(most_bytes, {os.path.realpath(one) for one in closed})
    folder = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        copying.folder(folder, os.path.realpath(source), target)
    finally:
        os.close(folder)
    return copying.copied


class _Copying:
    def __init__(self, most_bytes: int, closed: set[str]) -> None:
        self.copied = 0
        self._most = most_bytes
        self._closed = closed

    def folder(self, source: int, path: str, target: Path) -> None:
        for name in sorted(os.listdir(source)):
            place = os.path.join(path, name)
            if place not in self._closed:
                with suppress(FileNotFoundError):
                    self._one(source, name, place, target / name)

    def _one(self, folder: int, name: str, path: str, target: Path) -> None:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
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
                raise Conflict(
                    f"A copy takes more than the {self._most // 1_000_000} MB that are left for workspaces.",
                    reason="workspaces_full",
                )
            with open(target, "xb") as made:
                copy_content(source.fileno(), made.fileno())
            os.chmod(target, stat.S_IMODE(status.st_mode) | 0o600)
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def copy_content(source: int, target: int) -> None:
    """Copy a file's content, by reference where that is possible."""
    try:
        fcntl.ioctl(target, FICLONE, source)
        return
    except OSError:
        pass
    with open(source, "rb", closefd=False) as reading, open(target, "wb", closefd=False) as writing:
        shutil.copyfileobj(reading, writing, 1024 * 1024)
