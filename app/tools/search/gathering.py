"""Collects the matches of a search: judged by the cage, with context, bounded.

Owns: the rows, from the output of ripgrep to the answer; long lines around their match. Never: running
ripgrep.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.tools.project_files.view import Verdict
from app.tools.search.engine import BYTES_BEFORE, literal_name
from app.tools.search.found_lines import CountReader, FoundLine, LineReader, PathReader, as_text, results
from app.tools.search.scope import Scope

MAX_LINE_CHARACTERS = 2_000
CUT = " [truncated]"
_ROW_BYTES = 12
_PIECE = 8 * 1024


@dataclass(slots=True)
class Row:
    """One match. What does not apply is None; an `outside` row has no content."""

    path: bytes
    file: str
    outside: bool
    line: int | None = None
    content: str | None = None
    count: int | None = None
    before: list[str] | None = None
    after: list[str] | None = None

    def as_json(self) -> dict[str, Any]:
        if self.before is None and self.after is None and self.content is not None:
            return {"file": self.file, "line": self.line, "content": self.content}
        shown: dict[str, Any] = {"file": self.file}
        for name, value in (("line", self.line), ("content", self.content), ("count", self.count)):
            if value is not None:
                shown[name] = value
        if self.before:
            shown["context_before"] = self.before
        if self.after:
            shown["context_after"] = self.after
        if self.outside:
            shown["outside_cage"] = True
        return shown


@dataclass(slots=True)
class _Output:
    """The output of one engine as far as it was read: `last` is the file of the last row, `recent` are its
    last lines, `open` its matches that want more lines behind them."""

    only: Verdict | None = None
    lines: LineReader = field(default_factory=LineReader)
    paths: PathReader = field(default_factory=PathReader)
    counts: CountReader = field(default_factory=CountReader)
    last: tuple[bytes, Row | None] | None = None
    recent: list[tuple[int, str]] = field(default_factory=list)
    open: list[Row] = field(default_factory=list)


class Gathering:
    """The rows of one search, at most `head_limit` and about `most_bytes`. Each `take_...` reads a piece of
    output and returns whether there is enough. Beyond `shown_bytes` results stay text: `rest`, a line each.
    """

    def __init__(
        self,
        scope: Scope,
        *,
        include: tuple[re.Pattern[str], bool] | None = None,
        head_limit: int | None = None,
        most_bytes: int,
        shown_bytes: int,
        context: int = 0,
    ) -> None:
        self.rows: list[Row] = []
        self.rest = b""
        self.rest_count = 0
        self.more = False
        self._scope = scope
        self._filters = scope.filters
        self._include = include
        self._head_limit = head_limit
        self._room = most_bytes
        self._most_beyond = most_bytes - shown_bytes
        self._is_plain = not (scope.filters or scope.only or include or context or head_limit)
        self._beyond: list[bytes] = []
        self._context = context
        self._output = _Output()

    def begin(self, only: Verdict | None = None) -> None:
        """Begin with another engine's output, of which only files with this verdict count."""
        self._output = _Output(only)

    def take_lines(self, chunk: bytes) -> bool:
        return any(self._take(chunk[at : at + _PIECE]) for at in range(0, len(chunk), _PIECE))

    def _take(self, chunk: bytes) -> bool:
        if self._is_plain and self._room < self._most_beyond:
            self._beyond.append(self._output.lines.whole(chunk))
            self._room -= len(self._beyond[-1])
            self.more = self._room <= 0
            return self.more
        for found in self._output.lines.feed(chunk):
            self._found(found)
            if self.more and self._is_enough():
                return True
        return False

    def take_paths(self, chunk: bytes) -> bool:
        return self._take_files([(path, None) for path in self._output.paths.feed(chunk)])

    def take_counts(self, chunk: bytes) -> bool:
        return self._take_files(self._output.counts.feed(chunk))

    def finish(self) -> None:
        """Take what the end of the output has made complete."""
        beyond, self._beyond = [one for one in self._beyond if one], []
        if self.more and beyond and self._keep_as_text(b"\n".join(beyond)):
            return
        for piece in beyond:
            self._room += len(piece)
            for found in results(piece):
                self._found(found)
        for found in self._output.lines.finish():
            if not self._is_enough():
                self._found(found)

    def _keep_as_text(self, beyond: bytes) -> bool:
        text = as_text(beyond, self._scope.shown(b"").encode(), MAX_LINE_CHARACTERS)
        if text is not None:
            self.rest, self.rest_count = text
        return text is not None

    def _is_enough(self) -> bool:
        return (self.more and not self._output.open) or self._room <= 0

    def _take_files(self, found: Sequence[tuple[bytes, int | None]]) -> bool:
        for path, count in found:
            file = self._file(path)
            if file is not None:
                self._add(Row(path, file.file, file.outside, count=count))
            if self.more and self._is_enough():
                return True
        return False

    def _found(self, found: FoundLine) -> None:
        path, number, kind, content = found
        if not number:
            while self.rows and self.rows[-1].path == path:
                self.rows.pop()
            return
        last = self._output.last
        file = last[1] if last is not None and last[0] == path else self._file(path)
        if file is None or (file.outside and kind != b":"):
            return
        line = int(number)
        if file.outside:
            self._add(Row(path, file.file, True, line))
            return
        text = _shortened(content)
        before = self._around(line, text) if self._context else None
        if kind == b":":
            self._add(Row(path, file.file, False, line, text, None, before))

    def _around(self, line: int, text: str) -> list[str]:
        """Give the line to the earlier matches that want it as context, and return the lines before it."""
        output = self._output
        for row in output.open:
            assert row.line is not None
            if row.line < line <= row.line + self._context:
                row.after = [*(row.after or ()), text]
                self._room -= len(text)
        output.open = [row for row in output.open if row.line is not None and line < row.line + self._context]
        before = [earlier for number, earlier in output.recent if line - self._context <= number]
        output.recent = [*output.recent, (line, text)][-self._context :]
        return before

    def _add(self, row: Row) -> None:
        if self._head_limit is not None and len(self.rows) >= self._head_limit:
            self.more = True
            return
        self.rows.append(row)
        self._room -= _ROW_BYTES + len(row.path) + len(row.content or "")
        if self._context and not row.outside:
            self._room -= sum(map(len, row.before or ()))
            self._output.open.append(row)
        if self._room <= 0:
            self.more = True

    def _file(self, path: bytes) -> Row | None:
        """Return what all rows of a file have in common, None when it is not to be mentioned."""
        if self._output.last is None or self._output.last[0] != path:
            self._output.last = (path, self._judged(path))
            self._output.recent, self._output.open = [], []
        return self._output.last[1]

    def _judged(self, path: bytes) -> Row | None:
        if self._include is not None:
            expression, wanted = self._include
            matches = expression.fullmatch(path.decode("utf-8", "surrogateescape")) is not None
            if matches != wanted:
                return None
        verdict = self._scope.verdict(path) if self._filters else "inside"
        if verdict == "hidden" or self._output.only not in (None, verdict):
            return None
        return Row(path, self._scope.shown(path), verdict == "outside")


def _shortened(content: bytes) -> str:
    text = content.decode("utf-8", "replace").removesuffix("\r")
    return text if len(text) <= MAX_LINE_CHARACTERS else text[:MAX_LINE_CHARACTERS] + CUT


CUT_BEFORE = "[truncated] "
SEEN_BYTES = MAX_LINE_CHARACTERS - BYTES_BEFORE
"""A match that begins before this many bytes is seen in the line's beginning, which is shown then."""


class LongLines:
    """The rows whose line was cut; `take` reads the parts around their first match."""

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
