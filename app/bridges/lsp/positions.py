"""Places in a text: code points here, the units of the agreed position encoding at the server.

Owns: the lines of a text as the protocol ends them, and the conversion of columns both ways.
Never: documents, versions, or 1-indexed lines; those are counted so at the tools' edge.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]
_LINE_END = re.compile(r"\r\n|\r|\n")
_CODECS: Mapping[str, tuple[str, int]] = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2)}


class LineIndex:
    """The lines of `text`. A line ends with `\\n`, `\\r\\n` or `\\r`, and with nothing else.

    Making one costs nothing: lines are cut when the first is asked for, offsets of lines when the
    first offset is. Lines count from 0, columns are code points from 0.
    """

    __slots__ = ("_lines", "_starts", "_width", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines: list[str] | None = None
        self._starts: list[int] | None = None
        self._width = 0

    @property
    def line_count(self) -> int:
        """At least 1: a text that ends with a line end has an empty last line."""
        if self._lines is not None:
            return len(self._lines)
        text = self.text
        count = text.count("\n") + 1
        return count + text.count("\r") - text.count("\r\n") if "\r" in text else count

    def line(self, line: int) -> str:
        """Return a line without its end; "" where there is none."""
        lines = self._cut()
        return lines[line] if 0 <= line < len(lines) else ""

    def to_server(self, line: int, column: int, encoding: Encoding) -> dict[str, int]:
        """Return the protocol's position. What lies outside goes to the nearest place in the
        text: beyond the last line to its end, beyond a line's end to that."""
        line, column = self._into_text(line, column)
        return {"line": line, "character": units(self._cut()[line], column, encoding)}

    def from_server(self, position: Mapping[str, Any], encoding: Encoding) -> tuple[int, int]:
        """Return line and column of the protocol's `position`, moved into the text as `to_server`
        does. A number that is none counts as 0. A position within a character is its start."""
        line, character = _number(position, "line"), _number(position, "character")
        lines = self._cut()
        if line >= len(lines):
            return len(lines) - 1, len(lines[-1])
        if line < 0:
            return 0, 0
        return line, convert_line(lines[line], character, encoding)

    def offset(self, position: Mapping[str, Any], encoding: Encoding) -> int:
        """Return the position as a number of code points from the beginning of the text."""
        line, column = self.from_server(position, encoding)
        return self._start(line) + column

    def offset_of(self, line: int, column: int) -> int:
        """Return the number of code points before a line and column, moved into the text."""
        line, column = self._into_text(line, column)
        return self._start(line) + column

    def _into_text(self, line: int, column: int) -> tuple[int, int]:
        lines = self._cut()
        if line >= len(lines):
            return len(lines) - 1, len(lines[-1])
        if line < 0:
            return 0, 0
        return line, min(max(column, 0), len(lines[line]))

    def _cut(self) -> list[str]:
        if self._lines is None:
            end = _only_line_end(self.text)
            if end is None:
                self._lines = self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            else:
                self._lines = self.text.split(end)
        return self._lines

    def _start(self, line: int) -> int:
        if self._starts is None:
            end = _only_line_end(self.text)
            if end is None:
                self._starts = [0, *(end.end() for end in _LINE_END.finditer(self.text))]
            else:
                self._starts = list(accumulate(map(len, self._cut()), initial=0))
                self._width = len(end)
        return self._starts[line] + line * self._width


def _only_line_end(text: str) -> str | None:
    """Return the one line end that the text uses ("\\n" where it has none), None for a mixture."""
    if "\r" not in text:
        return "\n"
    pairs = text.count("\r\n")
    feeds, returns = text.count("\n"), text.count("\r")
    if feeds == 0:
        return "\r"
    return "\r\n" if feeds == returns == pairs else None


def convert_line(line: str, character: int, encoding: Encoding) -> int:
    """Return how many code points of `line` lie before `character` units of the encoding.

    The result is at most the line's length; a count that ends within a character excludes it.
    """
    if character <= 0:
        return 0
    if encoding == "utf-32" or line.isascii():
        return min(character, len(line))
    low, high, left = 0, min(character, len(line)), character
    while low < high:  # halving, so that each part of the line is encoded about once
        middle = (low + high + 1) // 2
        taken = units(line[low:middle], middle - low, encoding)
        if taken <= left:
            low = middle
            left -= taken
        else:
            high = middle - 1
    return low


def units(line: str, column: int, encoding: Encoding) -> int:
    """Return how many units of the encoding the first `column` code points of `line` take."""
    if encoding == "utf-32" or line.isascii():
        return min(column, len(line))
    codec, size = _CODECS[encoding]
    return len(line[:column].encode(codec, "surrogatepass")) // size


def _number(position: Any, name: str) -> int:
    """Servers are not trusted: anything but a whole number is taken as 0."""
    value = position.get(name) if type(position) is dict or isinstance(position, Mapping) else None
    return value if type(value) is int else 0
