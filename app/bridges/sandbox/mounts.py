"""The host folders that a cage shows, each with its mode.

Owns: opening the places of a cage once, without following links. Never: mounting; protected names
(`protected`).

A place below no other is bound by descriptor. One below another goes to the entrance with its inode.
Keeps S5 of docs/security.md.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from app.bridges.sandbox.identity import Identity, identity
from app.bridges.sandbox.protected import ProtectedNames, Scope, can_be_bound
from app.bridges.sandbox.special_files import special_files
from app.cages.cage import Cage, Mount
from app.cages.protected_names import is_protected
from app.workspace.tree_watch import FolderRules

How = Literal["rw", "ro", "hidden"]
RulesOf = Callable[[Path], FolderRules]
"""Returns what is ignored in a folder; blocks."""
_PATH_ONLY = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Bound:
    """One place in the cage, at the path that it has outside."""

    path: str
    how: How
    at: tuple[int, int]
    descriptor: int
    folder: bool


@dataclass(slots=True)
class Places:
    """The places of a cage, shallow ones first. `outer` lie below no other, `inner` do. `seen` are the
    identities found on the way: when one changes, the cage is replaced. `protected` are the protected names
    of each writable place. Closing it closes all descriptors, and the names that were not taken out."""

    outer: list[Bound] = field(default_factory=list)
    inner: list[Bound] = field(default_factory=list)
    seen: dict[str, Identity | None] = field(default_factory=dict)
    protected: dict[str, ProtectedNames] = field(default_factory=dict)
    held: ExitStack = field(default_factory=ExitStack)

    def close(self) -> None:
        self.held.close()
        while self.protected:
            self.protected.popitem()[1].close()


def open_path(path: str) -> int | None:
    """Open an absolute path without links in it; None when that is impossible. The descriptor's target can no
    longer be swapped."""
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


def lies_below(path: str, folder: str) -> bool:
    """Tell whether a path is a folder's or below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def open_places(
    cage: Cage,
    root: Path,
    shown: Iterable[str] = (),
    known: Mapping[str, ProtectedNames] | None = None,
    rules_of: RulesOf | None = None,
    *,
    can_hide: bool = False,
) -> Places:
    """Open everything that the cage names, and the folders `shown`, read-only unless the cage says otherwise.
    `root` is the project's folder, `known` the protected names found before, `rules_of` returns the ignore
    rules of a folder. With `can_hide`, pipes, sockets and devices in read-only places are hidden. Blocks.
    Raises OSError."""
    mounts = [Mount(Path(path), "ro") for path in shown if not _is_named(path, cage)]
    known = known or {}
    places = Places()
    try:
        for mount in _ordered([*mounts, *cage.mounts]):
            _add(mount, root if cage.protects_names else None, places, cage.repository)
        writable = [one for one in (*places.outer, *places.inner) if one.how == "rw" and one.folder]
        for bound in writable if cage.protects_names else ():
            _protect(bound, places, cage, known, rules_of)
        for bound in list(places.inner):
            _pin(bound, places)
        if can_hide and cage.hides_special_files:
            granted = {one.path for one in (*places.outer, *places.inner)} - set(shown)
            for bound in [one for one in (*places.outer, *places.inner) if one.path in granted]:
                _hide_special_files(bound, places)
        places.inner.sort(key=lambda bound: _depth(bound.path))
    except BaseException:
        places.close()
        raise
    return places


def _is_named(path: str, cage: Cage) -> bool:
    return any(str(mount.path) == path for mount in cage.mounts)


def _depth(path: str) -> int:
    return path.rstrip("/").count("/")


def _ordered(mounts: Iterable[Mount]) -> list[Mount]:
    """Return the mounts, of each place only the one that counts, with the shallow ones first."""
    strictness = {"deny": 2, "ro": 1, "rw": 0}
    counting: dict[str, Mount] = {}
    for mount in mounts:
        path = os.path.normpath(mount.path)
        present = counting.get(path)
        if present is None or strictness[mount.mode] > strictness[present.mode]:
            counting[path] = replace(mount, path=Path(path))
    return sorted(counting.values(), key=lambda mount: _depth(str(mount.path)))


def _add(mount: Mount, root: Path | None, places: Places, repository: Path | None) -> None:
    """Add a place. Below `root` protected names are read-only, but for the folder `repository`."""
    path = str(mount.path)
    places.seen[path] = identity(path)
    if mount.mode == "deny":
        path = os.path.realpath(path)
    around = _around(path, places)
    if mount.mode == "deny" and (around is None or around.how == "hidden"):
        return  # it is not to be seen anyway
    descriptor = open_path(path)
    if descriptor is None:
        return
    places.held.callback(os.close, descriptor)
    found = os.fstat(descriptor)
    folder = stat.S_ISDIR(found.st_mode)
    if not (folder or stat.S_ISREG(found.st_mode)):
        return
    how: How = "hidden" if mount.mode == "deny" else mount.mode
    if how == "rw" and root is not None and mount.path.is_relative_to(root) and mount.path != repository:
        below = mount.path.relative_to(root).parts
        how = "ro" if any(is_protected(name) for name in below) else "rw"
    bound = Bound(path, how, (found.st_dev, found.st_ino), descriptor, folder)
    (places.outer if around is None else places.inner).append(bound)


def _around(path: str, places: Places) -> Bound | None:
    """Return the deepest place that a path lies in."""
    found = [bound for bound in (*places.outer, *places.inner) if lies_below(path, bound.path)]
    return max(found, key=lambda bound: len(bound.path), default=None)


def _protect(
    bound: Bound,
    places: Places,
    cage: Cage,
    known: Mapping[str, ProtectedNames],
    rules_of: RulesOf | None,
) -> None:
    """Add the protected names in a writable place, read-only. A protected name that the cage grants, but that
    does not exist, counts as new when it is made."""
    named = [os.path.normpath(mount.path) for mount in cage.mounts]
    others = {one.path for one in (*places.outer, *places.inner)} - {bound.path}
    apart = frozenset(
        _below(path, bound.path)
        for path in named
        if path in others and lies_below(path, bound.path) and not is_protected(os.path.basename(path))
    )
    names = known.get(bound.path)
    if names is None or not names.is_of(bound.at):
        names = ProtectedNames(os.dup(bound.descriptor), apart, _scope(bound, cage, rules_of))
        places.protected[bound.path] = names
        names.look()
    for found in names.noted(apart):
        path = "/".join((bound.path.rstrip("/"), *found.parts))
        places.seen[path] = found.identity
        if path in others or names.is_closed(found.parts):
            continue
        if can_be_bound(found):
            places.inner.append(Bound(path, "ro", found.identity.at, -1, stat.S_ISDIR(found.mode)))
        elif stat.S_ISLNK(found.mode) and found.parts not in names.scope.exact:
            _protect_target(path, bound, places)
    for parts in list(names.closed):
        if not names.is_closed(parts):
            _close(bound, parts, places)


def _scope(bound: Bound, cage: Cage, rules_of: RulesOf | None) -> Scope:
    """Return what the cage says of names below a place that can be written to."""

    def below(paths: Iterable[Path]) -> frozenset[tuple[str, ...]]:
        texts = map(os.path.normpath, paths)
        return frozenset(_below(path, bound.path) for path in texts if lies_below(path, bound.path)) - {()}

    free = below(mount.path for mount in cage.mounts if mount.mode == "rw")
    return Scope(below(cage.guarded), free, None if rules_of is None else rules_of(Path(bound.path)))


def _hide_special_files(bound: Bound, places: Places) -> None:
    """Hide the pipes, sockets and devices in a place that may only be read: its mount keeps nobody from
    writing to them."""
    if bound.how != "ro" or not bound.folder:
        return
    folder = open_path(bound.path) if bound.descriptor < 0 else os.dup(bound.descriptor)
    if folder is None:
        return
    others = (one.path for one in (*places.outer, *places.inner) if one is not bound)
    apart = {_below(path, bound.path) for path in others if lies_below(path, bound.path)}
    try:
        for parts, found, is_folder in special_files(folder, apart):
            path = "/".join((bound.path.rstrip("/"), *parts))
            places.inner.append(Bound(path, "hidden", found.at, -1, is_folder))
    finally:
        os.close(folder)


def _close(bound: Bound, parts: tuple[str, ...], places: Places) -> None:
    """Add an unreadable folder, read-only, so that no process in the cage opens it to change protected names
    in it."""
    path = "/".join((bound.path.rstrip("/"), *parts))
    places.seen[path] = found = identity(path)
    if found is not None:
        places.inner.append(Bound(path, "ro", found.at, -1, True))


def _protect_target(link: str, bound: Bound, places: Places) -> None:
    """Add what a protected link leads to, read-only, where that could be written to instead of the link."""
    path = os.path.realpath(link)
    around = _around(path, places)
    if around is None or around.how != "rw" or path == around.path or not lies_below(path, bound.path):
        return
    places.seen[path] = present = identity(path)
    with suppress(OSError):
        mode = os.lstat(path).st_mode
        if present is not None and (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
            places.inner.append(Bound(path, "ro", present.at, -1, stat.S_ISDIR(mode)))


def _pin(bound: Bound, places: Places) -> None:
    """Make mounts of the folders on the way to an inner place, so that nobody in the cage can rename
    them and put others there."""
    known = {one.path for one in (*places.outer, *places.inner)}
    folder = os.path.dirname(bound.path)
    while folder not in known:
        around = _around(folder, places)
        if around is None or around.how != "rw":
            return
        present = identity(folder)
        if present is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
        places.inner.append(Bound(folder, "rw", present.at, -1, True))
        known.add(folder)
        folder = os.path.dirname(folder)


def _below(path: str, folder: str) -> tuple[str, ...]:
    return tuple(part for part in path[len(folder) :].split("/") if part)


@dataclass(frozen=True, slots=True)
class RealMounts:
    """A cage and the project's folder, with that folder at its real place."""

    cage: Cage
    root: Path


def real_mounts(cage: Cage, root: Path) -> RealMounts:
    real = Path(os.path.realpath(root))
    if real == root:
        return RealMounts(cage, root)

    def moved(path: Path) -> Path:
        return real / path.relative_to(root) if path.is_relative_to(root) else path

    mounts = tuple(replace(mount, path=moved(mount.path)) for mount in cage.mounts)
    return RealMounts(replace(cage, mounts=mounts, guarded=tuple(map(moved, cage.guarded))), real)


def place_fields(inner: Sequence[Bound]) -> list[dict[str, object]]:
    """Return the inner places as the entrance gets them."""
    return [{"path": bound.path, "how": bound.how, "at": list(bound.at)} for bound in inner]
