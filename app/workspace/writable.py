"""Whether the daemon's user may write to a project's folder, which in a container is often another user's.

Owns: looking, and the reason in words. Never: changing an owner or a mode.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_ENTRIES = (".", ".kaged")
"""What is looked at: who may not write there can replace neither the project's files nor its settings."""


@dataclass(frozen=True, slots=True)
class FolderAccess:
    """`owner` and `user` are numbers of users: that of the folder, and the daemon's. `problem` says why the
    daemon cannot write there; None: it can."""

    owner: int
    user: int
    problem: str | None

    @property
    def foreign(self) -> bool:
        """The folder belongs to another user."""
        return self.owner != self.user


def access_to(root: Path) -> FolderAccess | None:
    """Return what the daemon's user may do with a project's folder, None where there is no folder. Blocks."""
    try:
        owner = os.stat(root).st_uid
    except OSError:
        return None
    user = os.geteuid()
    closed = next((root / name for name in _ENTRIES if _is_closed(root / name)), None)
    if closed is None:
        return FolderAccess(owner, user, None)
    if _is_read_only(closed):
        return FolderAccess(owner, user, "it is mounted read-only")
    holder = os.stat(closed).st_uid
    whose = f"{closed} belongs to the user {holder}" if holder != user else f"the mode of {closed} forbids it"
    return FolderAccess(owner, user, f"{whose}, and the daemon runs as the user {user}")


def _is_closed(folder: Path) -> bool:
    return folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK)


def _is_read_only(folder: Path) -> bool:
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except OSError:
        return False
