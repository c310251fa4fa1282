"""trace: the values of expressions at each hit of some lines, as a table, in one run of a program.

Owns: collecting them. Never: the agent's own session and breakpoints, or how the answer is kept short.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.bridges.dap.breakpoint import Terms
from app.bridges.dap.manager import ExceptionChoice
from app.errors import ToolError
from app.tools.debug.call import DebugCall
from app.tools.debug.conditions import check_condition
from app.tools.debug.one_run import OneRun, Preparation, prepared
from app.tools.debug.results import DebugResult
from app.tools.debug.trace_table import Traced, table
from app.tools.debug.watched import values_of
from app.tools.debug.wrong_parameter import wrong
from app.tools.processes.foreign_text import clean

_TracedById = dict[int, tuple[Traced, list[str]]]
"""Each line, and its expressions, by the id of its breakpoint."""


async def trace(call: DebugCall) -> DebugResult:
    """Run it, and return the values over all hits."""
    run_of = await prepared(call)
    try:
        traced = await _set(call, run_of)
    except ToolError:
        call.adapters.forget(run_of.call.owner)
        raise
    async with run_of.started(ExceptionChoice("none")) as run:
        hits = 0
        while run.stop.status == "stopped" and not run.is_late:
            hits += await _take(run, traced)
            if hits >= call.params.max_hits:
                break
            await run.go_on()
        late = run.is_late
        return await call.aside(_answer, run, late, [one for one, _ in traced.values()], hits)


async def _set(call: DebugCall, run_of: Preparation) -> _TracedById:
    """Set the breakpoints. Points in one line are one, which has the expressions of each."""
    assert call.params.at
    traced: _TracedById = {}
    conditions: dict[int, str | None] = {}
    for point in call.params.at:
        named = await call.named(point.path)
        if named.is_directory:
            raise wrong("at", f"{named.shown} is a folder; give a file")
        await check_condition(call, point.condition, named.real.suffix)
        made = await run_of.breakpoints.set_line(named.real, point.line, Terms(condition=point.condition))
        if conditions.setdefault(made.id, point.condition) != point.condition:
            raise wrong(
                "at",
                f"has two conditions for line {point.line} of {named.shown}; give its points one condition, "
                "or trace once for each",
            )
        _, expressions = traced.setdefault(made.id, (Traced(named.shown, point.line), []))
        expressions.extend(one for one in dict.fromkeys(point.expressions) if one not in expressions)
    return traced


async def _take(run: OneRun, traced: _TracedById) -> int:
    """Take the values at a stop, and return how many hits it is."""
    frame = run.stop.frame
    here = [traced[one] for one in run.stop.breakpoint_ids if one in traced]
    if frame is None or type(frame.get("id")) is not int:
        return 0
    for one, expressions in here:
        found = await values_of(run.call, frame, expressions)
        one.take(
            {each.expression: each.value if each.value is not None else f"<{each.error}>" for each in found}
        )
    return len(here)


def _answer(run: OneRun, late: bool, traced: Sequence[Traced], hits: int) -> DebugResult:
    """Blocking."""
    stop = run.stop
    ended = "max_hits" if stop.status == "stopped" else stop.status
    return table(
        traced,
        clean(run.output, len(run.output) + 1),
        DebugResult(
            outcome="timed_out" if late and stop.status != "exited" else ended,
            exit_code=stop.exit_code,
            hits=hits,
        ),
    )
