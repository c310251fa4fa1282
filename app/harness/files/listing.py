"""The entries of a folder, and of those below it.

Owns: walking by descriptors, without following links, and the order of entries. Never: their sizes, or what
git says of them. Blocks.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from app.harness.files.git_status import RepositoryStatus
from app.workspace import Opened, Workspace
from app.workspace.tree_rules import TreeRules

Kind = Literal["file", "folder", "link", "other"]
MAX_ENTRIES = 200_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class ListingStopped(Exception):
    """Nobody waits for the listing any more."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`path` is relative to the root; bytes that are not UTF-8 are surrogates. `gone`: only git knows it."""

    path: str
    kind: Kind
    ignored: bool = False
    gone: bool = False

    @property
    def key(self) -> tuple[tuple[bool, str], ...]:
        return sort_key(self.path, is_folder=self.kind == "folder")


def sort_key(path: str, *, is_folder: bool) -> tuple[tuple[bool, str], ...]:
    """Return what entries are sorted by: folders before files, each directly before what is in it."""
    *above, name = path.split("/")
    return (*((False, one) for one in above), (not is_folder, name))


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries in order. `folder` is the real path of the listed one, below the root; `visited` are the
    folders that were read, `unreadable` those that could not be. `is_whole`: these are all entries."""

    folder: str
    depth: int
    entries: list[Entry]
    visited: tuple[str, ...]
    unreadable: frozenset[str]
    is_whole: bool

    def after(self, key: tuple[tuple[bool, str], ...] | None, limit: int) -> list[Entry]:
        """Return up to `limit` entries behind the one with this key."""
        start = 0 if key is None else bisect_right(self.entries, key, key=lambda entry: entry.key)
        return self.entries[start : start + limit]

    def with_deleted(self, status: RepositoryStatus) -> Listing:
        """Return the same with the files and folders that are gone since the last commit."""
        there = {entry.path for entry in self.entries}
        start = f"{self.folder}/" if self.folder else ""
        gone: dict[str, Entry] = {}
        for path in status.deleted:
            if not path.startswith(start):
                continue
            names = path[len(start) :].split("/")
            for length in range(1, min(len(names), self.depth) + 1):
                place = start + "/".join(names[:length])
                if place not in there and place not in gone:
                    kind: Kind = "file" if length == len(names) else "folder"
                    gone[place] = Entry(place, kind, gone=True)
        if not gone:
            return self
        entries = sorted((*self.entries, *gone.values()), key=lambda entry: entry.key)
        return Listing(self.folder, self.depth, entries, self.visited, self.unreadable, self.is_whole)


class Lister:
    """Lists one folder. With `everything`, entries that the ignore rules leave out are there, too."""

    def __init__(
        self, workspace: Workspace, rules: TreeRules, *, depth: int, everything: bool, stop: threading.Event
    ) -> None:
        self._workspace = workspace
        self._rules = rules
        self._depth = depth
        self._everything = everything
        self._stop = stop
        self._entries: list[Entry] = []
        self._visited: list[str] = []
        self._unreadable: set[str] = set()

    def listing(self, opened: Opened) -> Listing:
        """List an open folder. Raises OSError and ListingStopped."""
        ignored = self._rules.leaves_out_folder(opened.parts)
        is_whole = self._look(opened.descriptor, opened.parts, 1, ignored=ignored)
        return Listing(
            "/".join(opened.parts),
            self._depth,
            self._entries,
            tuple(self._visited),
            frozenset(self._unreadable),
            is_whole,
        )

    def _look(self, folder: int, parts: tuple[str, ...], level: int, *, ignored: bool) -> bool:
        """Add what is in an open folder; return whether that was all."""
        found = self._read(folder, parts, ignored=ignored)
        self._visited.append("/".join(parts))
        for entry in found:
            if len(self._entries) >= MAX_ENTRIES:
                return False
            self._entries.append(entry)
            if entry.kind != "folder" or level >= self._depth:
                continue
            name = entry.path.rpartition("/")[2]
            try:
                below = os.open(name, _FOLDER, dir_fd=folder)
            except OSError:
                self._unreadable.add(entry.path)
                continue
            try:
                if not self._look(below, (*parts, name), level + 1, ignored=entry.ignored):
                    return False
            except OSError:
                self._unreadable.add(entry.path)
            finally:
                os.close(below)
        return True

    def _read(self, folder: int, parts: tuple[str, ...], *, ignored: bool) -> list[Entry]:
        start = "".join(f"{part}/" for part in parts)
        found: list[Entry] = []
        with os.scandir(folder) as entries:
            for number, one in enumerate(entries):
                if number % 1_000 == 0 and self._stop.is_set():
                    raise ListingStopped
                if not self._workspace.may_read((*parts, one.name)):
                    continue
                kind = _kind(one)
                path = start + one.name
                left_out = ignored or self._rules.leave_out(path, is_folder=kind == "folder")
                # Who names a folder that is left out wants to see what is in it.
                if not left_out or ignored or self._everything:
                    found.append(Entry(path, kind, left_out))
        return _sorted(found)


def _sorted(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: (entry.kind != "folder", entry.path))


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"
