"""Chooses the matches to replace, and builds the new text.

Owns: overlaps, limits, line ends of replacements. Never: files or processes.

The earliest match in a file wins; of those, the longest; of those, the rewrite named first. Overlapping
matches are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from app.tools.ast_grep.found import Found
from app.tools.project_files.read_tracker import Digest

_MARK = b"\xef\xbb\xbf"
_BARE_NEWLINE = re.compile(r"(?<!\r)\n")


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes `start` to `end` (exclusive) of the parsed text become `after`. Lines and columns
    count from 1, columns in characters; the end is that of the character after."""

    start: int
    end: int
    before: str
    after: str
    start_line: int
    start_column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """`digest` is that of the file whose text was parsed."""

    shown: str
    key: str
    digest: Digest
    edits: tuple[Edit, ...]


@dataclass(slots=True)
class Plan:
    """What a call is going to do, filled file by file, in the order of their paths."""

    max_replacements: int | None
    max_files: int | None
    files: list[PlannedFile] = field(default_factory=list)
    replacements: int = 0
    skipped_overlaps: int = 0
    limit_reached: bool = False

    def add(self, file: PlannedFile) -> None:
        """Take the file, or as much of it as the limits leave."""
        if not file.edits:
            return
        room = len(file.edits)
        if self.max_files is not None and len(self.files) >= self.max_files:
            room = 0
        if self.max_replacements is not None:
            room = min(room, self.max_replacements - self.replacements)
        if room < len(file.edits):
            self.limit_reached = True
        if room > 0:
            self.files.append(PlannedFile(file.shown, file.key, file.digest, file.edits[:room]))
            self.replacements += room


def choose(found: Iterable[tuple[int, Found]], text: bytes) -> tuple[list[Edit], int]:
    """Return the edits of one file in their order, and how many matches were skipped for overlaps. `found`
    are matches with the number of their rewrite. Edits without a change are left out."""
    ordered = sorted(found, key=lambda one: (one[1].replaced[0], -one[1].replaced[1], one[0]))
    carriage = _first_line_ends_in_crlf(text)
    edits: list[Edit] = []
    skipped = 0
    free = -1
    for _, one in ordered:
        start, end = one.replaced
        if start < free or (start == end == free):
            skipped += 1
            continue
        edit = _edit(one, text, carriage=carriage)
        if edit.after == edit.before:
            continue
        edits.append(edit)
        free = end
    return edits, skipped


def rewritten(text: bytes, edits: Sequence[Edit]) -> bytes:
    pieces: list[bytes] = []
    at = 0
    for edit in edits:
        pieces += [text[at : edit.start], edit.after.encode("utf-8")]
        at = edit.end
    return b"".join([*pieces, text[at:]])


def _edit(one: Found, text: bytes, *, carriage: bool) -> Edit:
    start, end = one.replaced
    after = one.replacement or ""
    if carriage:
        after = _BARE_NEWLINE.sub("\r\n", after)
    marked = text.startswith(_MARK)  # which ast-grep counts as a character of the first line
    return Edit(
        start=start,
        end=end,
        before=text[start:end].decode("utf-8", "replace"),
        after=after,
        start_line=one.line,
        start_column=one.column - (marked and one.line == 1),
        end_line=one.end_line,
        end_column=one.end_column - (marked and one.end_line == 1),
    )


def _first_line_ends_in_crlf(text: bytes) -> bool:
    newline = text.find(b"\n")
    return newline > 0 and text[newline - 1 : newline] == b"\r"
