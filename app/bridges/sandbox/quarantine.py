"""Moves what a cage made under a protected name into quarantine.

Owns: moving it out of the project by descriptor, without following links; copying across file systems. Never:
finding it (`protected`).
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.bridges.sandbox.protected import Found

MAX_COPIED_ENTRIES = 2_000
MAX_COPIED_BYTES = 64 << 20
MAX_COPIED_DEPTH = 64
FREE_SHARE = 0.1
"""How much of its file system copies leave free: the daemon's own data lie there."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NO_RIGHTS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class TakenAway:
    """A file or folder that a cage made under a protected name, at `path`. `kept_at` is the folder where the
    daemon keeps it; None when it could not be moved. `whole`: all of it was kept."""

    path: str
    kept_at: str | None
    whole: bool = True


def take_away(root: int, folder: str, found: Found, into: Path) -> TakenAway | None:
    """Move what was found below the descriptor `root`, whose path is `folder`, into a new folder below
    `into`. None when it is gone. Blocks."""
    path = "/".join((folder.rstrip("/"), *found.parts))
    parent = _parent(root, found.parts)
    if parent is None:
        return None
    try:
        if not _is_there(parent, found):
            return None
        kept = into / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(4)}"
        kept.mkdir(mode=0o700, parents=True)
        destination = os.open(kept, _FOLDER)
        try:
            whole = _move(parent, found, destination)
        finally:
            os.close(destination)
        return TakenAway(path, str(kept), whole)
    except (OSError, RecursionError):
        return TakenAway(path, None, False)
    finally:
        os.close(parent)


def open_up(root: int, parts: tuple[str, ...], ours: Callable[[int], bool]) -> bool:
    """Make a folder below the descriptor `root` one that can be looked into, if it belongs to this user and
    `ours` says so of the time of its last change. Tell whether it was done. Blocks."""
    if not parts:
        return False
    parent = _parent(root, parts)
    if parent is None:
        return False
    try:
        descriptor = os.open(parts[-1], _NO_RIGHTS, dir_fd=parent)
        try:
            found = os.fstat(descriptor)
            if found.st_uid != os.geteuid() or not ours(found.st_ctime_ns):
                return False
            os.chmod(f"/proc/self/fd/{descriptor}", stat.S_IMODE(found.st_mode) | 0o700)
            return True
        finally:
            os.close(descriptor)
    except OSError:
        return False
    finally:
        os.close(parent)


def _parent(root: int, parts: tuple[str, ...]) -> int | None:
    """Open the folder that something is in, without following links."""
    descriptor = -1
    try:
        descriptor = os.open(".", _FOLDER, dir_fd=root)
        for name in parts[:-1]:
            deeper = os.open(name, _FOLDER, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = deeper
    except OSError:
        if descriptor >= 0:
            os.close(descriptor)
        return None
    return descriptor


def _is_there(parent: int, found: Found) -> bool:
    try:
        now = os.stat(found.parts[-1], dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return (now.st_dev, now.st_ino) == found.identity.at


def _move(parent: int, found: Found, destination: int) -> bool:
    with _writable(parent):
        return _moved(parent, found, destination)


@contextmanager
def _writable(folder: int) -> Iterator[None]:
    """Let this user write to a folder of its own: who made something there may have taken that away."""
    found = os.fstat(folder)
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o300 == 0o300 or found.st_uid != os.geteuid():
        yield
        return
    os.fchmod(folder, mode | 0o300)
    try:
        yield
    finally:
        os.fchmod(folder, mode)


def _moved(parent: int, found: Found, destination: int) -> bool:
    name = found.parts[-1]
    _open_up(parent, found)
    try:
        os.rename(name, name, src_dir_fd=parent, dst_dir_fd=destination)
        return True
    except OSError as problem:
        if problem.errno != errno.EXDEV:
            raise
    copying = _Copying(_room(destination))
    copying.copy(parent, name, destination)
    if stat.S_ISDIR(found.mode):
        shutil.rmtree(name, dir_fd=parent)
    else:
        os.unlink(name, dir_fd=parent)
    return copying.whole


def _open_up(parent: int, found: Found) -> None:
    """Make a folder writable, which an ordinary user must be able to write to before it can be moved."""
    if not stat.S_ISDIR(found.mode) or found.mode & 0o700 == 0o700:
        return
    descriptor = os.open(found.parts[-1], _NO_RIGHTS, dir_fd=parent)
    try:
        os.chmod(f"/proc/self/fd/{descriptor}", stat.S_IMODE(found.mode) | 0o700)
    finally:
        os.close(descriptor)


def _room(folder: int) -> int:
    """Return how many bytes may be copied into the file system of a folder."""
    found = os.fstatvfs(folder)
    return max(0, found.f_bavail - int(found.f_blocks * FREE_SHARE)) * found.f_frsize


class _Copying:
    """Copies folders, files and links as they are; nothing else, and not for ever."""

    def __init__(self, room: int) -> None:
        self.whole = True
        self._entries = MAX_COPIED_ENTRIES
        self._bytes = min(MAX_COPIED_BYTES, room)

    def copy(self, parent: int, name: str, destination: int, depth: int = 0) -> None:
        self._entries -= 1
        if self._entries < 0 or depth > MAX_COPIED_DEPTH:
            self.whole = False
            return
        try:
            mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                os.symlink(os.readlink(name, dir_fd=parent), name, dir_fd=destination)
            elif stat.S_ISDIR(mode):
                self._copy_folder(parent, name, destination, depth)
            elif stat.S_ISREG(mode):
                self._copy_file(parent, name, destination)
            else:
                self.whole = False
        except OSError:
            self.whole = False

    def _copy_folder(self, parent: int, name: str, destination: int, depth: int) -> None:
        folder = os.open(name, _FOLDER, dir_fd=parent)
        try:
            os.mkdir(name, 0o700, dir_fd=destination)
            deeper = os.open(name, _FOLDER, dir_fd=destination)
            try:
                for one in os.listdir(folder)[: self._entries + 1]:
                    self.copy(folder, one, deeper, depth + 1)
            finally:
                os.close(deeper)
        finally:
            os.close(folder)

    def _copy_file(self, parent: int, name: str, destination: int) -> None:
        source = os.open(name, _FILE, dir_fd=parent)
        with open(source, "rb") as reading:
            target = os.open(
                name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=destination
            )
            with open(target, "wb") as writing:
                while chunk := reading.read(_CHUNK):
                    self._bytes -= len(chunk)
                    if self._bytes < 0:
                        self.whole = False
                        return
                    writing.write(chunk)
