"""The protected names below a folder that a cage may write: the present ones and new ones.

Owns: finding them, and finding new ones cheaply by the change times of folders. Never: what happens to them.

Paths are followed as they are. The code that acts on a finding opens it without following links and compares.
Keeps S8 of docs/security.md.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections import deque
from collections.abc import Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from app.bridges.sandbox.identity import Identity, identity
from app.cages.protected_names import ENVIRONMENT_MARK, OTHERS_FOLDERS, kind_of
from app.workspace import folded
from app.workspace.tree_watch import FolderRules

MAX_FOLDERS = 20_000
MAX_NAMES = 500
"""How many hard names are frozen; those that lie deep, or among what is installed, are left out first."""
MAX_SOFT_NAMES = 200
"""The same of soft ones."""
MAX_KNOWN = 20_000
"""How many names of both classes are known. An unknown one cannot be identified later."""
MAX_DEPTH = 100
MAX_PATH = 3_000
"""Bytes of a path below the folder. What lies deeper, or farther, counts as a protected name: nobody could
look into it, and no work needs it."""
MAX_ENTRIES = 500_000
"""How many entries of folders are read at one time of looking."""
_JUST_NOW_NS = 2_000_000_000
"""A folder that was changed so shortly before it was read may be changed again at the same time stamp."""
_HEAVY = frozenset(
    {"node_modules", "target", "build", "dist", "vendor", "venv", ".venv", "__pycache__", ".tox", ".cache"}
)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A protected name below the folder. `changed_ns` is when it, or what it is called, was changed last."""

    parts: Parts
    identity: Identity
    mode: int
    changed_ns: int


@dataclass(slots=True)
class _Folder:
    at: tuple[int, int]
    changed_ns: int
    read_ns: int
    own: bool
    """Whether it is the project's, and nothing that was installed or made."""

    @property
    def settled(self) -> bool:
        return self.changed_ns + _JUST_NOW_NS < self.read_ns


@dataclass(frozen=True, slots=True)
class Scope:
    """What of a folder is protected beside the hard names. `exact` are hard by their path; `free` are soft
    names that may be written; `rules` say which folders are ignored."""

    exact: frozenset[Parts] = frozenset()
    free: frozenset[Parts] = frozenset()
    rules: FolderRules | None = None


@dataclass(slots=True)
class ProtectedNames:
    """What is protected below a folder, of which `descriptor` is closed by `close`. `apart` are places
    below it that are none of its business, as others are mounted there."""

    descriptor: int
    apart: frozenset[Parts]
    scope: Scope = Scope()
    found: dict[Parts, Found] = field(default_factory=dict)
    """Hard names."""
    soft: dict[Parts, Found] = field(default_factory=dict)
    """Soft names that were there at the first look."""
    made: dict[Parts, Found] = field(default_factory=dict)
    """Soft names that came later."""
    _looked: bool = False
    _folders: dict[Parts, _Folder] = field(default_factory=dict)
    closed: set[Parts] = field(default_factory=set)
    """Folders that nobody in a cage can look into, as their modes are."""
    _too_many_names: bool = False
    _entries: int = 0
    _one_looks: threading.Lock = field(default_factory=threading.Lock)

    @property
    def complete(self) -> bool:
        """Whether everything was looked at."""
        seen_all = self._entries < MAX_ENTRIES and len(self._folders) < MAX_FOLDERS
        return seen_all and not self._too_many_names

    def is_of(self, at: tuple[int, int]) -> bool:
        """Whether the folder is the one with this device and number."""
        status = os.fstat(self.descriptor)
        return (status.st_dev, status.st_ino) == at

    def close(self) -> None:
        os.close(self.descriptor)

    def is_closed(self, parts: Parts) -> bool:
        """Tell whether something lies in a folder that nobody in a cage can look into."""
        return any(parts[:length] in self.closed for length in range(len(parts)))

    @property
    def beyond(self) -> int:
        """How many names are known and not frozen, as there are too many."""
        return max(0, len(self.found) - MAX_NAMES) + max(0, len(self.soft) - MAX_SOFT_NAMES)

    def noted(self, apart: Set[Parts]) -> list[Found]:
        """Return the names to freeze: those found, within the budget of each class. Names in `apart` are left
        alone from now on."""
        with self._one_looks:
            if self.apart != apart:
                self._leave(frozenset(apart))
            hard = islice(self.found.values(), MAX_NAMES)
            return [*hard, *islice(self.soft.values(), MAX_SOFT_NAMES)]

    def _leave(self, apart: frozenset[Parts]) -> None:
        self.apart = apart
        for known in (self._folders, self.found, self.soft, self.made):
            for parts in [parts for parts in known if self._is_apart(parts)]:
                del known[parts]
        self.closed -= {parts for parts in self.closed if self._is_apart(parts)}

    def _is_apart(self, parts: Parts) -> bool:
        return any(parts[:length] in self.apart for length in range(1, len(parts) + 1))

    def look(self) -> list[Found]:
        """Look for hard names that have not been seen yet, and return them. Soft ones are added to `made`
        from the second look on. Blocks."""
        with self._one_looks:
            try:
                return self._look()
            finally:
                self._looked = True

    def _look(self) -> list[Found]:
        for known in (self.found, self.soft, self.made):
            for parts in [parts for parts, found in known.items() if self._is_gone(parts, found)]:
                del known[parts]
        before = set(self.found)
        self._too_many_names = False
        self._entries = 0
        waiting: deque[Parts] = deque(self.closed)
        self.closed.clear()
        heavy: deque[Parts] = deque()
        for parts, folder in list(self._folders.items()):
            if self._has_changed(parts, folder):
                waiting.append(parts)
        if not self._folders and () not in waiting:
            waiting.append(())
        while waiting or heavy:
            parts = waiting.popleft() if waiting else heavy.popleft()
            for name in self._read(parts):
                deeper = (*parts, name)
                if deeper not in self._folders:
                    (heavy if name in _HEAVY or not _HEAVY.isdisjoint(parts) else waiting).append(deeper)
        return [found for parts, found in self.found.items() if parts not in before]

    def _now(self, parts: Parts) -> Identity | None:
        return identity("/".join(parts), self.descriptor)

    def _is_gone(self, parts: Parts, found: Found) -> bool:
        now = self._now(parts)
        if now is not None:
            return now != found.identity
        try:
            os.stat("/".join(parts), dir_fd=self.descriptor, follow_symlinks=False)
        except PermissionError:
            return False  # a folder on the way was closed meanwhile
        except OSError:
            return True
        return False

    def _has_changed(self, parts: Parts, known: _Folder) -> bool:
        try:
            now = os.stat("/".join(parts) or ".", dir_fd=self.descriptor, follow_symlinks=False)
        except OSError:
            del self._folders[parts]
            return False
        same = ((now.st_dev, now.st_ino), now.st_ctime_ns) == (known.at, known.changed_ns)
        return not (same and known.settled)

    def _read(self, parts: Parts) -> Iterator[str]:
        """Read a folder: note the protected names in it and yield the folders in it."""
        if len(self._folders) >= MAX_FOLDERS and parts not in self._folders:
            return
        try:
            folder = os.open("/".join(parts) or ".", _FOLDER, dir_fd=self.descriptor)
        except OSError as problem:
            self._folders.pop(parts, None)
            if isinstance(problem, PermissionError):
                self.closed.add(parts)
            return
        try:
            now = time.time_ns()
            status = os.fstat(folder)
            if not _lets_in(folder, status):
                self._folders.pop(parts, None)
                self.closed.add(parts)
                return
            at, own = (status.st_dev, status.st_ino), self._is_own(parts, folder)
            self._folders[parts] = _Folder(at, status.st_ctime_ns, now, own)
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._entries += 1
                    if self._entries >= MAX_ENTRIES:
                        self._folders[parts].read_ns = 0
                        return
                    deeper = (*parts, entry.name)
                    kind = kind_of(deeper)
                    if kind == "hard" or deeper in self.scope.exact or _is_far(deeper):
                        self._note(self.found, deeper, entry)
                    elif kind == "soft" and own and deeper not in self.scope.free:
                        self._note(self.made if self._looked else self.soft, deeper, entry)
                    elif deeper not in self.apart and entry.is_dir(follow_symlinks=False):
                        yield entry.name
        except OSError:
            return
        finally:
            os.close(folder)

    def _is_own(self, parts: Parts, folder: int) -> bool:
        """Tell whether a folder that is open is part of the project's own tree."""
        if not parts:
            return True
        above = self._folders.get(parts[:-1])
        if (above is not None and not above.own) or folded(parts[-1]) in OTHERS_FOLDERS:
            return False
        with suppress(OSError):
            os.stat(ENVIRONMENT_MARK, dir_fd=folder, follow_symlinks=False)
            return False
        return self.scope.rules is None or not self.scope.rules.ignored("/".join(parts))

    def _note(self, known: dict[Parts, Found], parts: Parts, entry: os.DirEntry[str]) -> None:
        if parts in known or parts in self.soft or parts in self.apart:
            return
        if len(self.found) + len(self.soft) + len(self.made) >= MAX_KNOWN:
            self._too_many_names = True
            self._folders[parts[:-1]].read_ns = 0  # it is read again, when some have been taken away
            return
        with suppress(OSError):
            now, status = self._now(parts), entry.stat(follow_symlinks=False)
            if now is not None:
                known[parts] = Found(parts, now, status.st_mode, status.st_ctime_ns)


def _lets_in(folder: int, status: os.stat_result) -> bool:
    """Tell whether who runs in a cage may enter a folder. Root has no more rights in there than the modes
    give."""
    if os.geteuid() != 0:
        return os.access(".", os.X_OK, dir_fd=folder)
    who = 6 if status.st_uid == 0 else 3 if status.st_gid in (0, *os.getgroups()) else 0
    return status.st_mode >> who & 5 == 5


def _is_far(parts: Parts) -> bool:
    if len(parts) > MAX_DEPTH:
        return True
    return sum(map(len, parts)) > MAX_PATH // 4 and _bytes(parts) > MAX_PATH


def _bytes(parts: Parts) -> int:
    return len(os.fsencode("/".join(parts)))


def can_be_bound(found: Found) -> bool:
    """Tell whether something can be mounted there: a link cannot."""
    return stat.S_ISDIR(found.mode) or stat.S_ISREG(found.mode)
