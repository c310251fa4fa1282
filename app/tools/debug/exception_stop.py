"""A stop at an exception: its type and message, the first frame of the project, and the locals there.

Owns: finding these, whatever the adapter calls them and wherever the program stands, and `set_exceptions`.
Never: which exceptions are stops; the bridge does that.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

import orjson

from app.bridges.dap.manager import LIBRARIES, DebugSession, ExceptionChoice, Stop
from app.errors import ToolError
from app.tools.debug.call import DebugCall
from app.tools.debug.cpp_throw import thrown_by_cpp
from app.tools.debug.frames import scopes_of
from app.tools.debug.results import DebugResult, ExceptionShown, Frame, Local, Location
from app.tools.debug.sources import Sources
from app.tools.debug.variables import all_of
from app.tools.processes.foreign_text import clean, objects, one_line

SECONDS = 5.0
MAX_FRAMES = 60
MAX_LOCALS = 20
MAX_VALUE = 200
MAX_MESSAGE = 2_000
MAX_TYPE = 200
_NO_TYPES = frozenset({"cpp_throw", "Breakpoint", "exception"})
"""What LLDB's adapters call breakpoints, also those on what a program throws."""
_NO_SOURCE = "`"
"""What is in the names that LLDB gives to functions without a source."""
_NOT_OWN = ("__", "@py_", "<null>")
"""How the names of variables begin that no source has."""
_TYPE_AND_MESSAGE = re.compile(r"([\w.$]+)(?: \[\w+\])?: (.*)", re.DOTALL)
_RUST = re.compile(r"thread '[^'\n]*'(?: \(\d+\))? panicked at ")
_AFTER_RUST = ("note: ", "stack backtrace")
"""How the lines begin that follow the message of a panic."""
_CPP = re.compile(
    r"terminate called after throwing an instance of '(?P<type>[^'\n]+)'"
    r"(?:\n\s+what\(\):  (?P<message>[^\n]*))?"
)


@dataclass(frozen=True, slots=True)
class Thrown:
    """An exception at which a program stands. `frame` is the first one of the project, as the protocol has
    it, and `number` its place in the stack; None where no frame is of the project."""

    type: str | None
    message: str | None
    frame: dict[str, Any] | None
    number: int
    frames: list[dict[str, Any]]


async def set_exceptions(call: DebugCall) -> DebugResult:
    """Choose at which exceptions programs stop, from now on and after each launch."""
    choice = choice_of(call)
    assert choice is not None
    await call.adapters.breakpoints(call.owner).set_exceptions(choice)
    return DebugResult(exceptions=choice.mode, exception_types=list(choice.types) or None)


def choice_of(call: DebugCall) -> ExceptionChoice | None:
    """Return what a call chooses, None when it does not."""
    params = call.params
    if params.exceptions is None:
        return None
    return ExceptionChoice(params.exceptions, tuple(params.exception_types or ()))


async def thrown(call: DebugCall, session: DebugSession, stop: Stop) -> Thrown | None:
    """Return the exception of a stop; None for another stop, or where nothing of it can be had in time."""
    if stop.status != "stopped" or stop.reason != "exception" or stop.thread_id is None:
        return None
    try:
        async with asyncio.timeout(SECONDS):
            info, answer = await asyncio.gather(_info(call, stop.thread_id), _stack(call, stop.thread_id))
    except TimeoutError:
        return None
    if answer is None:
        return None
    frames = [one for one in objects(answer.get("stackFrames"))[:MAX_FRAMES] if type(one.get("id")) is int]
    number = await call.aside(first_of_project, call, frames)
    kind, message = _words(info, stop)
    if call.session.behaviour.process.launches_by_ptrace and message is None and frames:
        thrown_here = await thrown_by_cpp(call, frames[0])
        kind, message = thrown_here[0] or kind, thrown_here[1]
    frame = None if number is None else frames[number]
    return Thrown(kind, message, frame, number or 0, frames)


async def _info(call: DebugCall, thread: int) -> dict[str, Any]:
    if "supportsExceptionInfoRequest" not in call.session.capabilities:
        return {}
    try:
        return await call.ask("exceptionInfo", threadId=thread)
    except ToolError:
        return {}


async def _stack(call: DebugCall, thread: int) -> dict[str, Any] | None:
    try:
        return await call.ask("stackTrace", threadId=thread, startFrame=0, levels=MAX_FRAMES)
    except ToolError:
        return None


def first_of_project(call: DebugCall, frames: list[dict[str, Any]]) -> int | None:
    """Return the number of the first frame in the project's own code. Blocking."""
    sources = Sources(call)
    for number, frame in enumerate(frames):
        seen = sources.of(frame.get("source"))
        if seen is None or seen.parts is None or _NO_SOURCE in seen.parts[-1]:
            continue
        if LIBRARIES.isdisjoint(seen.parts[:-1]):
            return number
    return None


def _words(info: dict[str, Any], stop: Stop) -> tuple[str | None, str | None]:
    """Return the type and the message, by what the adapter says or the program has written."""
    output = stop.output.replace("\r\n", "\n")
    panic = _panic(output)
    if panic is not None:
        return "panic", clean(panic, MAX_MESSAGE).strip() or None
    written = next(reversed(list(_CPP.finditer(output))), None)
    if written is not None:
        return written["type"], clean(written["message"], MAX_MESSAGE).strip() or None
    if info.get("exceptionId") in _NO_TYPES:
        return None, None
    details = info.get("details")
    details = details if isinstance(details, dict) else {}
    named = details.get("typeName") or info.get("exceptionId") or stop.text
    kind = clean(named, MAX_MESSAGE).partition(" (note: ")[0].rstrip()
    message = _unquoted(clean(info.get("description"), MAX_MESSAGE))
    apart = _TYPE_AND_MESSAGE.fullmatch(kind)
    if apart is not None and message in ("", kind):
        kind, message = apart[1], apart[2]
    return one_line(kind, MAX_TYPE) or None, message or None


def _panic(output: str) -> str | None:
    """Return the message of the last panic that a Rust program has written."""
    lines = output.split("\n")
    for number in range(len(lines) - 2, -1, -1):
        if lines[number].endswith(":") and _RUST.search(lines[number]):
            after = lines[number + 1 :]
            end = next((i for i, line in enumerate(after) if line.startswith(_AFTER_RUST)), len(after))
            return "\n".join(after[:end])
    return None


def _unquoted(text: str) -> str:
    """Return what Go's debugger writes as a literal."""
    if text.startswith('"') and text.endswith('"'):
        try:
            return str(orjson.loads(text))
        except orjson.JSONDecodeError:
            return text
    return text


async def locals_of(call: DebugCall, frame: dict[str, Any], most: int = MAX_LOCALS) -> list[Local] | None:
    """Return the local variables of a frame, bounded; None where they cannot be had in time."""
    try:
        async with asyncio.timeout(SECONDS):
            scopes = await scopes_of(call, frame)
            found = await all_of(call, [one for one in scopes if one.kind == "local" and not one.expensive])
    except (ToolError, TimeoutError):
        return None
    shown = [one for one in found if one.type != "module" and not one.name.startswith(_NOT_OWN)]
    return [Local(name=one.name, value=one_line(one.value, MAX_VALUE)) for one in shown[:most]]


async def shown_exception(
    call: DebugCall, found: Thrown
) -> tuple[ExceptionShown, Location | None, Frame | None]:
    """Return an exception as an answer has it, the place of the project, and where it was raised when that is
    elsewhere."""

    def rows() -> tuple[Location | None, Frame | None]:
        sources = Sources(call)
        place = sources.location(found.frame)
        raised = sources.frame(0, found.frames[0]) if found.number and found.frames else None
        return place, raised

    place, raised = await call.aside(rows)
    if place is not None and found.number:
        place = place.model_copy(update={"frame_id": found.number})
    return ExceptionShown(type=found.type, message=found.message), place, raised
