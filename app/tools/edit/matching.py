"""Finds and replaces an exact text in a file. Line endings need not match.

Owns: matches, and replacements in the file's own line endings, on UTF-8 bytes. Never: reading or writing
files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, repeat

MAX_MATCHES = 500_000
CRLF = b"\r\n"
LF = b"\n"
_ENDING = re.compile(rb"\r?\n")


@dataclass(frozen=True, slots=True)
class Matches:
    """Where the text occurs: half-open byte ranges, in order, without overlap."""

    spans: tuple[tuple[int, int], ...]

    def line_numbers(self, body: bytes) -> list[int]:
        """Return the line on which each match begins, counted from 1."""
        numbers: list[int] = []
        line, position = 1, 0
        for start, _ in self.spans:
            line += body.count(LF, position, start)
            position = start
            numbers.append(line)
        return numbers


def find(body: bytes, old: bytes) -> Matches:
    """Return the exact matches of `old`; its newlines match LF and CRLF alike. Stops at one more than
    `MAX_MATCHES`."""
    plain = old.replace(CRLF, LF)
    if LF not in plain or CRLF not in body:
        return Matches(_exact(body, plain))
    pattern = rb"\r?\n".join(re.escape(line) for line in plain.split(LF))
    found = (match.span() for match in re.finditer(pattern, body))
    return Matches(tuple(islice(found, MAX_MATCHES + 1)))


def _exact(body: bytes, old: bytes) -> tuple[tuple[int, int], ...]:
    spans: list[tuple[int, int]] = []
    position = body.find(old)
    while position >= 0 and len(spans) <= MAX_MATCHES:
        spans.append((position, position + len(old)))
        position = body.find(old, position + len(old))
    return tuple(spans)


def replaced(body: bytes, matches: Matches, new: bytes) -> bytes:
    """Return `body` with every match replaced. A new line ends like the line it replaces, an added one like
    most lines of `body`."""
    plain = new.replace(CRLF, LF)
    usual = _usual_ending(body)
    if LF not in plain or body.count(CRLF) in {0, body.count(LF)}:
        pieces = _joined(body, matches, repeat(plain.replace(LF, usual)))
    else:
        pieces = _joined(body, matches, _in_mixed(body, matches, plain, usual))
    return b"".join(pieces)


def _joined(body: bytes, matches: Matches, replacements: Iterable[bytes]) -> Iterator[bytes]:
    position = 0
    for (start, end), replacement in zip(matches.spans, replacements, strict=False):
        yield body[position:start]
        yield replacement
        position = end
    yield body[position:]


def _in_mixed(body: bytes, matches: Matches, plain: bytes, usual: bytes) -> Iterator[bytes]:
    """Yield what takes the place of each match. As far as the same line endings occur again and again,
    it is made once."""
    lines = plain.split(LF)
    made: dict[tuple[bytes, ...], bytes] = {}
    stand_for: list[int | None] = []
    line_end = 0
    for start, end in matches.spans:
        text = body[start:end]
        if not made:
            stand_for = _stand_for(text.replace(CRLF, LF).split(LF), lines)
        if line_end <= end:  # the end of the line that the match ends in
            line_end = body.find(LF, end) + 1 or len(body) + 1
        last = usual if line_end > len(body) else CRLF if body.endswith(CRLF, 0, line_end) else LF
        endings = (*_ENDING.findall(text), last)
        if endings not in made:
            ends = [usual if number is None else endings[number] for number in stand_for]
            made[endings] = b"".join(map(bytes.__add__, lines, [*ends[:-1], b""]))
        yield made[endings]


def _stand_for(old: Sequence[bytes], new: Sequence[bytes]) -> list[int | None]:
    """Return for each new line the number of the old one in whose place it is: the same line at the
    beginning or the end, between them as they follow on each other."""
    shorter = min(len(old), len(new))
    before = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    left = shorter - before
    after = next((at for at in range(left) if old[-1 - at] != new[-1 - at]), left)
    between = [at if at < len(old) - after else None for at in range(before, len(new) - after)]
    return [*range(before), *between, *range(len(old) - after, len(old))]


def longest_replacement(new: bytes) -> int:
    """Return how many bytes one replacement by `new` takes at most, in whatever line endings."""
    return len(new) + new.count(LF)


def _usual_ending(body: bytes) -> bytes:
    """Return the line ending used most in `body`, LF when it has none."""
    return CRLF if 2 * body.count(CRLF) > body.count(LF) else LF
