"""A new file: written completely, then put in place in one step.

Owns: unnamed files (`O_TMPFILE`) or temporary names, the exchange that detects a concurrent change, renaming
without replacing, and cleaning up after a killed daemon. Never: deciding where a file may go.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from types import TracebackType

from app.workspace.descriptors import DIRECTORY

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_UNNAMED = getattr(os, "O_TMPFILE", 0)
LACKING = frozenset(
    {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EISDIR, errno.ENOENT, errno.EXDEV}
    | {errno.EMLINK, errno.ENOTTY}
)
"""What a file system answers that lacks unnamed files, links or exchanges."""
_NO_REPLACE = 1
_EXCHANGE = 2
_MAX_EXCHANGES = 16
_LEFTOVER = re.compile(r"\.kaged-[0-9a-f]{16}\.(tmp|old)")
LEFTOVER_SECONDS = 3600.0

Unchanged = Callable[[os.stat_result], bool]


class ChangedMeanwhile(Exception):
    """The file that was to be replaced is no longer the one that was read."""


class NewFile:
    """Content without a place yet, in the file system of the directory descriptor `directory`.

    Leaving the `with` removes what was not put in place. Raises OSError."""

    def __init__(self, directory: int, mode: int) -> None:
        self._directory = directory
        self._mode = mode
        self._temporary: str | None = None
        try:
            self.descriptor = _open_unnamed(directory, mode)
        except OSError as problem:
            if problem.errno not in LACKING:
                raise
            self._open_named()

    def __enter__(self) -> NewFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.descriptor)
        if self._temporary is not None:
            with suppress(OSError):
                os.unlink(self._temporary, dir_fd=self._directory)

    def write(self, content: bytes) -> None:
        view = memoryview(content)
        while view:
            view = view[os.write(self.descriptor, view) :]

    def put_new(self, name: str) -> None:
        """Give the file its name. Raises FileExistsError when something has it."""
        os.fsync(self.descriptor)
        try:
            self._link(name)
        except OSError as problem:
            if problem.errno not in LACKING:
                raise
            self._copy_to(name)

    def put_over(self, name: str, unchanged: Unchanged) -> None:
        """Take the place of the file `name`, provided that it is still `unchanged`.

        Raises ChangedMeanwhile, and then the file is what others made of it."""
        os.fsync(self.descriptor)
        temporary = self._temporary or self._take_temporary_name()
        if not change_places(self._directory, temporary, name, unchanged):
            os.rename(temporary, name, src_dir_fd=self._directory, dst_dir_fd=self._directory)
            self._temporary = None

    def keep(self) -> str:
        """Let the file outlive the `with` under a temporary name, and return that."""
        os.fsync(self.descriptor)
        name = self._temporary or self._take_temporary_name()
        self._temporary = None
        return name

    def _open_named(self) -> None:
        name = f".kaged-{secrets.token_hex(8)}.tmp"
        self.descriptor = os.open(name, _NEW, self._mode, dir_fd=self._directory)
        self._temporary = name

    def _take_temporary_name(self) -> str:
        name = f".kaged-{secrets.token_hex(8)}.tmp"
        self._link(name)
        self._temporary = name
        return name

    def _link(self, name: str) -> None:
        if self._temporary is None:
            source = f"/proc/self/fd/{self.descriptor}"
            os.link(source, name, dst_dir_fd=self._directory, follow_symlinks=True)
        else:
            os.link(
                self._temporary,
                name,
                src_dir_fd=self._directory,
                dst_dir_fd=self._directory,
                follow_symlinks=False,
            )

    def _copy_to(self, name: str) -> None:
        """Where there are no links: copy to the name itself, which nobody else has."""
        target = os.open(name, _NEW, self._mode, dir_fd=self._directory)
        try:
            done = 0
            while chunk := os.pread(self.descriptor, 1024 * 1024, done):
                done += os.write(target, chunk)
            os.fsync(target)
        except BaseException:
            os.unlink(name, dir_fd=self._directory)
            raise
        finally:
            os.close(target)


def _open_unnamed(directory: int, mode: int) -> int:
    if not _UNNAMED or not os.path.isdir("/proc/self/fd"):
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
    return os.open(".", _UNNAMED | os.O_RDWR | os.O_CLOEXEC, mode, dir_fd=directory)


@lru_cache(maxsize=1)
def _renameat2() -> Callable[..., int] | None:
    try:
        function: Callable[..., int] = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    return function


def _exchange(directory: int, first: str, second: str) -> None:
    """Let two names of one directory change places, at once. Raises OSError."""
    function = _renameat2()
    if function is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if function(directory, os.fsencode(first), directory, os.fsencode(second), _EXCHANGE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def change_places(directory: int, temporary: str, name: str, unchanged: Unchanged) -> bool:
    """Let a file under a temporary name and the file `name` change places, provided that the
    latter is still `unchanged`. Return False where the file system cannot do that.

    Raises ChangedMeanwhile, and then the file is what others made of it."""
    mine = os.stat(temporary, dir_fd=directory, follow_symlinks=False)
    if not unchanged(os.stat(name, dir_fd=directory, follow_symlinks=False)):
        raise ChangedMeanwhile
    try:
        _exchange(directory, temporary, name)
    except OSError as problem:
        if problem.errno not in LACKING or isinstance(problem, FileNotFoundError):
            raise
        return False
    if not unchanged(os.stat(temporary, dir_fd=directory, follow_symlinks=False)):
        _give_back(directory, temporary, name, mine)
        raise ChangedMeanwhile
    return True


def _give_back(directory: int, temporary: str, name: str, put: os.stat_result) -> None:
    """Undo the exchange. Should somebody have replaced even what was put there, theirs is newer
    and stays: what comes out has to be what went in last."""
    for _ in range(_MAX_EXCHANGES):
        going = os.stat(temporary, dir_fd=directory, follow_symlinks=False)
        _exchange(directory, temporary, name)
        came = os.stat(temporary, dir_fd=directory, follow_symlinks=False)
        # The number of a file that is gone may be given to the next one; its time distinguishes them.
        if os.path.samestat(came, put) and came.st_mtime_ns == put.st_mtime_ns:
            return
        put = going


def sync_directory(directory: int) -> None:
    """Make the names in the directory durable. A directory that only lets itself be written, or a
    file system that cannot do this, is left at that: the content is in place."""
    with suppress(OSError):
        opened = os.open(".", DIRECTORY, dir_fd=directory)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def move_name(source: int, old: str, destination: int, new: str) -> None:
    """Rename the entry `old` of one directory to `new` of another, at once.

    Raises FileExistsError when something is called `new`, and OSError."""
    function = _renameat2()
    if function is not None:
        if function(source, os.fsencode(old), destination, os.fsencode(new), _NO_REPLACE) == 0:
            return
        number = ctypes.get_errno()
        if number not in {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP}:
            raise OSError(number, os.strerror(number))
    _move_by_reserving(source, old, destination, new)


def _move_by_reserving(source: int, old: str, destination: int, new: str) -> None:
    """Where a rename always replaces: take the name first, which nobody else can then have."""
    if stat.S_ISDIR(os.stat(old, dir_fd=source, follow_symlinks=False).st_mode):
        os.mkdir(new, dir_fd=destination)
        give_up = os.rmdir
    else:
        os.close(os.open(new, _NEW, 0o600, dir_fd=destination))
        give_up = os.unlink
    try:
        os.rename(old, new, src_dir_fd=source, dst_dir_fd=destination)
    except BaseException:
        with suppress(OSError):
            give_up(new, dir_fd=destination)
        raise


def name_aside() -> str:
    """Return a new name for what is put aside until a change of several files is complete."""
    return f".kaged-{secrets.token_hex(8)}.old"


def is_ours(name: str) -> bool:
    """Tell whether an entry lies there only while files are being changed."""
    return _LEFTOVER.fullmatch(name) is not None


def remove_leftovers(directory: int, seconds: float = LEFTOVER_SECONDS) -> int:
    """Remove what a daemon left that was killed, and return how many entries there were.

    Ours by name and kind, and not touched for `seconds`: no write takes an hour, and where nothing is written
    yet there is no need to wait. Putting an old file aside touches its entry only, hence the time of the last
    change of either."""
    oldest = time.time() - seconds
    removed = 0
    with suppress(OSError):
        opened = os.open(".", DIRECTORY, dir_fd=directory)
        try:
            for name in os.listdir(opened):
                if is_ours(name) and _is_leftover(opened, name, oldest):
                    remove_entry(opened, name)
                    removed += 1
        finally:
            os.close(opened)
    return removed


def remove_entry(directory: int, name: str) -> None:
    """Remove a file, or a folder with all that is in it; links in it are not followed."""
    if stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
        shutil.rmtree(name, dir_fd=directory)
    else:
        os.unlink(name, dir_fd=directory)


def _is_leftover(directory: int, name: str, oldest: float) -> bool:
    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    kind = stat.S_ISREG(status.st_mode) or (name.endswith(".old") and stat.S_ISDIR(status.st_mode))
    return kind and max(status.st_mtime, status.st_ctime) < oldest
