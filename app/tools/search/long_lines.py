"""Lines that are too long to be shown whole: the part around their first match.

Owns: which rows are shown so, and reading what a second search prints of them. Never: running engines.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from app.tools.search.engine import BYTES_BEFORE, literal_name
from app.tools.search.found_lines import FoundLine, LineReader
from app.tools.search.gathering import CUT, MAX_LINE_CHARACTERS, Row
from app.tools.search.scope import Scope

CUT_BEFORE = "[truncated] "
SEEN_BYTES = MAX_LINE_CHARACTERS - BYTES_BEFORE
"""A match that begins before this many bytes is seen in the line's beginning, which is shown then."""


class LongLines:
    """The rows whose line was cut. With `take`, what an engine prints `around` takes its place."""

    def __init__(self, rows: Iterable[Row], scope: Scope) -> None:
        self._wanted = {
            (row.path, row.line): row
            for row in rows
            if row.content is not None and len(row.content) > MAX_LINE_CHARACTERS
        }
        self._scope = scope
        self._lines = LineReader()

    def __bool__(self) -> bool:
        return bool(self._wanted)

    def names(self) -> tuple[str, ...]:
        """Return the names of their files for a `Walk`; none, for all files, where one is no text."""
        names = {os.fsdecode(path.rpartition(b"/")[2]) for path, _ in self._wanted}
        if any("\udc80" <= character <= "\udcff" for name in names for character in name):
            return ()
        return tuple(map(literal_name, sorted(names)))

    def take(self, chunk: bytes) -> bool:
        """Take a piece of the output, and say whether that was enough."""
        for found in self._lines.feed(chunk):
            self._found(found)
        return not self._wanted

    def finish(self) -> None:
        """Take what the end of the output has made complete."""
        for found in self._lines.finish():
            self._found(found)

    def _found(self, found: FoundLine) -> None:
        path, number, _, printed = found
        row = self._wanted.pop((path, int(number)), None) if number else None
        column, _, part = printed.partition(b":")
        if row is None or not column.isdigit() or int(column) - 1 + BYTES_BEFORE < SEEN_BYTES:
            return
        if self._scope.verdict(path) == "inside":
            row.content = _shown(part)


def _shown(part: bytes) -> str:
    """Return a part from within a line as it is shown. It may begin within a character."""
    begin = next((at for at in range(min(3, len(part))) if part[at] & 0xC0 != 0x80), 0)
    text = part[begin:].decode("utf-8", "replace").removesuffix("\r")
    return CUT_BEFORE + text[:MAX_LINE_CHARACTERS] + (CUT if len(text) > MAX_LINE_CHARACTERS else "")
