"""What a child must not be shown: lines of files outside its cage, wherever they stand.

Owns: knowing such lines again in a text, and cutting them out. Never: what is forwarded at all.
What it promises, and what not, is said in docs/delegation.md.
"""

from __future__ import annotations

import re
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
_PATH_KEYS = ("path", "file", "file_path")

Readable = Callable[[str], bool]


def line_key(line: str) -> bytes | None:
    """Return what a line is known again by: without quote marks, line numbers and outer white space;
    None for a line that is too short to tell anything."""
    bare = _NUMBERED.sub("", _QUOTED.sub("", line), count=1).strip().rstrip(",;")
    bare = bare.strip("\"'` ")
    if len(bare) < MIN_CHARACTERS:
        return None
    return xxhash.xxh3_64_digest(bare.encode("utf-8", "surrogatepass"))


class SeenLines:
    """The lines that tools have shown to the agents of a session, with the paths they came from.

    `""` stands for an origin that is not known: a command's output, a child's answer."""

    def __init__(self) -> None:
        self.newest_at = 0
        self._origins: dict[bytes, set[str]] = {}

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
            self._origins.setdefault(key, set()).add(origin)
            if len(self._origins) > MAX_LINES:
                del self._origins[next(iter(self._origins))]

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
                kept.append(line)
        return "\n".join(kept), cut

    def _is_outside(self, line: str) -> bool:
        key = line_key(line)
        if key is None or self._readable is None:
            return False
        origins = self._seen.origins(key)
        return bool(origins) and not any(origin and self._readable(origin) for origin in origins)


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
