"""What a child must not be shown: lines of files outside its cage, wherever they stand.

Owns: knowing such lines again in a text, and cutting them out. Never: what is forwarded at all.
What it promises, and what not, is said in docs/delegation.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import xxhash

from app.storage.models import Message

LEFT_OUT = "[left out: content outside this agent's cage]"
MIN_CHARACTERS = 20
MAX_LINES = 200_000
"""How many lines of tool results are remembered for one session; the oldest are forgotten first."""
_NUMBERED = re.compile(r"^\s*\d+(?::|\t|\s*[|→])\s?")
_QUOTED = re.compile(r"^[\s>+|-]+")
_HALF = 8
MAX_LOOKED_AT = 32
MAX_LENGTH = 1_000
"""Characters of a line that is known again within another."""
_PATH_KEYS = ("path", "file", "file_path")

Readable = Callable[[str], bool]


def line_key(line: str) -> bytes | None:
    """Return what a line is known again by: without quote marks, line numbers and outer white space;
    None for a line that is too short to mean anything. The second half stands for how it begins."""
    bare = _NUMBERED.sub("", _QUOTED.sub("", line), count=1).strip().rstrip(",;")
    bare = bare.strip("\"'` ")
    if len(bare) < MIN_CHARACTERS:
        return None
    return _key(bare)


def _key(bare: str) -> bytes:
    return _digest(bare) + _digest(bare[:MIN_CHARACTERS])


def _digest(text: str) -> bytes:
    return xxhash.xxh3_64_digest(text.encode("utf-8", "surrogatepass"))


class SeenLines:
    """The lines that tools have shown to the agents of a session, with the paths they came from.

    `""` stands for an origin that is not known: a command's output, a child's answer."""

    def __init__(self) -> None:
        self.newest_at = 0
        self._origins: dict[bytes, set[str]] = {}
        self._beginnings: Counter[bytes] = Counter()

    def add_results(self, rows: list[Message]) -> None:
        """Take up stored tool results, the oldest first. Blocks for what is large."""
        for row in rows:
            self.newest_at = max(self.newest_at, row.created_at)
            if not row.details.get("isError"):
                for origin, text in _parts(row.content):
                    self._add(origin, text)

    def _add(self, origin: str, text: str) -> None:
        for line in text.splitlines():
            key = line_key(line)
            if key is None:
                continue
            known = self._origins.get(key)
            if known is not None:
                known.add(origin)
                continue
            self._origins[key] = {origin}
            self._beginnings[key[_HALF:]] += 1
            if len(self._origins) > MAX_LINES:
                self._forget(next(iter(self._origins)))

    def _forget(self, key: bytes) -> None:
        del self._origins[key]
        self._beginnings[key[_HALF:]] -= 1
        if not self._beginnings[key[_HALF:]]:
            del self._beginnings[key[_HALF:]]

    def begins(self, text: str) -> bool:
        """Tell whether a line is known that begins with these `MIN_CHARACTERS` characters."""
        return _digest(text) in self._beginnings

    def origins(self, key: bytes) -> frozenset[str]:
        return frozenset(self._origins.get(key, ()))


class Outside:
    """Cuts out of texts what one child may not see. `readable` judges a path; None: it may read all."""

    def __init__(self, seen: SeenLines, readable: Readable | None) -> None:
        self._seen = seen
        self._readable = readable

    def without(self, text: str) -> tuple[str, int]:
        """Return the text with a mark in place of each run of such lines, and how many lines went."""
        if self._readable is None:
            return text, 0
        kept: list[str] = []
        cut = 0
        for line in text.split("\n"):
            if self._is_outside(line):
                cut += 1
                if not kept or kept[-1] != LEFT_OUT:
                    kept.append(LEFT_OUT)
            else:
                rest, parts = self._without_parts(line)
                cut += parts
                kept.append(rest)
        return "\n".join(kept), cut

    def _without_parts(self, line: str) -> tuple[str, int]:
        """Return the line with a mark in place of each known line that is quoted in it, and their number.

        Where there are too many beginnings of known lines to look at each, all from there on goes."""
        kept: list[str] = []
        at = found = looked = 0
        for start in _edges(line, len(line) - MIN_CHARACTERS):
            if start < at or not self._seen.begins(line[start : start + MIN_CHARACTERS]):
                continue
            looked += 1
            end = self._end_of_outside(line, start) if looked <= MAX_LOOKED_AT else len(line)
            if end is not None:
                kept += [line[at:start], LEFT_OUT]
                at, found = end, found + 1
        return "".join((*kept, line[at:])), found

    def _end_of_outside(self, line: str, start: int) -> int | None:
        """Return where the longest line from outside that begins at `start` ends, None without one."""
        ends = [start + MIN_CHARACTERS + edge for edge in _edges(line[start + MIN_CHARACTERS :], MAX_LENGTH)]
        ends += [len(line)] if len(line) - start <= MAX_LENGTH else []
        return next((end for end in reversed(ends) if self._is_key_outside(_key(line[start:end]))), None)

    def _is_outside(self, line: str) -> bool:
        return self._is_key_outside(line_key(line))

    def _is_key_outside(self, key: bytes | None) -> bool:
        if key is None or self._readable is None:
            return False
        origins = self._seen.origins(key)
        return bool(origins) and not any(origin and self._readable(origin) for origin in origins)


def _edges(line: str, last: int) -> Iterator[int]:
    """Yield where a word or a mark of the line begins or ends, up to `last`; no place within a word."""
    for at in range(min(last, len(line) - 1) + 1):
        before, here = line[at - 1 : at], line[at]
        if here.isspace():
            is_edge = not before.isspace()
        else:
            is_edge = not (before.isalnum() and here.isalnum())
        if is_edge:
            yield at


def _parts(content: str) -> Iterator[tuple[str, str]]:
    """Yield what a result says with the path that it says it of; its first line is JSON."""
    head, _, body = content.partition("\n")
    try:
        data: Any = orjson.loads(head)
    except ValueError:
        yield "", content
        return
    origin = _origin(data)
    yield from _strings(data, origin)
    if body:
        yield origin, body


def _strings(value: Any, origin: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield origin, value
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one, origin)
    elif isinstance(value, dict):
        own = _origin(value) or origin
        for key, one in value.items():
            yield from _strings(one, key if isinstance(key, str) and "/" in key else own)


def _origin(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    return next((value[key] for key in _PATH_KEYS if isinstance(value.get(key), str)), "")
