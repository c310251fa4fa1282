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
    """Open a file for `open(..., opener=private)`: readable by its owner only, and never through a link."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, MODE)


def make_private(path: Path) -> None:
    """Create an empty private file, or remove the permissions of others from an existing one.

    An existing file is not opened: closing it would end SQLite's locks."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE))
    except FileExistsError:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode) and mode & _OTHERS:
            with suppress(PermissionError):  # somebody else's file, which we may only use
                path.chmod(MODE)
