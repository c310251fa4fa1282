"""What ast-grep prints, line by line, as data.

Owns: `Found` and the reading of its JSON lines within bounds. Never: starting anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson

MAX_LINE = 8 * 1024 * 1024
Captured = str | list[str]


@dataclass(frozen=True, slots=True)
class Found:
    """One match. `start` and `end` count bytes from 0, `end` after the match; lines and columns count from 1,
    columns in characters. `places` has the line and column of each capture that is one node. `replacement`
    takes the place of the bytes `replaced`, when a rewrite was asked for."""

    file: str
    text: str
    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int
    captures: dict[str, Captured]
    places: dict[str, tuple[int, int]]
    replacement: str | None
    replaced: tuple[int, int]

    @property
    def size(self) -> int:
        """How many characters of text it holds, about."""
        captured = sum(
            len(one) if isinstance(one, str) else sum(map(len, one)) for one in self.captures.values()
        )
        return 200 + len(self.text) + len(self.replacement or "") + captured


@dataclass(slots=True)
class Lines:
    """Splits what arrives into lines; those above `MAX_LINE` bytes are left out and counted."""

    skipped: int = 0
    _rest: bytearray = field(default_factory=bytearray)
    _too_long: bool = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            line = bytes(self._rest) + piece
            self._rest.clear()
            if self._too_long or len(line) > MAX_LINE:
                self._too_long = False
                self.skipped += 1
            elif line:
                yield line
        self._rest += rest
        if len(self._rest) > MAX_LINE:
            self._rest.clear()
            self._too_long = True


def read_match(line: bytes) -> Found:
    """Raises ValueError or KeyError for what is not a match."""
    match: dict[str, Any] = orjson.loads(line)
    place = match["range"]
    start, end = place["start"], place["end"]
    offsets = match.get("replacementOffsets") or place["byteOffset"]
    variables = match.get("metaVariables") or {}
    return Found(
        file=match["file"],
        text=match["text"],
        start=place["byteOffset"]["start"],
        end=place["byteOffset"]["end"],
        line=start["line"] + 1,
        column=start["column"] + 1,
        end_line=end["line"] + 1,
        end_column=end["column"] + 1,
        captures=_captures(variables),
        places={name: _place(node) for name, node in variables.get("single", {}).items()},
        replacement=match.get("replacement"),
        replaced=(offsets["start"], offsets["end"]),
    )


def _captures(variables: dict[str, Any]) -> dict[str, Captured]:
    """Return the text of each metavariable; a list for `$$$NAME`, without the commas between."""
    captured: dict[str, Captured] = {name: node["text"] for name, node in variables.get("single", {}).items()}
    for name, nodes in variables.get("multi", {}).items():
        captured[name] = [node["text"] for node in nodes if node["text"] != ","]
    return captured


def _place(node: dict[str, Any]) -> tuple[int, int]:
    start = node["range"]["start"]
    return start["line"] + 1, start["column"] + 1
