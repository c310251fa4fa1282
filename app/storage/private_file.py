"""Files that nobody but their owner may read, whatever the process's umask allows.

Owns: opening and tightening them. Never: what is in them.
Keeps S20 of docs/security.md.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

MODE = 0o600
_OTHERS = 0o077


def private(path: str, flags: int) -> int:
    """Open a file for `open(..., opener=private)`: made for its owner alone, and never by way of a
    link that somebody else put in its place."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, MODE)


def make_private(path: Path) -> None:
    """Make an empty private file, or take away what others may do with the one that is there.

    A file that is there is not opened: to close it again would end SQLite's locks on it."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE))
    except FileExistsError:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode) and mode & _OTHERS:
            with suppress(PermissionError):  # somebody else's file, which we may only use
                path.chmod(MODE)
