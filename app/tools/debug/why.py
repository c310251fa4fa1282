"""why: run a test or a program to its end, and answer with the exception that fails it.

Owns: which of the exceptions of a run that is, its frames in the project with their locals, and an answer of
at most 4 KB. Never: the agent's own session, which stays as it is.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.bridges.dap.breakpoint import Breakpoint
from app.bridges.dap.manager import LIBRARIES, ExceptionChoice, Mode
from app.errors import ToolError
from app.tools.debug.call import DebugCall
from app.tools.debug.exception_stop import Thrown, first_of_project, locals_of, thrown
from app.tools.debug.node_failures import BEGINNING, Told, have_told, place_of, thrown_before, told
from app.tools.debug.one_run import OneRun, Preparation, prepared
from app.tools.debug.results import DebugResult, ExceptionShown, ProjectFrame
from app.tools.debug.small_answer import fitting
from app.tools.debug.sources import Sources
from app.tools.processes.foreign_text import clean, objects

MAX_STOPS = 200
"""After so many exceptions only those that nobody catches are stops."""
MAX_STOPS_OF_TOLD = 6
"""Likewise where the runner tells what has failed: what is told without a stop has no locals."""
MAX_FRAMES = 5
FRAMES_WITH_LOCALS = 3
MAX_BYTES = 4_000
MAX_TAIL = 2_000
MAX_KNOWN = 80
_MARKED = "test failure"
_GO_FAILS = "testing.(*common).Fail"
"""What each failure of a Go test calls."""
_CURRENT = " (Current frame)"
"""What debugpy adds to a name."""
_NO_FAILURES = frozenset({"Skipped", "XFailed", "Exit", "SkipTest", "SystemExit"})
"""Exceptions by which Python's runners leave a test that has not failed."""
_MODES: Mapping[str, Mode] = {"delve": "uncaught"}
_PREFERRED: tuple[Mode, ...] = ("user", "raised", "uncaught")
_TELLING = frozenset({"pytest", "unittest"})
"""Modules of Python that tell what has failed a test."""
_PYTHON_FAILURES = Path(__file__).with_name("python_failures.py")


@dataclass(frozen=True, slots=True)
class Failure:
    """One stop of the run: an exception, or a call that marks the test as failed."""

    type: str | None
    message: str | None
    frames: list[ProjectFrame]


async def why(call: DebugCall) -> DebugResult:
    """Run it, and return why it fails; that it does not, when it does not."""
    run_of = await prepared(call)
    table = call.adapters.table(call.context.project_id, call.context.project_root)
    behaviour = (await call.aside(table.resolve, run_of.request.runtime)).behaviour
    if run_of.request.runtime == "go":
        await run_of.breakpoints.set(Breakpoint(kind="function", function=_GO_FAILS))
    offered = behaviour.exceptions.modes
    usual: Mode = next((one for one in _PREFERRED if offered is None or one in offered), "none")
    mode = _MODES.get(behaviour.name, usual)
    if behaviour.name == "debugpy" and run_of.request.module in _TELLING:
        mode = "uncaught"
        await call.aside(_have_told, run_of)
    last: Mode = "uncaught" if offered is None or "uncaught" in offered else "none"
    reporter = behaviour.process.reporter
    runner = await call.aside(have_told, run_of, reporter) if reporter else None
    most = MAX_STOPS if runner is None else MAX_STOPS_OF_TOLD
    chosen = ExceptionChoice(mode, once_until=0 if runner is None else most)
    failures: list[Failure] = []
    reports: list[Told] = []
    places: set[tuple[str, int]] = set()
    async with run_of.started(ExceptionChoice(last) if runner in BEGINNING else chosen) as run:
        while run.stop.status == "stopped" and not run.is_late:
            tells = await told(run) if runner is not None else None
            if tells is None:
                place = place_of(run)
                enough = runner is not None and place in places and await thrown_before(run) >= most
                if not enough:
                    failures.append(await _failure(run))
                    places.add(place)
                if enough or len(failures) == most:
                    await run_of.breakpoints.set_exceptions(ExceptionChoice(last))
            elif tells.begins:
                await run_of.breakpoints.set_exceptions(chosen)
            else:
                reports.append(tells)
            await run.go_on()
        late = run.is_late
        return await call.aside(_answer, run, late, failures, reports)


def _have_told(run_of: Preparation) -> None:
    """Have the runner tell of failures, in place of stopping at what may be one. Blocking."""
    request = run_of.request
    assert request.module is not None
    text = _PYTHON_FAILURES.read_text() + "\n\nmain()\n"
    run_of.request = replace(request, code=text, args=(request.module, *request.args))


async def _failure(run: OneRun) -> Failure:
    found = await thrown(run.call, run.session, run.stop)
    if found is None:
        found = await _marked(run)
    rows = await run.call.aside(_frames, run.call, found)
    known = await asyncio.gather(*(locals_of(run.call, frame) for _, frame in rows[:FRAMES_WITH_LOCALS]))
    of_frames = [*known, *(None for _ in rows[FRAMES_WITH_LOCALS:])]
    shown = [row.model_copy(update={"locals": one}) for (row, _), one in zip(rows, of_frames, strict=True)]
    return Failure(found.type, found.message, shown)


async def _marked(run: OneRun) -> Thrown:
    """A stop that is no exception: a test is marked as failed, and says why when it ends."""
    try:
        answer = await run.call.ask("stackTrace", threadId=run.stop.thread_id, startFrame=0, levels=40)
    except ToolError:
        return Thrown(None, None, None, 0, [])
    frames = [one for one in objects(answer.get("stackFrames")) if type(one.get("id")) is int]
    number = await run.call.aside(first_of_project, run.call, frames)
    return Thrown(_MARKED, None, None if number is None else frames[number], number or 0, frames)


def _frames(call: DebugCall, found: Thrown) -> list[tuple[ProjectFrame, dict[str, Any]]]:
    """Return the frames of the project, the innermost first. Blocking."""
    sources, rows = Sources(call), []
    for frame in found.frames:
        seen = sources.of(frame.get("source"))
        if seen is None or seen.parts is None or not LIBRARIES.isdisjoint(seen.parts[:-1]):
            continue
        place = sources.location(frame)
        if place is None or "`" in seen.parts[-1]:
            continue
        function = (place.function or "").removesuffix(_CURRENT) or None
        row = ProjectFrame(function=function, path=place.path, line=place.line, source=place.source_preview)
        rows.append((row, frame))
        if len(rows) == MAX_FRAMES:
            break
    return rows


def _told(call: DebugCall, reports: Sequence[Told], failures: Sequence[Failure]) -> Failure | None:
    """Return what the runner reports as failed: the stop that it is, which has locals; else what it tells.
    Blocking."""
    if not reports:
        return None
    found = reports[0]
    rows = [row for row, _ in _frames(call, Thrown(None, None, None, 0, list(found.frames)))]
    place = [(row.path, row.line) for row in rows[:1]]
    for one in reversed(failures):
        is_there = not place or place == [(row.path, row.line) for row in one.frames[:1]]
        if is_there and _first_line(one.message) == _first_line(found.message):
            return one
    return Failure(found.type, found.message, rows)


def _first_line(message: str | None) -> str:
    return (message or "").strip().partition("\n")[0][:MAX_KNOWN]


def _answer(run: OneRun, late: bool, failures: Sequence[Failure], reports: Sequence[Told]) -> DebugResult:
    """Blocking."""
    stop, output = run.stop, clean(run.output, len(run.output) + 1)
    counted = [one for one in failures if one.type not in _NO_FAILURES]
    printed = [one for one in counted if _is_printed(one, output)]
    reported = _told(run.call, reports, failures) or _reported(printed)
    code = stop.exit_code if stop.status == "exited" else None
    failed = code != 0 if code is not None else (reported is not None or stop.status != "exited")
    if stop.status != "exited" and late:
        outcome = "timed_out"
    else:
        outcome = "failed" if failed and (counted or reports or code) else "passed"
    many = len(failures) == MAX_STOPS  # and whether a later one fails it, nothing tells
    chosen = (reported or (counted[-1] if counted and not many else None)) if outcome != "passed" else None
    result = DebugResult(
        outcome=outcome,
        runtime=run.session.runtime,
        adapter=run.session.adapter,
        exit_code=code,
        output=output[-MAX_TAIL:] or None,
        note=_note(outcome, many, code) if chosen is None else None,
    )
    if chosen is not None:
        message = chosen.message or _said_by_go(chosen, output)
        fields = {
            "exception": ExceptionShown(type=chosen.type, message=message),
            "project_frames": chosen.frames,
        }
        if chosen.frames and chosen.frames[0].locals is None and reports:
            fields["note"] = _NOTES["told"]
        elif many:
            fields["note"] = _NOTES["first"]
        result = result.model_copy(update=fields)
    return fitting(result, MAX_BYTES)


def _note(outcome: str, many: bool, code: int | None) -> str | None:
    """Return what an answer says that has no exception."""
    if outcome == "passed" and code is None:
        return _NOTES["no_code"]
    return _NOTES.get("many" if many and outcome == "failed" else outcome)


def _reported(of_output: Sequence[Failure]) -> Failure | None:
    """Return the failure that ends it, of those that the output has. Errors of a Go test add up. Of
    exceptions it is the last one with a frame of the project; some runners throw an error again."""
    if not of_output or of_output[0].type == _MARKED:
        return of_output[0] if of_output else None
    return next((one for one in reversed(of_output) if one.frames), of_output[-1])


_NOTES: Mapping[str, str] = {
    "passed": "It ran to its end, and nothing failed.",
    "no_code": "It ran to its end, and no exception was seen to fail it. The debugger does not report its "
    "exit code: see output.",
    "failed": "It failed, and not by an exception that comes from the project's code; see output.",
    "many": f"More than {MAX_STOPS} exceptions were thrown, and which one fails it is not known; see output.",
    "first": f"More than {MAX_STOPS} exceptions were thrown. It is one of the first {MAX_STOPS}, and the "
    "output has its message; a later one with the same message is not known.",
    "told": "The runner reports it. The program was not stopped there, and the locals are not known: "
    "run_to shows those of a line.",
    "timed_out": "It did not end within `timeout` and was ended.",
}


def _is_printed(failure: Failure, output: str) -> bool:
    """Tell whether the program or its runner wrote of a failure."""
    first = _first_line(failure.message)
    return (bool(first) and first in output) or (
        not failure.message and _said_by_go(failure, output) is not None
    )


def _said_by_go(failure: Failure, output: str) -> str | None:
    """Return what a Go test said in the line in which it failed."""
    if not failure.frames or failure.message:
        return None
    place = failure.frames[0]
    name = (place.path or "").rpartition("/")[2]
    found = re.search(rf"^\s*{re.escape(name)}:{place.line}: (.*)$", output, re.MULTILINE)
    return found[1] if found else None
