"""Opening by directory descriptors, so that a link swapped between check and use cannot escape.

Owns: `open_beneath` (`openat2`, which follows no link) and `walk` (one component at a time, links within the
root). Never: policy (callers check `ResolvedPath.parts`, and each step of a walk).
Keeps S2 of docs/security.md.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import TracebackType

_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_AT_FDCWD = -100
_O_PATH = getattr(os, "O_PATH", os.O_RDONLY)
_MAX_LINKS = 40
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Never blocks on a FIFO, never makes a terminal the daemon's own."""

Absolute = Callable[[str], tuple[str, ...] | None]
Step = Callable[[tuple[str, ...]], None]


class OutsideRoot(Exception):
    """The path leads out of the root by way of a symbolic link."""


@lru_cache(maxsize=1)
def _syscall() -> Callable[..., int] | None:
    """Return libc's `syscall` when this kernel has `openat2` and /proc is mounted, else None."""
    try:
        function: Callable[..., int] = ctypes.CDLL(None, use_errno=True).syscall
    except (OSError, AttributeError):
        return None
    try:
        probe = os.open("/", _O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        opened = _openat2(function, probe, ".", _BENEATH)
        try:
            return function if os.readlink(f"/proc/self/fd/{opened}") == "/" else None
        finally:
            os.close(opened)
    except OSError:
        return None
    finally:
        os.close(probe)


def _how(flags: int, resolve: int) -> bytes:
    return struct.pack("QQQ", flags | os.O_CLOEXEC, 0, resolve)


_BENEATH = _how(_O_PATH, _RESOLVE_BENEATH | _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_SYMLINKS)
_FOLDER = _how(_O_PATH | os.O_DIRECTORY, _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_SYMLINKS)


def _openat2(function: Callable[..., int], root: int, path: str, how: bytes) -> int:
    opened = function(_OPENAT2, root, os.fsencode(path), how, len(how))
    if opened < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return opened


def open_beneath(root: int, parts: tuple[str, ...]) -> int | None:
    """Return a path-only descriptor of `parts` below `root`; there is no link on the way or at the end.

    None when the kernel cannot or will not: `walk` then finds out why.
    """
    function = _syscall()
    if function is None:
        return None
    try:
        return _openat2(function, root, "/".join(parts) or ".", _BENEATH)
    except OSError:
        return None


def open_folder(path: str) -> int:
    """Return a path-only descriptor of the folder with this absolute path, on the way to which there
    is no link. Raises OSError; NotADirectoryError also for a link."""
    function = _syscall()
    if function is not None:
        try:
            return _openat2(function, _AT_FDCWD, path, _FOLDER)
        except OSError as problem:
            if problem.errno != errno.ELOOP:
                raise
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
    descriptor = os.open("/", DIRECTORY | _O_PATH)
    for name in path.split("/"):
        if name in {"", "."}:
            continue
        try:
            below = os.open(name, DIRECTORY | _O_PATH, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor


def real_path(descriptor: int) -> str | None:
    """Return the path that the kernel knows for `descriptor`, or None where it cannot say."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return None


def names_of(path: str) -> tuple[str, ...]:
    """Return the components of an absolute path that the kernel has said."""
    return tuple(path[1:].split("/")) if len(path) > 1 else ()


def reopen(descriptor: int, flags: int) -> int:
    """Open for use what a path-only descriptor refers to."""
    return os.open(f"/proc/self/fd/{descriptor}", flags)


@dataclass(slots=True)
class ResolvedPath:
    """Where a walk ended. `parts` is the real path below the root, `directory` the descriptor of
    the deepest directory that was reached, `missing` the components below it that do not exist.

    `name` is the target's name within `directory`, or "" when the target is `directory` itself.
    `problem` says why the walk ended early. Close it by `with`.
    """

    directory: int
    parts: tuple[str, ...]
    name: str = ""
    missing: tuple[str, ...] = ()
    status: os.stat_result | None = None
    problem: OSError | None = None
    held: list[int] = field(default_factory=list)

    def __enter__(self) -> ResolvedPath:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self.held:
            os.close(self.held.pop())


def _any(_parts: tuple[str, ...]) -> None:
    return None


def walk(
    root: int, parts: tuple[str, ...], absolute: Absolute, *, entry: bool = False, step: Step = _any
) -> ResolvedPath:
    """Follow `parts` from the directory `root` without ever opening a link.

    With `entry` the walk ends at the last component's own entry in its directory, also when that
    is a link or a directory. `absolute` maps an absolute link target to components below the root,
    or None. `step` is asked about each place before anything is known of it, and raises what it likes.
    Raises OutsideRoot when a link leads out, OSError ELOOP when there are too many links.
    """
    walker = _Walk(root, parts, absolute, entry, step)
    try:
        return walker.run()
    except BaseException:
        walker.close()
        raise


class _Walk:
    def __init__(
        self, root: int, parts: tuple[str, ...], absolute: Absolute, entry: bool, step: Step
    ) -> None:
        self._held = [os.dup(root)]
        self._names: list[str] = []
        self._pending = list(reversed(parts))
        self._absolute = absolute
        self._turns = 0
        self._entry = entry
        self._step = step

    def close(self) -> None:
        while self._held:
            os.close(self._held.pop())

    def run(self) -> ResolvedPath:
        while self._pending:
            name = self._pending.pop()
            if name in {"", "."}:
                continue
            if name == "..":
                self._ascend()
                continue
            self._step((*self._names, name))
            try:
                found = os.stat(name, dir_fd=self._held[-1], follow_symlinks=False)
            except OSError as problem:
                return self._stopped(name, problem)
            if self._entry and not self._pending:
                return self._leaf(name, found)
            if stat.S_ISLNK(found.st_mode):
                self._follow(name)
            elif stat.S_ISDIR(found.st_mode):
                failed = self._descend(name)
                if failed is not None:
                    return self._stopped(name, failed)
            else:
                return self._leaf(name, found)
        top = self._held[-1]
        return ResolvedPath(top, tuple(self._names), status=os.fstat(top), held=self._held)

    def _ascend(self) -> None:
        if not self._names:
            raise OutsideRoot
        self._names.pop()
        os.close(self._held.pop())

    def _count_turn(self) -> None:
        self._turns += 1
        if self._turns > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))

    def _follow(self, name: str) -> None:
        self._count_turn()
        try:
            target = os.readlink(name, dir_fd=self._held[-1])
        except OSError:  # replaced since the stat: look at the component again
            self._pending.append(name)
            return
        if target.startswith("/"):
            inside = self._absolute(target)
            if inside is None:
                raise OutsideRoot
            while self._names:
                self._ascend()
            self._pending.extend(reversed(inside))
        else:
            self._pending.extend(reversed(target.split("/")))

    def _descend(self, name: str) -> OSError | None:
        try:
            opened = os.open(name, DIRECTORY | _O_PATH, dir_fd=self._held[-1])
        except OSError as problem:
            if problem.errno in {errno.ELOOP, errno.ENOTDIR, errno.ENOENT}:
                self._count_turn()  # replaced since the stat: look again
                self._pending.append(name)
                return None
            return problem
        self._held.append(opened)
        self._names.append(name)
        return None

    def _leaf(self, name: str, found: os.stat_result) -> ResolvedPath:
        rest = tuple(part for part in reversed(self._pending) if part not in {"", "."})
        problem = OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) if rest else None
        parts = (*self._names, name, *rest)
        return ResolvedPath(self._held[-1], parts, name, status=found, problem=problem, held=self._held)

    def _stopped(self, name: str, problem: OSError) -> ResolvedPath:
        missing = (name, *(part for part in reversed(self._pending) if part not in {"", "."}))
        parts = (*self._names, *missing)
        # A traceback leads to its callers, and with their local variables back to this: it would be garbage
        # that only a collection finds.
        problem.with_traceback(None)
        return ResolvedPath(self._held[-1], parts, missing=missing, problem=problem, held=self._held)


def read_beginning(path: Path, limit: int) -> bytes:
    """Return at most `limit` bytes of a regular file; links are followed.

    Raises OSError for everything else: a named pipe cannot hold the reader, and what was opened is what
    is looked at, so that one cannot take the file's place in between."""
    with open(os.open(path, READ), "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, f"{path.name} is not a regular file")
        pieces = []
        while limit > 0 and (piece := file.read(limit)):
            pieces.append(piece)
            limit -= len(piece)
        return b"".join(pieces)
