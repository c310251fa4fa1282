"""The hunks of a diff of one file: read, named, and applied one by one.

Owns: their form and digests, and the content that some of them make or leave. Never: running git, or what a
hunk is staged or taken back for. Works on bytes: line ends and encodings stay as they are.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

Sign = Literal[" ", "-", "+", "\\"]
"""Unchanged, old, new; a backslash: the line before has no end."""

_HEADER = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
NO_NEWLINE = "\\ No newline at end of file"
DIGEST_LENGTH = 32
_FILE = b"diff --git "
_SIGNS: dict[bytes, Sign] = {b" ": " ", b"-": "-", b"+": "+", b"\\": "\\"}


class DoesNotFit(Exception):
    """The content is not the one that a hunk is of."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Some changed lines with those around them. Each line has its kind, ` `, `-` or `+`, and its bytes with
    the line end. The numbers of lines begin at 1; an empty side names the line before it."""

    header: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[tuple[Sign, bytes], ...]

    @property
    def text(self) -> bytes:
        """All lines; a backslash follows one that has no end."""
        return b"".join(
            kind.encode() + line + (b"" if line.endswith(b"\n") else b"\\") for kind, line in self.lines
        )

    @property
    def digest(self) -> str:
        """What names this hunk: where it stands, and its lines."""
        head = f"{self.old_start} {self.new_start}\n".encode()
        return hashlib.sha256(head + self.text).hexdigest()[:DIGEST_LENGTH]


@dataclass(slots=True)
class FileDiff:
    """The diff of one file. `binary`: its content cannot be shown. The modes are git's, None where there is
    no file."""

    hunks: list[Hunk] = field(default_factory=list)
    binary: bool = False
    old_mode: str | None = None
    new_mode: str | None = None


def read_diff(text: bytes) -> FileDiff:
    """Read what `git diff` prints of one file; empty without a difference, and without hunks when its kind
    differs."""
    found = FileDiff()
    lines = text.split(b"\n")
    if sum(line.startswith(_FILE) for line in lines) > 1:
        # A file that became a link: for git one goes and one comes. Alone, no hunk of them makes sense.
        for line in lines:
            _head_line(line, found)
        return found
    at = 0
    while at < len(lines) and not lines[at].startswith(b"@@ "):
        _head_line(lines[at], found)
        at += 1
    while at < len(lines) and (match := _HEADER.match(lines[at])) is not None:
        old_start, old_lines, new_start, new_lines = (
            int(number) if number is not None else 1 for number in match.groups()
        )
        header = lines[at].decode("utf-8", "replace")
        read = _Lines(lines, at + 1, old_lines, new_lines)
        at = read.end
        found.hunks.append(Hunk(header, old_start, old_lines, new_start, new_lines, tuple(read.found)))
    return found


def applied(content: bytes, hunks: Sequence[Hunk]) -> bytes:
    """Return the old content with these hunks. Raises `DoesNotFit`."""
    lines = _split(content)
    made: list[bytes] = []
    at = 0
    for hunk in hunks:
        start = hunk.old_start - (1 if hunk.old_lines else 0)
        if start < at:
            raise DoesNotFit
        made += lines[at:start]
        at = start
        for kind, line in hunk.lines:
            if kind != "+":
                if at >= len(lines) or lines[at] != line:
                    raise DoesNotFit
                at += 1
            if kind != "-":
                made.append(line)
    return b"".join([*made, *lines[at:]])


def without_hunks(content: bytes, hunks: Sequence[Hunk]) -> bytes:
    """Return the new content with these hunks taken back; it is the one that they are of."""
    lines = _split(content)
    for hunk in sorted(hunks, key=lambda one: one.new_start, reverse=True):
        start = hunk.new_start - 1 if hunk.new_lines else hunk.new_start
        lines[start : start + hunk.new_lines] = [line for kind, line in hunk.lines if kind != "+"]
    return b"".join(lines)


def chosen(hunks: Sequence[Hunk], digests: Collection[str]) -> list[Hunk] | None:
    """Return the hunks with these digests, in their order; None when one is not among them."""
    wanted = set(digests)
    found = [hunk for hunk in hunks if hunk.digest in wanted]
    return found if len({hunk.digest for hunk in found}) == len(wanted) else None


def shown_lines(hunk: Hunk) -> Iterator[tuple[Sign, str]]:
    """Yield the lines as clients read them: without line ends, and with a mark below a last line that has
    none."""
    for kind, line in hunk.lines:
        yield kind, line.removesuffix(b"\n").decode("utf-8", "replace")
        if not line.endswith(b"\n"):
            yield "\\", NO_NEWLINE.removeprefix("\\")


def _split(content: bytes) -> list[bytes]:
    """Return the lines with their ends; unlike with `splitlines` a lone CR ends none."""
    lines = content.split(b"\n")
    return [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _head_line(line: bytes, found: FileDiff) -> None:
    words = line.split()
    if line.startswith((b"Binary files ", b"GIT binary patch")):
        found.binary = True
    elif line.startswith((b"old mode ", b"deleted file mode ")):
        found.old_mode = words[-1].decode()
    elif line.startswith((b"new mode ", b"new file mode ")):
        found.new_mode = words[-1].decode()
    elif line.startswith(b"index ") and len(words) == 3:
        found.old_mode = found.new_mode = words[2].decode()


class _Lines:
    """The lines of one hunk, from the line after its header on."""

    def __init__(self, lines: Sequence[bytes], at: int, old_lines: int, new_lines: int) -> None:
        self.found: list[tuple[Sign, bytes]] = []
        while at < len(lines) and (old_lines > 0 or new_lines > 0 or lines[at].startswith(b"\\")):
            kind = _SIGNS.get(lines[at][:1], " ")
            if kind == "\\":
                self._without_newline()
            else:
                self.found.append((kind, lines[at][1:] + b"\n"))
                old_lines -= kind != "+"
                new_lines -= kind != "-"
            at += 1
        self.end = at

    def _without_newline(self) -> None:
        if self.found:
            kind, line = self.found[-1]
            self.found[-1] = (kind, line.removesuffix(b"\n"))
