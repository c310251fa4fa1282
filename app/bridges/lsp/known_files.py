"""The files that a language server can know of, so that it gets the right kind of change for each.

Owns: telling a new file from one that was replaced, the files of a folder that went as a whole, and what has
changed while nobody watched. Never: which changes the server wants to hear of.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from app.workspace.tree_watch import FileChange

log = logging.getLogger("kaged.languages")

MAX_FILES = 100_000
_MARGIN_NS = 2_000_000_000
_PACKAGES, _DESCRIPTION = "node_modules", "package.json"
_LEFT_OUT = frozenset({".git", _PACKAGES})


class KnownFiles:
    """The files below `root` as they were last seen. All methods block; not for two threads at once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files: set[str] = set()

    def scan(self) -> None:
        """Take note of all files."""
        self._files = {path for path, _ in self._walk()}

    def taken(self, news: Iterable[FileChange]) -> list[FileChange]:
        """Take note of changes and return what they are: of files only, a replaced one as changed."""
        found: list[FileChange] = []
        for change in news:
            path = change.path
            if change.is_folder and change.kind == "deleted":
                gone = [file for file in self._files if file.startswith(path + "/")]
                self._files.difference_update(gone)
                found += [FileChange("deleted", file, False) for file in gone]
            elif change.is_folder:
                continue
            elif change.kind == "deleted":
                self._files.discard(path)
                found.append(change)
            elif change.kind == "created" and path in self._files:
                found.append(FileChange("changed", path, False))
            else:
                if len(self._files) < MAX_FILES and _is_found(path):
                    self._files.add(path)
                found.append(change)
        return found

    def missed(self, since: int) -> list[FileChange]:
        """Return what has changed since a moment (nanoseconds of the clock), and take note of it."""
        before, now = self._files, dict(self._walk())
        self._files = set(now)
        # Of more files than are kept in mind, other ones may have been found.
        gone = (path for path in before - self._files if not os.path.lexists(self._root / path))
        found = [FileChange("deleted", path, False) for path in gone]
        found += [FileChange("created", path, False) for path in self._files - before]
        late = since - _MARGIN_NS
        found += [FileChange("changed", path, False) for path in before & self._files if now[path] >= late]
        return found

    def _walk(self) -> Iterator[tuple[str, int]]:
        """Give every file and when it changed last."""
        count = 0
        for folder, folders, files in os.walk(self._root):
            prefix = os.path.relpath(folder, self._root) + "/" if folder != str(self._root) else ""
            installed = _packages(folder) if _PACKAGES in folders else ()
            folders[:] = [name for name in folders if name not in _LEFT_OUT]
            for name in chain(files, installed):
                count += 1
                if count > MAX_FILES:
                    log.info("%s has more files than its language servers track", self._root)
                    return
                with suppress(OSError):
                    yield prefix + name, os.lstat(os.path.join(folder, name)).st_ctime_ns


def _packages(folder: str) -> Iterator[str]:
    """Give the description of every package that is installed in a folder: it comes and goes with the
    package, whose many files are not looked at."""
    waiting = [_PACKAGES]
    while waiting:
        place = waiting.pop()
        with suppress(OSError), os.scandir(os.path.join(folder, place)) as entries:
            for entry in entries:
                if place == _PACKAGES and entry.name.startswith("@"):
                    waiting.append(f"{place}/{entry.name}")
                else:
                    yield f"{place}/{entry.name}/{_DESCRIPTION}"


def _is_found(path: str) -> bool:
    """Tell whether a walk finds this file when it is there."""
    *folders, name = path.split("/")
    if _LEFT_OUT.isdisjoint(folders):
        return True
    within = folders[folders.index(_PACKAGES) + 1 :] if _PACKAGES in folders else []
    depth = 2 if within and within[0].startswith("@") else 1
    return name == _DESCRIPTION and len(within) == depth and ".git" not in folders
