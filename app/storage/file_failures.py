"""Errors of the operating system about files of the daemon, in words for the operator. Imported by every
command, so it imports nothing slow.

Owns: their wording, and the check for free space. Never: errors of the database (`failures`).
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from app.errors import StorageError

_FULL = "the disk is full; free space there"
_DENIED = "permission is denied; check the owner and the mode"
_NO_FOLDER = "a part of the path is not a folder; choose another path"

_HINTS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: "the disk quota is used up; free space there",
    errno.EFBIG: "the file would be larger than is allowed (see `ulimit -f`)",
    errno.EROFS: "the file system is mounted read-only; mount it writable, or choose another path",
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
    errno.ENOENT: "there is no such folder",
    errno.ENOTDIR: _NO_FOLDER,
    errno.EEXIST: _NO_FOLDER,
    errno.EISDIR: "a folder has its name; remove it",
    errno.ENOLCK: "its file system has no locks; name a folder on a local disk",
    errno.EOPNOTSUPP: "its file system does not know how to do this; name a folder on a local disk",
}


def file_error(problem: OSError, cannot: str) -> StorageError:
    """Return the error; `cannot` says which file and what failed."""
    hint = _HINTS.get(problem.errno or 0) or problem.strerror or type(problem).__name__
    return StorageError(f"{cannot}: {hint}")


LEAST_ROOM = 1 << 20
"""Bytes that the database needs for the files beside it."""


def check_room(folder: Path) -> None:
    """Raise StorageError when nothing can be stored in the folder. Blocks."""
    import tempfile  # not for the command line, which never asks

    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, LEAST_ROOM)
    except OSError as problem:
        raise file_error(problem, f"nothing can be stored in the data folder {folder}") from problem
