"""The files of one project with their times, kept up to date in place of a walk.

Owns: updating the list from changes, and finding in it, by a glob or by what a person types. Never: guessing:
doubt ends the list (`OutOfStep`).

A change says where to look, the file system what is there. Late and repeated changes do no harm.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.tools.search.name_index import NameHit, NameIndex, NameQuery
from app.workspace.folder_rules import ProjectRules
from app.workspace.tree_watch import FileChange

Timed = tuple[int, bytes]
"""The negated modification time in nanoseconds, and the path."""

MAX_KEPT = 200_000
MAX_PENDING = 20_000
MAX_LINKED = 1_000
_ROUNDS = 5
_FEW = 8


@dataclass(frozen=True, slots=True)
class TimesOfFiles:
    """Files with their times; None: as they were before. `mark` is another one after a change, and None where
    changes are not seen. `is_whole`: there are no further files."""

    times: dict[str, int] | None
    mark: object = None
    is_whole: bool = True


class OutOfStep(Exception):
    """The list can no longer be brought up to date."""


class Pending:
    """What has changed since the list was last brought up to date. Filled on the event loop while a
    thread takes from it."""

    def __init__(self) -> None:
        self.moved: deque[FileChange] = deque()
        self.touched: set[str] = set()

    def add(self, changes: Iterable[FileChange]) -> bool:
        """Add changes; return whether there was room for them."""
        for change in changes:
            if change.kind == "changed" and not change.is_folder:
                self.touched.add(change.path)
            else:
                self.moved.append(change)
        return len(self.moved) + len(self.touched) <= MAX_PENDING


class KeptList:
    """The files below `root`, a real path, that a walk by `rules` finds. Blocking; for any thread."""

    def __init__(self, root: Path, rules: ProjectRules, pending: Pending) -> None:
        self.rules = rules
        self._root = f"{root}/"
        self._pending = pending
        self._times: dict[str, int] = {}
        self._linked: set[str] = set()
        self._changes = 0
        self._names: NameIndex | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._times)

    def fill(self, paths: Sequence[bytes]) -> list[str]:
        """Add the files of a walk; return their folders. Raises OutOfStep when changes to rule files are not
        all seen."""
        with self._lock:
            for path in paths:
                self._look(path.decode("utf-8", "surrogateescape"))
            if len(self._times) > MAX_KEPT or len(self._linked) > MAX_LINKED:
                raise OutOfStep
            folders = list({path.rpartition("/")[0] for path in self._times})
        if not all(self.rules.changes_are_seen(folder) for folder in folders):
            raise OutOfStep
        return folders

    def any_exists(self, folders: Sequence[str]) -> bool:
        return any(os.path.lexists(self._root + folder) for folder in folders)

    def settle(self) -> None:
        """Take what changed during the walk. Raises OutOfStep."""
        with self._lock:
            # A folder may have been unreadable for just as long as it was walked through.
            if any(change.is_folder and change.kind == "changed" for change in list(self._pending.moved)):
                raise OutOfStep
            self._catch_up()

    def find(self, parts: Sequence[str], folder: int, test: re.Pattern[str], most: int) -> list[Timed]:
        """Return the files below `parts`, open as `folder`, that match, newest first; the paths are
        relative to there. The first `most` are as they are at this moment. Raises OutOfStep."""
        prefix = "".join(f"{part}/" for part in parts)
        with self._lock:
            self._catch_up()
            for path in list(self._linked):
                self._look(path)
            found = self._matching(prefix, test)
            confirmed: set[bytes] = set()
            for _ in range(_ROUNDS):
                found.sort()
                if not self._confirm(prefix, folder, found, most, confirmed):
                    return found
            raise OutOfStep

    def find_names(self, query: NameQuery, most: int, accepts: Callable[[str], bool]) -> list[NameHit]:
        """Return the names that fit best, files and folders. The first search takes longer. Raises
        OutOfStep."""
        with self._lock:
            self._catch_up()
            if self._names is None:
                self._names = NameIndex(self._times)
            return self._names.find(query, most, lambda path: self._times.get(path, 0), accepts)

    def times(self, wanted: Callable[[str], bool], since: object = None) -> TimesOfFiles:
        """Return the files that are wanted with their times; none when they are as they were with the mark
        `since`. Raises OutOfStep."""
        with self._lock:
            self._catch_up()
            mark = (self, self._changes)
            if mark == since:
                return TimesOfFiles(None, mark)
            return TimesOfFiles({path: time for path, time in self._times.items() if wanted(path)}, mark)

    def _matching(self, prefix: str, test: re.Pattern[str]) -> list[Timed]:
        fits, start = test.fullmatch, len(prefix)
        if not prefix:
            matching = [(-time, path) for path, time in self._times.items() if fits(path)]
        else:
            matching = [
                (-time, path[start:])
                for path, time in self._times.items()
                if path.startswith(prefix) and fits(path, start)
            ]
        return [(time, path.encode("utf-8", "surrogateescape")) for time, path in matching]

    def _confirm(
        self, prefix: str, folder: int, found: list[Timed], most: int, confirmed: set[bytes]
    ) -> bool:
        """Look at the first files once more; return whether that has changed anything."""
        changed = False
        for at in range(min(most, len(found)) - 1, -1, -1):
            time, path = found[at]
            if path in confirmed:
                continue
            confirmed.add(path)
            try:
                status = os.stat(path, dir_fd=folder, follow_symlinks=False)
            except OSError:
                status = None
            key = prefix + path.decode("utf-8", "surrogateescape")
            if not self._keep(key, status):
                del found[at]
                changed = True
            elif self._times[key] != -time:
                found[at] = (-self._times[key], path)
                changed = True
        return changed

    def _catch_up(self) -> None:
        moved, touched = self._pending.moved, self._pending.touched
        looked_for: dict[str, None] = {}
        gone: set[str] = set()
        for _ in range(len(moved)):
            change = moved.popleft()
            if not change.is_folder:
                looked_for[change.path] = None
            elif change.kind == "deleted":
                gone.add(change.path)
            elif change.kind == "changed" and not os.access(self._root + change.path, os.R_OK | os.X_OK):
                raise OutOfStep
        if gone:
            self._remove_below(gone)
        for path in looked_for:
            if path in self._times or self._is_new(path):
                was_linked = path in self._linked
                self._look(path)
                if path in self._linked and not was_linked:
                    raise OutOfStep  # writing to it changes the time of another file of the list
        for _ in range(len(touched)):
            path = touched.pop()
            if path in self._times:
                self._look(path)
        if len(self._times) > MAX_KEPT or len(self._linked) > MAX_LINKED:
            raise OutOfStep

    def _remove_below(self, folders: set[str]) -> None:
        if len(folders) <= _FEW:
            starts = tuple(f"{folder}/" for folder in folders)
            leaving = [path for path in self._times if path.startswith(starts)]
        else:
            leaving = [path for path in self._times if not folders.isdisjoint(_folders_of(path))]
        for path in leaving:
            self._forget(path)

    def _is_new(self, path: str) -> bool:
        """Tell whether a path that is not in the list may belong to it. Raises OutOfStep."""
        if not os.path.lexists(self._root + path):
            return False
        ignored = self.rules.ignored_file(path)
        if ignored is None:
            raise OutOfStep
        return not ignored

    def _look(self, path: str) -> None:
        try:
            status = os.lstat(self._root + path)
        except OSError:
            status = None
        self._keep(path, status)

    def _keep(self, path: str, status: os.stat_result | None) -> bool:
        """Keep a file's time, or forget it when it is no file (any more); return which."""
        if status is None or not stat.S_ISREG(status.st_mode):
            self._forget(path)
            return False
        if self._names is not None and path not in self._times:
            self._names.add(path)
        if self._times.get(path) != status.st_mtime_ns:
            self._changes += 1
        self._times[path] = status.st_mtime_ns
        if status.st_nlink > 1:
            self._linked.add(path)
        else:
            self._linked.discard(path)
        return True

    def _forget(self, path: str) -> None:
        if self._times.pop(path, None) is not None:
            self._changes += 1
            if self._names is not None:
                self._names.discard(path)
        self._linked.discard(path)


def _folders_of(path: str) -> list[str]:
    return [path[:at] for at, character in enumerate(path) if character == "/"]
