"""Where the line of a breakpoint is after its file was edited.

Owns: remembering a line by its text and the lines around it, finding it again, reading files for that.
Blocks: called in threads. Never: breakpoints themselves.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.workspace import read_beginning

MAX_FILE = 8 * 1024 * 1024
MAX_LINE = 1_000
CONTEXT = 3
_LINE_END = re.compile(r"\r\n|\r|\n")
"""What debuggers count lines by; `splitlines` knows more, a form feed for one."""

Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Anchor:
    """A line (from 1), its text and up to `CONTEXT` lines before it, the nearest first, and after it.
    All without the white space around them, so that a changed indentation changes nothing."""

    line: int
    text: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """A file as it was at a moment. `lines` is None when it cannot be read or is too large; `stamp` is
    None when it is not there."""

    stamp: Stamp | None
    lines: tuple[str, ...] | None


def stamp_of(path: Path) -> Stamp | None:
    """Return what changes with a file's content, None when there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def read_changed(known: Mapping[Path, Stamp | None]) -> dict[Path, Content]:
    """Return the content of those files that are not as they were known."""
    return {path: read(path) for path, stamp in known.items() if stamp_of(path) != stamp}


def read(path: Path) -> Content:
    """Return a file's content."""
    stamp = stamp_of(path)
    if stamp is None or stamp[1] > MAX_FILE:
        return Content(stamp, None)
    try:
        text = read_beginning(path, MAX_FILE + 1)
    except OSError:
        return Content(stamp, None)
    lines = _LINE_END.split(text.decode("utf-8", "replace"))
    if not lines[-1]:
        lines.pop()
    return Content(stamp, tuple(line[:MAX_LINE].strip() for line in lines))


def anchor_at(lines: Sequence[str], line: int) -> Anchor | None:
    """Remember a line; None when there is no such line."""
    if not 1 <= line <= len(lines):
        return None
    at = line - 1
    before = tuple(reversed(lines[max(0, at - CONTEXT) : at]))
    return Anchor(line, lines[at], before, tuple(lines[at + 1 : at + 1 + CONTEXT]))


def find(anchor: Anchor, lines: Sequence[str]) -> int | None:
    """Return where a line is now, from 1: the line with its text whose neighbours are most alike, of equals
    the nearest. When its text is gone, the line between the same neighbours; None when those are, too."""
    best: tuple[int, int, int] | None = None
    for at, text in enumerate(lines):
        if text != anchor.text:
            continue
        likeness = _alike(anchor, lines, at)
        if not text and not likeness:
            continue
        rank = (-likeness, abs(at + 1 - anchor.line), at + 1)
        best = rank if best is None else min(best, rank)
    return best[2] if best is not None else _between_neighbours(anchor, lines)


def _alike(anchor: Anchor, lines: Sequence[str], at: int) -> int:
    """Count the neighbours that are the same, outwards from the line until one is not."""
    return _matching(anchor.before, (lines[one] for one in range(at - 1, -1, -1))) + _matching(
        anchor.after, (lines[one] for one in range(at + 1, len(lines)))
    )


def _matching(expected: Sequence[str], found: Iterable[str]) -> int:
    count = 0
    for one, other in zip(expected, found, strict=False):
        if one != other:
            break
        count += 1
    return count


def _between_neighbours(anchor: Anchor, lines: Sequence[str]) -> int | None:
    best: tuple[int, int, int] | None = None
    for at in range(len(lines)):
        before = _matching(anchor.before, (lines[one] for one in range(at - 1, -1, -1)))
        after = _matching(anchor.after, (lines[one] for one in range(at + 1, len(lines))))
        if (before or not anchor.before) and (after or not anchor.after) and before + after >= 2:
            rank = (-(before + after), abs(at + 1 - anchor.line), at + 1)
            best = rank if best is None else min(best, rank)
    return best[2] if best is not None else None
