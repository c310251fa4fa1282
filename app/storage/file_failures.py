"""What the operating system's errors about files of the daemon mean to the operator.

Owns: their wording, and finding out whether there is room on the disk. Never: the database's own errors
(`failures`), and nothing that is slow to import: every command of the command line looks at the data folder.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from app.errors import StorageError

_FULL = "the disk is full; free space there"
_DENIED = "permission is denied; check the owner and the mode"
_NO_FOLDER = "something on the way is not a folder; name another place"

_HINTS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: "the disk quota is used up; free space there",
    errno.EFBIG: "the file would be larger than is allowed (see `ulimit -f`)",
    errno.EROFS: "the file system is mounted read-only; mount it writable, or name another place",
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
    """Return the error to tell; `cannot` says which file it is about and what cannot be done with it."""
    hint = _HINTS.get(problem.errno or 0) or problem.strerror or type(problem).__name__
    return StorageError(f"{cannot}: {hint}")


LEAST_ROOM = 1 << 20
"""Bytes. With less the database cannot even make the files beside it, and tries for half a minute."""


def check_room(folder: Path) -> None:
    """Raise StorageError that says why nothing can be stored in the folder now. Blocks."""
    import tempfile  # not for the command line, which never asks

    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, LEAST_ROOM)
    except OSError as problem:
        raise file_error(problem, f"nothing can be stored in the data folder {folder}") from problem
