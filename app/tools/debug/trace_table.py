"""The answer of trace: what the expressions of its lines were worth, in at most 2 KB.

Owns: showing only what changed, the figures over many hits, and what is left out first. Never: running a
program.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.tools.debug.results import DebugResult, TraceColumn, TracedLine, TraceRow
from app.tools.debug.small_answer import CUT, head, size_of, tail

MAX_BYTES = 2_000
FEW = 12
"""Up to so many rows a table is shown without figures over it."""
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(slots=True)
class Traced:
    """A line, and what its expressions were worth at each hit."""

    path: str
    line: int
    hits: int = 0
    rows: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    last: dict[str, str] = field(default_factory=dict)
    values: dict[str, list[str]] = field(default_factory=dict)

    def take(self, values: dict[str, str]) -> None:
        self.hits += 1
        for name, value in values.items():
            self.values.setdefault(name, []).append(value)
        changed = {name: value for name, value in values.items() if self.last.get(name) != value}
        if changed:
            self.rows.append((self.hits, changed))
        self.last = values


@dataclass(frozen=True, slots=True)
class _Size:
    """How much is shown: rows of a line, characters of a value and of the output, expressions of a line,
    lines, and characters of a path."""

    rows: int
    value: int
    output: int
    expressions: int = 20
    lines: int = 20
    path: int = 4_096


_SIZES = (
    _Size(60, 200, 400),
    _Size(FEW, 100, 100),
    _Size(8, 60, 100),
    _Size(4, 40, 100),
    _Size(2, 30, 100),
    _Size(1, 20, 50),
    _Size(0, 20, 50),
    _Size(0, 20, 50, expressions=8),
    _Size(0, 16, 50, expressions=4, lines=10, path=200),
    _Size(0, 12, 20, expressions=2, lines=5, path=80),
    _Size(0, 12, 20, expressions=1, lines=2, path=60),
)
"""Each time less; the last one fits whatever there is."""


def table(traced: Sequence[Traced], output: str, run: DebugResult) -> DebugResult:
    """Return the answer about a `run`. Lines that the program has reached come first where not all fit."""
    by_hits = sorted(traced, key=lambda one: one.hits == 0)
    result = run
    for size in _SIZES:
        fits = len(traced) <= size.lines
        lines = [_line(one, size) for one in (traced if fits else by_hits[: size.lines])]
        left_out = f"{len(traced) - size.lines} more lines do not fit; trace fewer at once."
        result = run.model_copy(
            update={
                "output": tail(output, size.output) or None,
                "trace": lines,
                "note": None if fits else left_out,
            }
        )
        if size_of(result) <= MAX_BYTES:
            break
    return result


def _line(one: Traced, size: _Size) -> TracedLine:
    names = _names(list(one.values)[: size.expressions], size.value)
    rows = [TraceRow(hit=hit, values=_short(values, names, size.value)) for hit, values in one.rows]
    rows = [row for row in rows if row.values]
    half = size.rows // 2
    shown = rows if len(rows) <= size.rows else [*rows[: size.rows - half], *rows[len(rows) - half :]]
    whole = len(shown) == len(rows) and len(rows) <= FEW
    return TracedLine(
        path=tail(one.path, size.path),
        line=one.line,
        hits=one.hits,
        rows=shown or None,
        rows_left_out=len(rows) - len(shown) or None,
        columns=None if whole else [_column(names[name], one.values[name], size.value) for name in names],
        expressions_left_out=len(one.values) - len(names) or None,
    )


def _names(expressions: Sequence[str], most: int) -> dict[str, str]:
    """Return what expressions are called, short and each by a name of its own."""
    names: dict[str, str] = {}
    for number, expression in enumerate(expressions, 1):
        name = head(expression, most)
        names[expression] = name if name not in names.values() else f"{name}{CUT}{number}"
    return names


def _short(values: dict[str, str], names: dict[str, str], most: int) -> dict[str, str]:
    return {names[name]: head(value, most) for name, value in values.items() if name in names}


def _column(name: str, values: Sequence[str], most: int) -> TraceColumn:
    numbers = [float(value) for value in values if _NUMBER.fullmatch(value)]
    plain = len(numbers) == len(values)
    return TraceColumn(
        expression=name,
        first=head(values[0], most),
        last=head(values[-1], most),
        count=len(values),
        distinct=len(set(values)),
        min=min(numbers) if plain else None,
        max=max(numbers) if plain else None,
    )
