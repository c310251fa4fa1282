"""What an answer says of how the program stands: the stop, its place, what changed, what was written.

Owns: making that of a stop. Never: letting the program run.
"""

from __future__ import annotations

import asyncio
from typing import Any

from app.bridges.dap.manager import DebugSession, Stop
from app.errors import ToolError
from app.tools.debug.call import DebugCall
from app.tools.debug.changed import Known
from app.tools.debug.exception_stop import locals_of, shown_exception, thrown
from app.tools.debug.frames import scopes_of
from app.tools.debug.imported_names import MODULE_FRAMES
from app.tools.debug.results import Change, DebugResult, ExceptionShown, Frame, Local
from app.tools.debug.sources import Sources
from app.tools.debug.variables import all_of
from app.tools.debug.watched import watched
from app.tools.processes.foreign_text import clean, one_line

MAX_CHANGED = 20
MAX_LOCALS = 500
MAX_VALUE = 300
MAX_TEXT = 2_000
MAX_OUTPUT = 64_000
CHANGED_SECONDS = 3.0
_GOES_ON = (
    "The program still runs. pause shows where it is; a stop that comes meanwhile is reported by the next "
    "continue, step or look; disconnect ends it."
)


async def result_of(call: DebugCall, session: DebugSession, stop: Stop) -> DebugResult:
    """Return a stop as an answer shows it."""
    found = await thrown(call, session, stop)
    exception: ExceptionShown | None = None
    raised: Frame | None = None
    local: list[Local] | None = None
    changed: list[Change] | None = None
    if found is not None and found.frame is not None:
        exception, place, raised = await shown_exception(call, found)
        local = await locals_of(call, found.frame)
    else:
        exception = ExceptionShown(type=found.type, message=found.message) if found is not None else None
        place = await call.aside(lambda: Sources(call).location(stop.frame))
        changed = await _changed(call, session, stop)
    hits = list(stop.breakpoint_ids)
    notes = []
    if stop.removed:
        notes.append(
            f"The breakpoint here was removed, and {session.adapter} stops here all the same: it may go on "
            "doing so until the program is launched again."
        )
    if stop.timed_out:
        notes.append(_GOES_ON)
    if stop.output_truncated:
        notes.append("A part of the output is left out.")
    if changed is not None and len(changed) > MAX_CHANGED:
        notes.append(f"{len(changed) - MAX_CHANGED} more variables changed; see variables.")
    return DebugResult(
        status=stop.status,
        stopped_reason=one_line(stop.reason, 100) or None,
        description=_more(stop.description, stop.reason) if exception is None else None,
        text=_more(stop.text, stop.description) if exception is None else None,
        thread_id=stop.thread_id,
        breakpoint_id=hits[0] if hits else None,
        breakpoint_ids=hits if len(hits) > 1 else None,
        exit_code=stop.exit_code,
        timed_out=stop.timed_out or None,
        location=place if stop.status == "stopped" else None,
        changed=changed[:MAX_CHANGED] if changed else None,
        exception=exception,
        shown=await watched(call, found.frame if found is not None and found.frame else stop.frame)
        if stop.status == "stopped"
        else None,
        raised_in=raised,
        locals=local,
        output=clean(stop.output, MAX_OUTPUT) or None,
        truncated=stop.output_truncated or None,
        note=" ".join(notes) or None,
    )


def _more(text: str | None, known: str | None) -> str | None:
    """Leave out what only repeats the words before."""
    shown = clean(text, MAX_TEXT).strip()
    words = clean(known, MAX_TEXT).strip().casefold()
    repeated = shown.casefold() in {"", "paused", words, f"paused on {words}"}
    return None if repeated else shown


async def _changed(call: DebugCall, session: DebugSession, stop: Stop) -> list[Change] | None:
    """Return the local variables of the top frame that changed; None where they cannot be had in time:
    a stop of the program is reported in any case."""
    frame = stop.frame
    if stop.status != "stopped" or frame is None or type(frame.get("id")) is not int:
        return None
    try:
        async with asyncio.timeout(CHANGED_SECONDS):
            found = await _locals(call, frame)
    except (ToolError, TimeoutError):
        return None
    source = frame.get("source")
    path = source.get("path") if isinstance(source, dict) else None
    place = (stop.thread_id, one_line(frame.get("name"), 300), path if isinstance(path, str) else "")
    if place[1] in MODULE_FRAMES:
        imported = await call.aside(lambda: Sources(call).imported(frame))
        found = [one for one in found if one.name not in imported and one.type != "module"]
    changed = call.tooling.seen.changed(session.id, place, found)
    return [Change(name=one.name, value=one.value, was=one.was, type=one.type) for one in changed]


async def _locals(call: DebugCall, frame: dict[str, Any]) -> list[Known]:
    scopes = await scopes_of(call, frame)
    found = await all_of(call, [one for one in scopes if one.kind == "local" and not one.expensive])
    return [Known(one.name, one_line(one.value, MAX_VALUE), one.type) for one in found[:MAX_LOCALS]]
