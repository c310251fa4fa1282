"""The lines of files whose content is withheld, known again wherever they stand.

Owns: which files those are, their distinctive lines, and where such a line occurs in a text. Blocks, within
bounds. Never: which texts are looked at (`content_gate`).
"""

from __future__ import annotations

import os
import re
from bisect import insort
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import orjson

from app.workspace import read_beginning
from app.workspace.ignore_rules import VERSION_CONTROL

MIN_CHARACTERS = 12
"""A shorter line says nothing about its origin."""
MIN_ALPHANUMERIC = 6
MAX_ENTRIES = 20_000
"""Files and folders that are looked at, those nearest to where the globs begin first."""
MAX_FILES = 500
MAX_FILE_BYTES = 512 * 1024
MAX_CHARACTERS = 2 * 1024 * 1024
"""The limit for all remembered lines."""
MAX_LENGTHS = 64
"""Lengths that are tried of lines with one beginning; of more of them, the rest of the line goes."""
_EDGE = re.compile(r"(?:(?<![^\W_])|(?<=\\[nrt]))\S")
_BREAK = re.compile(r"\n|\\n")
_ESCAPED = re.compile(r"[\x00-\x1f\"\\]")
_SPECIAL = re.compile(r"[*?\[{\\]")
_Stamp = tuple[int, int, int]


class GatedLines:
    """The lines of the files below `root` that `matches` names, also those that such a file has had before.

    `matches` judges a path relative to the root; a folder that it names is meant with all below it."""

    def __init__(self, root: Path, globs: Sequence[str], matches: Callable[[str], bool]) -> None:
        self._root = root
        self._matches = matches
        self._starts = _starts(globs)
        self._stamps: dict[str, _Stamp] = {}
        self._origins: dict[str, str] = {}
        self._lengths: dict[str, list[int]] = {}
        self._crowded: dict[str, str] = {}
        self._room = MAX_CHARACTERS
        self._has_old = False

    def refresh(self) -> None:
        """Read the files that are new or have changed."""
        found = dict(islice(self._files(), MAX_FILES))
        for path, stamp in found.items():
            if self._stamps.get(path) != stamp:
                self._has_old = self._has_old or path in self._stamps
                self._read(path, stamp)
        if self._room <= 0 and (self._has_old or self._stamps.keys() - found.keys()):
            self._forget()
            for path, stamp in found.items():
                self._read(path, stamp)

    def occurrences(self, text: str) -> list[tuple[int, int, str]]:
        """Return where lines of the files stand in a text, each with its start, its end and its file."""
        found: list[tuple[int, int, str]] = []
        after = 0
        for edge in _EDGE.finditer(text) if self._lengths else ():
            start = edge.start()
            line = self._line_at(text, start) if start >= after else None
            if line is not None:
                found.append(line)
                after = line[1]
        return found

    # -- inside -----------------------------------------------------------------------------

    def _line_at(self, text: str, start: int) -> tuple[int, int, str] | None:
        beginning = text[start : start + MIN_CHARACTERS]
        if beginning in self._crowded:
            return start, _end_of_line(text, start), self._crowded[beginning]
        for length in self._lengths.get(beginning, ()):
            origin = self._origins.get(text[start : start - length])
            if origin is not None:
                return start, start - length, origin
        return None

    def _forget(self) -> None:
        self._stamps.clear()
        self._origins.clear()
        self._lengths.clear()
        self._crowded.clear()
        self._room, self._has_old = MAX_CHARACTERS, False

    def _read(self, path: str, stamp: _Stamp) -> None:
        self._stamps[path] = stamp
        try:
            content = read_beginning(self._root / path, MAX_FILE_BYTES)
        except OSError:
            return
        if b"\0" in content:
            return
        for line in content.decode("utf-8", "replace").splitlines():
            bare = line.strip()
            if len(bare) >= MIN_CHARACTERS and sum(map(str.isalnum, bare)) >= MIN_ALPHANUMERIC:
                self._add(bare, path)
                if _ESCAPED.search(bare):
                    self._add(orjson.dumps(bare).decode()[1:-1], path)

    def _add(self, line: str, path: str) -> None:
        if line in self._origins or self._room <= 0:
            return
        self._room -= len(line)
        self._origins[line] = path
        beginning = line[:MIN_CHARACTERS]
        lengths = self._lengths.setdefault(beginning, [])
        if -len(line) in lengths:
            return
        if len(lengths) < MAX_LENGTHS:
            insort(lengths, -len(line))  # the longest first
        else:
            self._crowded.setdefault(beginning, path)

    def _files(self) -> Iterator[tuple[str, _Stamp]]:
        left = deque((start, self._named(start)) for start in self._starts)
        looked = 0
        while left and looked < MAX_ENTRIES:
            folder, whole = left.popleft()
            try:
                with os.scandir(self._root / folder) as scan:
                    entries = sorted(islice(scan, MAX_ENTRIES - looked), key=lambda one: one.name)
            except OSError:
                continue
            looked += len(entries)
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                named = whole or self._matches(path)
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in VERSION_CONTROL:
                            left.append((path, named))
                    elif named and entry.is_file():
                        status = entry.stat()
                        yield path, (status.st_mtime_ns, status.st_size, status.st_ino)
                except OSError:
                    continue

    def _named(self, path: str) -> bool:
        parts = path.split("/")
        return any(self._matches("/".join(parts[: end + 1])) for end in range(len(parts)))


def lines_of(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each line, also of those within a JSON string."""
    start = 0
    for found in _BREAK.finditer(text):
        yield start, found.start()
        start = found.end()
    yield start, len(text)


def _end_of_line(text: str, start: int) -> int:
    """Return where the line that a position is in ends."""
    found = _BREAK.search(text, start)
    return len(text) if found is None else found.start()


def _starts(globs: Sequence[str]) -> tuple[str, ...]:
    """Return the folders that every match of the globs lies below, none of them below another."""
    folders = set()
    for glob in globs:
        parts = [part for part in glob.split("/")[:-1] if part not in {"", "."}]
        plain = next((at for at, part in enumerate(parts) if _SPECIAL.search(part)), len(parts))
        folders.add(tuple(parts[:plain]))
    outer = [one for one in folders if not any(one[:cut] in folders for cut in range(len(one)))]
    return tuple(sorted("/".join(one) for one in outer))
