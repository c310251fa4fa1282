"""The folders of one tree that are being watched, and what the kernel's events mean for them.

Owns: which watch is which folder, the scan of new folders, the translation of events to paths.
Never: event loops and subscribers; those are `tree_watch`.

Each folder is watched before it is listed, so that nothing falls between the two. Events may be older
than what a listing has shown; the last event of a name is always right, because whatever is created or
moved here is looked up again when its event is read.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from app.workspace.inotify import (
    IN_ATTRIB,
    IN_CREATE,
    IN_DELETE,
    IN_DELETE_SELF,
    IN_IGNORED,
    IN_ISDIR,
    IN_MOVE_SELF,
    IN_MOVED_FROM,
    IN_MOVED_TO,
    IN_Q_OVERFLOW,
    IN_UNMOUNT,
    Event,
    Inotify,
    tells_everything,
)

Kind = Literal["created", "changed", "deleted"]
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ESTALE})
_LOOK_EVERY = 256


@dataclass(frozen=True, slots=True)
class FileChange:
    """One change. `path` is relative to the root, "/" between its parts. What is moved is deleted in one
    place and created in another; a file that replaces another counts as created."""

    kind: Kind
    path: str
    is_folder: bool


class FolderRules(Protocol):
    """Which folders of a project are not watched; built for every scan."""

    def ignored(self, folder: str) -> bool:
        """Tell whether a folder, relative to the root, is left out; its own folder is known not to
        be. Blocks no longer than it takes to read one small file."""

    def decided_by(self, change: FileChange) -> bool:
        """Tell whether after this change other folders may be left out."""


class Unwatchable(Exception):
    """The tree cannot be watched exactly."""


class Missed(Exception):
    """Events were lost, or are too many to be taken one by one: the tree must be scanned again."""


class RootGone(Exception):
    """The root is no longer where it was."""


class Changes:
    """What one drain has found, without repetitions; `too_many` when it is more than `most`."""

    def __init__(self, most: int) -> None:
        self.found: list[FileChange] = []
        self.too_many = False
        self._most = most
        self._last: dict[str, Kind] = {}

    def add(self, kind: Kind, path: str, is_folder: bool) -> FileChange | None:
        """Keep a change unless it says nothing new; return it when kept."""
        before = self._last.get(path)
        if self.too_many or before == kind or (kind == "changed" and before == "created"):
            return None
        if len(self.found) >= self._most:
            self.too_many = True
            return None
        if is_folder:
            self._last.clear()  # what was said of the files in it need not hold any more
        self._last[path] = kind
        change = FileChange(kind, path, is_folder)
        self.found.append(change)
        return change


class _Folder:
    __slots__ = ("children", "name", "parent", "watch")

    def __init__(self, name: str, parent: _Folder | None, watch: int) -> None:
        self.name = name
        self.parent = parent
        self.watch = watch
        self.children: dict[str, _Folder] = {}

    def prefix(self) -> str:
        """Return what stands before the names of its files: nothing for the root."""
        parts: list[str] = []
        folder: _Folder = self
        while folder.parent is not None:
            parts.append(folder.name)
            folder = folder.parent
        return "".join([f"{part}/" for part in reversed(parts)])


class WatchedFolders:
    """All watched folders below `root`, a real path. Not for two threads at once."""

    def __init__(self, root: Path, rules: FolderRules, most: int) -> None:
        self.root = root
        self.inotify = Inotify()
        self.rules_changed = False
        self._rules = rules
        self._most = most
        self._base = os.fsencode(root) + b"/"
        self._by_watch: dict[int, _Folder] = {}
        self._top: _Folder | None = None
        self._deadline = float("inf")
        self._stop = threading.Event()
        status = os.stat(root)
        self._identity = (status.st_dev, status.st_ino)

    @classmethod
    def scan(cls, root: Path, rules: FolderRules, most: int, stop: threading.Event) -> WatchedFolders:
        """Watch everything below `root`. Blocking; `stop` ends it early.

        Raises Unwatchable, or OSError when the system has no more watches, or no such root.
        """
        if any(not tells_everything(folder) for folder in (os.fsencode(root), *_mounts_below(root))):
            raise Unwatchable("its file system does not tell every change")
        folders = cls(root, rules, most)
        folders._stop = stop
        try:
            folders._enter(None, "", None)
            if folders._top is None:
                raise Unwatchable("its root cannot be read")
        except BaseException:
            folders.close()
            raise
        return folders

    def __len__(self) -> int:
        return len(self._by_watch)

    def __contains__(self, path: str) -> bool:
        """Tell whether a folder, relative to the root, is watched."""
        folder = self._top
        for name in path.split("/") if path else ():
            if folder is None:
                return False
            folder = folder.children.get(name)
        return folder is not None

    def close(self) -> None:
        """Blocking; see `Inotify.close`."""
        self.inotify.close()
        self._by_watch.clear()

    def is_in_place(self) -> bool:
        """Tell whether the root's path still leads to the folder that is watched."""
        try:
            status = os.stat(self.root)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity

    def drain(self, changes: Changes, seconds: float) -> None:
        """Take all queued events into `changes`. Raises Missed, also after `seconds`, and RootGone."""
        events = self.inotify.read()
        if not events:
            return
        self._deadline = time.thread_time() + seconds
        try:
            while events:
                self._apply(events, changes)
                self._check_time()
                events = self.inotify.read()
        except (OSError, Unwatchable) as problem:
            raise Missed(str(problem)) from None
        finally:
            self._deadline = float("inf")

    def _apply(self, events: Sequence[Event], changes: Changes) -> None:
        for watch, mask, name in events:
            if mask & IN_Q_OVERFLOW:
                raise Missed("the kernel has dropped events")
            folder = self._by_watch.get(watch)
            if folder is None:
                continue  # a folder that was deleted or moved since
            if name:
                self._entry(folder, mask, name, changes)
            elif mask & IN_UNMOUNT:
                raise Missed("a file system was unmounted")
            elif folder.parent is None:
                if mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED):
                    raise RootGone("its root was deleted or moved")
                raise Missed("the root's permissions may be others")
            elif mask & IN_IGNORED:
                self._drop(folder)

    def _entry(self, folder: _Folder, mask: int, name: str, changes: Changes) -> None:
        path, is_folder = folder.prefix() + name, bool(mask & IN_ISDIR)
        if mask & (IN_CREATE | IN_MOVED_TO):
            self._came(folder, name, path, is_folder, changes)
        elif mask & (IN_DELETE | IN_MOVED_FROM):
            self._went(folder, name, path, is_folder, changes, moved=bool(mask & IN_MOVED_FROM))
        else:
            self._add(changes, "changed", path, is_folder)
            if is_folder and mask & IN_ATTRIB:
                self._check_readable(folder, name, path, changes)

    def _came(self, folder: _Folder, name: str, path: str, is_folder: bool, changes: Changes) -> None:
        self._add(changes, "created", path, is_folder)
        known = folder.children.get(name)
        if known is not None:
            self._drop(known)
        if is_folder and not self._rules.ignored(path):
            self._enter(folder, name, changes)

    def _went(
        self, folder: _Folder, name: str, path: str, is_folder: bool, changes: Changes, *, moved: bool
    ) -> None:
        status = self._status(path) if moved else None
        if status is not None and not is_folder and not stat.S_ISDIR(status.st_mode):
            self._add(changes, "created", path, False)  # two files that have changed places
            return
        self._add(changes, "deleted", path, is_folder)
        known = folder.children.get(name)
        if known is not None:
            self._drop(known)
        if status is not None:
            self._came(folder, name, path, stat.S_ISDIR(status.st_mode), changes)

    def _check_readable(self, folder: _Folder, name: str, path: str, changes: Changes) -> None:
        """A folder that nobody could read is a new one when it can be read, and the other way round."""
        known = folder.children.get(name)
        if known is None:
            if not self._rules.ignored(path):
                self._enter(folder, name, changes)
        elif not os.access(self._base + os.fsencode(path), os.R_OK | os.X_OK):
            self._drop(known)

    def _status(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(self._base + os.fsencode(path))
        except OSError:
            return None

    def _add(self, changes: Changes, kind: Kind, path: str, is_folder: bool) -> None:
        change = changes.add(kind, path, is_folder)
        if change is not None and not self.rules_changed:
            self.rules_changed = self._rules.decided_by(change)
        elif changes.too_many:
            self.rules_changed = self.rules_changed or self._rules.decided_by(
                FileChange(kind, path, is_folder)
            )

    def _enter(self, parent: _Folder | None, name: str, changes: Changes | None) -> None:
        """Watch a folder and all below it; with `changes`, their contents are reported as created."""
        waiting = [(parent, name)]
        while waiting:
            parent, name = waiting.pop()
            if parent is not None and self._by_watch.get(parent.watch) is not parent:
                continue
            folder = self._watch(parent, name)
            if folder is None:
                continue
            prefix = folder.prefix()
            try:
                with os.scandir(self._base + os.fsencode(prefix)) as entries:
                    for number, entry in enumerate(entries):
                        if number % _LOOK_EVERY == 0:
                            self._check_time()
                        below, is_folder = os.fsdecode(entry.name), entry.is_dir(follow_symlinks=False)
                        if changes is not None:
                            self._add(changes, "created", prefix + below, is_folder)
                        if is_folder and not self._rules.ignored(prefix + below):
                            waiting.append((folder, below))
            except OSError as problem:
                if problem.errno not in _GONE:
                    raise

    def _watch(self, parent: _Folder | None, name: str) -> _Folder | None:
        """Return the folder, now watched, or None when there is none (any more) to look into."""
        path = (parent.prefix() if parent is not None else "") + name
        try:
            watch = self.inotify.watch(self._base + os.fsencode(path))
        except OSError as problem:
            if problem.errno in _GONE:
                return None
            raise
        other = self._by_watch.get(watch)
        if other is not None:
            if self._is_same(other, path):
                raise Unwatchable("one folder is in the tree twice")
            self._drop(other, keep=watch)
        if parent is not None and self._by_watch.get(parent.watch) is not parent:
            self.inotify.forget(watch)
            return None  # what was found was its own parent, at an older place
        if len(self._by_watch) >= self._most:
            self.inotify.forget(watch)
            raise Unwatchable("it has too many folders")
        folder = _Folder(name, parent, watch)
        self._by_watch[watch] = folder
        if parent is None:
            self._top = folder
            return folder
        known = parent.children.get(name)
        if known is not None:
            self._drop(known)
        parent.children[name] = folder
        return folder

    def _is_same(self, other: _Folder, path: str) -> bool:
        """Tell whether a folder that has the same watch is really there twice, not moved."""
        known = other.prefix()
        if known == f"{path}/":
            return False
        before, now = self._status(known), self._status(path)
        return before is not None and now is not None and os.path.samestat(before, now)

    def _drop(self, folder: _Folder, *, keep: int = -1) -> None:
        """Forget a folder and all below it."""
        if folder.parent is not None and folder.parent.children.get(folder.name) is folder:
            del folder.parent.children[folder.name]
        leaving = [folder]
        while leaving:
            one = leaving.pop()
            if self._by_watch.get(one.watch) is one:
                del self._by_watch[one.watch]
                if one.watch != keep:
                    self.inotify.forget(one.watch)
            leaving += one.children.values()

    def _check_time(self) -> None:
        """Time that others had the processor is not counted: it would be lost all the same."""
        if self._stop.is_set() or time.thread_time() > self._deadline:
            raise Missed("there is too much to look at")


def _mounts_below(root: Path) -> list[bytes]:
    """Return the folders below `root` on which other file systems are mounted."""
    inside = os.fsencode(root) + b"/"
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().split(b"\n")
    except OSError:
        return []
    points = (line.split(b" ")[4] for line in lines if line.count(b" ") > 4)
    unescaped = (point.decode("unicode_escape").encode("latin-1") for point in points)
    return [point for point in unescaped if point.startswith(inside)]
