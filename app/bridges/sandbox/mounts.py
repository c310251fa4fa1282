"""What a cage sees of the host's folders: each opened once, without following links, and bound by that.

Owns: turning a cage's mounts into descriptors and places, deeper ones after those that they lie in.
Never: which names are protected (`protected`), or mounting.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from app.cages.cage import Cage, Mount
from app.cages.file_grants import Mode

How = Literal["rw", "ro", "hidden"]
Identity = tuple[int, int] | None
"""Device and number of what is there, None when nothing is."""
_PATH_ONLY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Bound:
    """One place in the cage. `descriptor` is what is bound there; hidden places have none."""

    path: str
    how: How
    folder: bool
    descriptor: int | None = None


@dataclass(slots=True)
class Places:
    """All places of a cage, shallow ones first. `seen` is what was there by path when they were opened:
    when it is another by now the cage has to be made anew. Closing it closes the descriptors."""

    bounds: list[Bound] = field(default_factory=list)
    seen: dict[str, Identity] = field(default_factory=dict)
    held: ExitStack = field(default_factory=ExitStack)

    def close(self) -> None:
        self.held.close()

    @property
    def roots(self) -> Iterator[Bound]:
        """The places that may be written to."""
        return (bound for bound in self.bounds if bound.how == "rw")


def look(path: str) -> Identity:
    """Return what is at a path, links not followed."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def open_path(path: str) -> int | None:
    """Open what is at an absolute path, no component of which is a link; None when it cannot be opened
    so. What the descriptor stands for cannot be exchanged any more."""
    descriptor = os.open("/", _PATH_ONLY | os.O_DIRECTORY)
    try:
        for name in [part for part in path.split("/") if part]:
            deeper = os.open(name, _PATH_ONLY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = deeper
            if stat.S_ISLNK(os.fstat(descriptor).st_mode):
                raise OSError
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def open_places(cage: Cage) -> Places:
    """Open everything that the cage names. Blocks. Raises OSError when there are too many."""
    places = Places()
    try:
        for mount in _ordered(cage.mounts):
            path = os.path.normpath(mount.path)
            places.seen[path] = look(path)
            bound = _bound(path, mount.mode, places)
            if bound is not None:
                places.bounds.append(bound)
    except BaseException:
        places.close()
        raise
    return places


def _ordered(mounts: Iterable[Mount]) -> list[Mount]:
    """Return the mounts with the shallow ones first; of those of one place the denial comes last."""
    return sorted(mounts, key=lambda mount: (len(mount.path.parts), mount.mode == "deny", mount.mode == "ro"))


def _bound(path: str, mode: Mode, places: Places) -> Bound | None:
    if mode == "deny":
        path = os.path.realpath(path)
        around = any(
            bound.path == path or path.startswith(bound.path.rstrip("/") + "/") for bound in places.bounds
        )
        if not around or not os.path.lexists(path):
            return None
        return Bound(path, "hidden", os.path.isdir(path))
    descriptor = open_path(path)
    if descriptor is None:
        return None
    places.held.callback(os.close, descriptor)
    kind = os.fstat(descriptor).st_mode
    if not (stat.S_ISDIR(kind) or stat.S_ISREG(kind)):
        return None
    return Bound(path, mode, stat.S_ISDIR(kind), descriptor)


def real_mounts(cage: Cage, root: Path) -> tuple[Cage, str | None]:
    """Return the cage with the project's folder at its real place, and the name that the project was
    called by when that leads there through a link."""
    real = Path(os.path.realpath(root))
    if real == root:
        return cage, None
    mounts = tuple(
        Mount(real / mount.path.relative_to(root), mount.mode) if mount.path.is_relative_to(root) else mount
        for mount in cage.mounts
    )
    return Cage(**{name: getattr(cage, name) for name in Cage.__slots__} | {"mounts": mounts}), str(root)
