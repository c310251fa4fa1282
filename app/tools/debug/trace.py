"""trace: the values of expressions at each hit of some lines, as a table, in one run of a program.

Owns: collecting them, showing only what changed, and the figures over many hits. Never: the agent's own
session and breakpoints.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.bridges.dap.breakpoint import Terms
from app.bridges.dap.manager import ExceptionChoice
from app.tools.debug.call import DebugCall
from app.tools.debug.conditions import check_condition
from app.tools.debug.one_run import OneRun, prepared
from app.tools.debug.parameters import TracePoint
from app.tools.debug.results import DebugResult, TraceColumn, TracedLine, TraceRow
from app.tools.debug.small_answer import size_of
from app.tools.debug.watched import values_of
from app.tools.debug.wrong_parameter import wrong
from app.tools.processes.foreign_text import clean

MAX_BYTES = 2_000
MAX_TAIL = 400
FEW = 12
"""Up to so many rows a table is shown without figures over it."""
MAX_SHOWN_VALUE = 60
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(slots=True)
class Traced:
    """A line, and what its expressions were worth at each hit."""

    point: TracePoint
    shown: str
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


async def trace(call: DebugCall) -> DebugResult:
    """Run it, and return the values over all hits."""
    assert call.params.at
    run_of = await prepared(call)
    traced: dict[int, Traced] = {}
    for point in call.params.at:
        named = await call.named(point.path)
        if named.is_directory:
            raise wrong("at", f"{named.shown} is a folder; give a file")
        await check_condition(call, point.condition, named.real.suffix)
        made = await run_of.breakpoints.set_line(named.real, point.line, Terms(condition=point.condition))
        traced[made.id] = Traced(point, named.shown)
    async with run_of.started(ExceptionChoice("none")) as run:
        hits = 0
        while run.stop.status == "stopped" and not run.is_late:
            hits += await _take(run, traced)
            if hits >= call.params.max_hits:
                break
            await run.go_on()
        late = run.is_late
        return await call.aside(_answer, run, late, list(traced.values()), hits)


async def _take(run: OneRun, traced: dict[int, Traced]) -> int:
    """Take the values at a stop, and return how many hits it is."""
    frame = run.stop.frame
    here = [traced[one] for one in run.stop.breakpoint_ids if one in traced]
    if frame is None or type(frame.get("id")) is not int:
        return 0
    for one in here:
        found = await values_of(run.call, frame, one.point.expressions)
        one.take(
            {each.expression: each.value if each.value is not None else f"<{each.error}>" for each in found}
        )
    return len(here)


def _answer(run: OneRun, late: bool, traced: Sequence[Traced], hits: int) -> DebugResult:
    """Return the table; with many rows less of them, so that it stays short. Blocking."""
    stop = run.stop
    ended = "max_hits" if stop.status == "stopped" else stop.status
    fields: dict[str, Any] = {
        "outcome": "timed_out" if late and stop.status != "exited" else ended,
        "exit_code": stop.exit_code,
        "hits": hits,
        "output": clean(run.output, len(run.output) + 1)[-MAX_TAIL:] or None,
    }
    result = DebugResult()
    for most, width in ((60, 200), (FEW, 100), (8, MAX_SHOWN_VALUE), (4, 40), (2, 30), (0, 20)):
        lines = [_line(one, most, width) for one in traced]
        result = DebugResult(**fields, trace=lines)
        if size_of(result) <= MAX_BYTES:
            return result
        fields["output"] = (fields["output"] or "")[-100:] or None
    return result


def _line(one: Traced, most: int, width: int) -> TracedLine:
    rows = [TraceRow(hit=hit, values=_short(values, width)) for hit, values in one.rows]
    shown = rows if len(rows) <= most else [*rows[: (most + 1) // 2], *rows[len(rows) - most // 2 :]]
    return TracedLine(
        path=one.shown,
        line=one.point.line,
        hits=one.hits,
        rows=shown or None,
        rows_left_out=len(rows) - len(shown) or None,
        columns=[_column(name, values, width) for name, values in one.values.items()]
        if len(shown) < len(rows) or len(rows) > FEW
        else None,
    )


def _short(values: dict[str, str], width: int) -> dict[str, str]:
    return {name: value if len(value) <= width else value[:width] + "…" for name, value in values.items()}


def _column(name: str, values: Sequence[str], width: int) -> TraceColumn:
    numbers = [float(value) for value in values if _NUMBER.fullmatch(value)]
    plain = len(numbers) == len(values)
    return TraceColumn(
        expression=name,
        first=values[0][:width],
        last=values[-1][:width],
        count=len(values),
        distinct=len(set(values)),
        min=min(numbers) if plain else None,
        max=max(numbers) if plain else None,
    )
