"""Files that are named by something else than a path of a caller: an installation's, the daemon's own.

Owns: reading the beginning of a file by its name without ever waiting. Never: deciding whether it may be
read; whoever was given the name by a caller asks the workspace.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from app.workspace.descriptors import READ


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
