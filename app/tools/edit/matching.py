"""Finding an exact text in a file whose line endings may differ from the model's.

Owns: matches, and the replacement in the file's own line endings. Works on UTF-8 bytes.
Never: reading or writing files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

MAX_MATCHES = 500_000
CRLF = b"\r\n"
LF = b"\n"


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
    """Return the exact matches of `old`, each of its newlines matching LF and CRLF alike.

    Of more than `MAX_MATCHES` the first ones and one more."""
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
    """Return `body` with every match replaced, each in the line endings found around it."""
    plain = new.replace(CRLF, LF)
    variants = {LF: plain, CRLF: plain.replace(LF, CRLF)}
    usual = _usual_ending(body)
    pieces: list[bytes] = []
    position = 0
    for start, end in matches.spans:
        pieces += (body[position:start], variants[_ending(body[start:end]) or usual])
        position = end
    pieces.append(body[position:])
    return b"".join(pieces)


def longest_replacement(new: bytes) -> int:
    """Return how many bytes one replacement by `new` takes at most, in whatever line endings."""
    return len(new) + new.count(LF)


def _ending(text: bytes) -> bytes | None:
    """Return the line ending used most in `text`, None when it has none."""
    ended = text.count(LF)
    if not ended:
        return None
    return CRLF if 2 * text.count(CRLF) > ended else LF


def _usual_ending(body: bytes) -> bytes:
    return _ending(body) or LF
