"""How much room a folder takes on disk. Blocks."""

from __future__ import annotations

import os
from pathlib import Path

_BLOCK = 512


def size_of(folder: Path) -> int:
    """Return the bytes that a folder's files take, a file with several names once; what goes meanwhile counts
    as nothing. No link is followed."""
    total = 0
    seen: set[tuple[int, int]] = set()
    folders = [os.fspath(folder)]
    while folders:
        try:
            entries = os.scandir(folders.pop())
        except OSError:
            continue
        with entries:
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                        continue
                    status = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if status.st_nlink == 1 or (status.st_dev, status.st_ino) not in seen:
                    seen |= {(status.st_dev, status.st_ino)} if status.st_nlink > 1 else set()
                    total += status.st_blocks * _BLOCK
    return total
