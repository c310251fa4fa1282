"""The home and temporary folders of cages without mounts.

Owns: making and removing them, and removing those of killed daemons, which no longer hold their lock. Never:
their content.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PREFIX = "kaged-cage-"
_YOUNG_SECONDS = 60.0
"""One that was just made may not be locked yet."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class HomeFolder:
    """One cage's. Made at once; raises OSError."""

    def __init__(self) -> None:
        self.path = Path(os.path.realpath(tempfile.mkdtemp(prefix=_PREFIX)))
        self._descriptor = os.open(self.path, _FOLDER)
        with suppress(OSError):  # a file system without locks: then a killed daemon's folders stay
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for path in self.variables.values():
            os.mkdir(path, 0o700)

    @property
    def variables(self) -> dict[str, str]:
        """The variables that name them to programs."""
        return {"HOME": str(self.path / "home"), "TMPDIR": str(self.path / "tmp")}

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._descriptor)


def remove_abandoned() -> None:
    """Remove what daemons of this user have left behind that were killed. Blocks."""
    for path in _folders():
        with suppress(OSError):
            descriptor = os.open(path, _FOLDER)
            try:
                found = os.fstat(descriptor)
                is_old = time.time() - found.st_ctime > _YOUNG_SECONDS
                if found.st_uid == os.geteuid() and is_old:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)


def _folders() -> Iterator[str]:
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        yield from (entry.path for entry in entries if entry.name.startswith(_PREFIX))
