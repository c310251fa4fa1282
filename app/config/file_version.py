"""The version of a file, which changes when the file changes."""

from __future__ import annotations

from pathlib import Path

FileVersion = tuple[int, int, int]


def version_of(file: Path) -> FileVersion | None:
    """Return the version of a file, None when it is not there."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
