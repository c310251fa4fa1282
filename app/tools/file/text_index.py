"""An index of large text files, for reading from the middle.

Owns: digest, encoding, line count and line positions, under a key that changes with the file. Never: content.
"""

from __future__ import annotations

import os
import threading
import time
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from app.tools.project_files.read_tracker import Digest
from app.tools.project_files.text_format import TextFormat

Key = tuple[int, int, int, int, int]
MIN_SIZE = 1024 * 1024
MAX_FILES = 64
MAX_MARKS = 4096
SETTLED_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Marks:
    """Places in a file, in order: at the byte `positions[n]`, `ended[n]` lines have ended."""

    positions: array[int] = field(default_factory=lambda: array("Q"))
    ended: array[int] = field(default_factory=lambda: array("Q"))

    def add(self, position: int, ended: int) -> None:
        self.positions.append(position)
        self.ended.append(ended)

    def before(self, line: int) -> tuple[int, int]:
        """Return the last place before which line `line` (from 0) cannot have begun, and how many
        lines have ended there."""
        place = max(bisect_right(self.ended, line - 1) - 1, 0)
        return self.positions[place], self.ended[place]


@dataclass(frozen=True, slots=True)
class KnownText:
    """`text_format` is None for a binary file."""

    digest: Digest
    text_format: TextFormat | None
    total_lines: int
    marks: Marks


class TextIndex:
    """Shared by the threads that read. `clock` gives nanoseconds since the epoch."""

    def __init__(self, clock: Callable[[], int] = time.time_ns) -> None:
        self._clock = clock
        self._known: OrderedDict[Key, KnownText] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, status: os.stat_result) -> KnownText | None:
        with self._lock:
            found = self._known.get(_key(status))
            if found is not None:
                self._known.move_to_end(_key(status))
            return found

    def is_settled(self, status: os.stat_result) -> bool:
        """Tell whether a file that looks like this now may be remembered once it was read."""
        newest = max(status.st_mtime_ns, status.st_ctime_ns)
        return status.st_size >= MIN_SIZE and self._clock() - newest >= SETTLED_NS

    def put(self, before: os.stat_result, after: os.stat_result, known: KnownText) -> None:
        """Remember what was read between two looks at the file, if it did not change."""
        if _key(before) == _key(after):
            with self._lock:
                self._known[_key(before)] = known
                while len(self._known) > MAX_FILES:
                    self._known.popitem(last=False)


def same_file_state(first: os.stat_result, second: os.stat_result) -> bool:
    return _key(first) == _key(second)


def _key(status: os.stat_result) -> Key:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
