"""What search engines print, taken apart as it arrives.

Owns: the split into results, also where names hold line ends. Never: judging or limiting them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.tools.search.engine import START

_HEAD = re.compile(rb"(\d+)([:-])")
_BINARY = re.compile(rb": WARNING: stopped searching binary file after match \(found ")


@dataclass(frozen=True, slots=True)
class FoundLine:
    """A line of the file at `path`: `is_match`, or shown as context."""

    path: bytes
    line: int
    is_match: bool
    content: bytes


@dataclass(frozen=True, slots=True)
class BinaryFile:
    """The file at `path` has turned out to be binary: its lines so far do not count."""

    path: bytes


class LineReader:
    """Takes the output of a search for lines in pieces."""

    def __init__(self) -> None:
        self._left = b""

    def feed(self, chunk: bytes) -> Iterator[FoundLine | BinaryFile]:
        """Yield the results that are complete by now."""
        data = self._left + chunk
        end = data.rfind(b"\n" + START)
        if end < 0:
            self._left = data
            return
        self._left = data[end + 1 :]
        yield from _results(data[:end])

    def finish(self) -> Iterator[FoundLine | BinaryFile]:
        """Yield what is left at the end of the output."""
        if self._left.endswith(b"\n"):
            yield from _results(self._left[:-1])
        self._left = b""


def _results(data: bytes) -> Iterator[FoundLine | BinaryFile]:
    for result in data.removeprefix(START).split(b"\n" + START):
        path, separator, rest = result.partition(b"\0")
        if separator:
            head = _HEAD.match(rest)
            if head is not None:
                content = rest[head.end() :].removesuffix(b"\r")
                yield FoundLine(path, int(head[1]), head[2] == b":", content)
            continue
        *_, said = [None, *_BINARY.finditer(path)]
        if said is not None:
            yield BinaryFile(path[: said.start()])


class PathReader:
    """Takes a list of paths, each ended by a NUL, in pieces."""

    def __init__(self) -> None:
        self._left = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the paths that are complete by now."""
        data = self._left + chunk
        *whole, self._left = data.split(b"\0")
        return [path.removeprefix(START) for path in whole]


class CountReader:
    """Takes lines of `path NUL count` in pieces."""

    def __init__(self) -> None:
        self._left = b""

    def feed(self, chunk: bytes) -> list[tuple[bytes, int]]:
        """Return the paths and counts that are complete by now."""
        data = self._left + chunk
        found, at = [], 0
        for one in _COUNT.finditer(data):
            found.append((one[1], int(one[2])))
            at = one.end()
        self._left = data[at:]
        return found


_COUNT = re.compile(rb"\.//([^\0]+)\0(\d+)\r?\n")
