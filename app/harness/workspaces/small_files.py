"""Small files that a repository or a program has put somewhere: read without being led elsewhere.

Owns: what counts as such a file. Never: what it means. Blocks.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

MAX_BYTES = 4 * 1024 * 1024
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_small(file: Path) -> bytes | None:
    """Return what is in a file; None when it is none, a link to one, or a large one."""
    try:
        descriptor = os.open(file, _READ)
    except OSError:
        return None
    with open(descriptor, "rb") as opened:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            return None
        return opened.read(MAX_BYTES)
