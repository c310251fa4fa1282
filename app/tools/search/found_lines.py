"""What search engines print, taken apart as it arrives.

Owns: the split into results, also where names hold line ends. Never: judging or limiting them.
"""

from __future__ import annotations

import re

from app.tools.search.engine import START

_RESULT = re.compile(rb"(?:\A|\n)\.//((?>(?:(?!\.//)[^\0])+))\0(\d++)([:-])([^\n]*+)")
_BINARY = re.compile(rb": WARNING: stopped searching binary file after match \(found ")

FoundLine = tuple[bytes, bytes, bytes, bytes]
"""Path, line number, `:` for a match or `-` for a line of its context, and the line. An empty
number says that the file has turned out to be binary: its lines so far do not count."""


class LineReader:
    """Takes the output of a search for lines in pieces."""

    def __init__(self) -> None:
        self._left = b""

    def feed(self, chunk: bytes) -> list[FoundLine]:
        return results(self.whole(chunk))

    def whole(self, chunk: bytes) -> bytes:
        """Return the results that are complete by now as they were printed, for `results`."""
        data = self._left + chunk
        end = data.rfind(b"\n" + START)
        self._left = data[end + 1 :]
        return data[: max(end, 0)]

    def finish(self) -> list[FoundLine]:
        """Return what is left at the end of the output, if it is whole."""
        left, self._left = self._left, b""
        return results(left[:-1]) if left.endswith(b"\n") else []


def results(data: bytes) -> list[FoundLine]:
    if _BINARY.search(data) is None:
        return _RESULT.findall(data)
    found: list[FoundLine] = []
    for result in data.removeprefix(START).split(b"\n" + START):
        if b"\0" in result:
            found += _RESULT.findall(START + result)
        else:
            said = [one.start() for one in _BINARY.finditer(result)]
            found += [(result[: said[-1]], b"", b"", b"")] if said else []
    return found


def as_text(data: bytes, folder: bytes, longest: int) -> tuple[bytes, int] | None:
    """Return complete results as lines with `folder` before the path, and their number. None where they need
    parsing: binary files, odd names, lines too long to show whole."""
    count = data.count(b"\n" + START) + 1
    if data.count(b"\0") != count or _BINARY.search(data) is not None:
        return None
    if max(map(len, data.split(b"\n"))) > longest:
        return None
    text = data.removeprefix(START).replace(b"\n" + START, b"\n" + folder).replace(b"\0", b":")
    text = folder + text.replace(b"\r\n", b"\n").removesuffix(b"\r") + b"\n"
    return text.decode("utf-8", "replace").encode(), count


class PathReader:
    """Takes a list of paths, each ended by a NUL, in pieces."""

    def __init__(self) -> None:
        self._left = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        data = self._left + chunk
        end = data.rfind(b"\0")
        self._left = data[end + 1 :]
        return data[:end].removeprefix(START).split(b"\0" + START) if end >= 0 else []


class CountReader:
    """Takes lines of `path NUL count` in pieces."""

    def __init__(self) -> None:
        self._left = b""

    def feed(self, chunk: bytes) -> list[tuple[bytes, int]]:
        data = self._left + chunk
        found, at = [], 0
        for one in _COUNT.finditer(data):
            found.append((one[1], int(one[2])))
            at = one.end()
        self._left = data[at:]
        return found


_COUNT = re.compile(rb"\.//((?>(?:(?!\.//)[^\0])+))\0(\d++)\r?\n")
