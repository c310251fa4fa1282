"""How much room a folder takes on disk. Blocks."""

from __future__ import annotations

import os
from pathlib import Path

_BLOCK = 512


def size_of(folder: Path) -> int:
    """Return the bytes that a folder's files take, a file with several names once; what goes meanwhile counts
    as nothing."""
    total, seen = 0, set()
    for above, _, files in os.walk(folder):
        for name in files:
            try:
                status = os.lstat(os.path.join(above, name))
            except OSError:
                continue
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                total += status.st_blocks * _BLOCK
    return total
