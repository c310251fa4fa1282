"""stack_trace, threads, scopes: where the program stands.

Owns: these three. Never: what is in a scope (`variables`).
"""

from __future__ import annotations

import asyncio
from typing import Any

from app.bridges.dap.manager import DebugSession
from app.errors import ToolError
from app.tools.debug.call import DebugCall
from app.tools.debug.exception_stop import first_of_project
from app.tools.debug.frames import frame_of, scopes_of, thread_of
from app.tools.debug.results import DebugResult, Frame, Location, ScopeShown, Thread
from app.tools.debug.sources import Sources
from app.tools.processes.foreign_text import objects, one_line, whole_number

MAX_THREADS = 200
MAX_NAME = 200
MAX_PLACED = 50
PLACE_LEVELS = 30
PLACES_SECONDS = 5.0


async def stack_trace(call: DebugCall) -> DebugResult:
    """Return the frames of a thread from `start` on, numbered from the top."""
    params = call.params
    thread = await thread_of(call)
    wanted = params.start + params.levels
    answer = await call.ask("stackTrace", threadId=thread, startFrame=0, levels=wanted)
    frames = objects(answer.get("stackFrames"))
    stated = whole_number(answer.get("totalFrames"))

    def rows() -> list[Frame]:
        sources = Sources(call)
        part = enumerate(frames[:wanted])
        return [sources.frame(number, one) for number, one in part if number >= params.start]

    shown = await call.aside(rows)
    total = max(stated or 0, len(frames))
    unknown = stated is None and len(frames) == wanted
    return DebugResult(
        thread_id=thread,
        frames=shown,
        total_frames=None if unknown else total,
        truncated=True if unknown or total > wanted else None,
        note=f"There may be more; start {wanted} shows them." if unknown else None,
    )


async def threads(call: DebugCall) -> DebugResult:
    """Return all threads, and which of them stopped."""
    found = _threads(await call.ask("threads"))
    return DebugResult(
        threads=await _placed(call, found[:MAX_THREADS]),
        total=len(found),
        thread_id=call.session.current_thread,
        truncated=True if len(found) > MAX_THREADS else None,
    )


async def _placed(call: DebugCall, found: list[Thread]) -> list[Thread]:
    """Add to each thread where it stands in the project, as far as that can be had in time. Of a program that
    runs only some adapters tell."""
    if call.session.stop.status != "stopped" and not call.session.behaviour.stopping.stacks_of_running:
        return found
    asked = [_first_in_project(call, one.id) for one in found[:MAX_PLACED]]
    tasks = [asyncio.create_task(one) for one in asked]
    if tasks:
        await asyncio.wait(tasks, timeout=PLACES_SECONDS)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    places = [None if one.cancelled() or one.exception() else one.result() for one in tasks]
    placed = [one if place is None else _at(one, place) for one, place in zip(found, places, strict=False)]
    return [*placed, *found[len(placed) :]]


def _at(thread: Thread, place: Location) -> Thread:
    where = {"function": place.function, "path": place.path, "line": place.line}
    return thread.model_copy(update=where)


async def _first_in_project(call: DebugCall, thread: int) -> Location | None:
    answer = await call.ask("stackTrace", threadId=thread, startFrame=0, levels=PLACE_LEVELS)
    frames = objects(answer.get("stackFrames"))

    def look() -> Location | None:
        number = first_of_project(call, frames)
        return None if number is None else Sources(call).location(frames[number])

    return await call.aside(look)


async def threads_or_none(call: DebugCall, session: DebugSession) -> list[Thread] | None:
    """Return the threads as an answer of `launch` has them; None where they cannot be had now."""
    try:
        return _threads(await session.request("threads", "threads", {}))[:MAX_THREADS]
    except ToolError:
        return None


def _threads(answer: dict[str, Any]) -> list[Thread]:
    return [
        Thread(id=one["id"], name=one_line(one.get("name"), MAX_NAME) or str(one["id"]))
        for one in objects(answer.get("threads"))
        if type(one.get("id")) is int
    ]


async def scopes(call: DebugCall) -> DebugResult:
    """Return the scopes of a frame, with the name by which `variables` knows each."""
    found = await scopes_of(call, await frame_of(call))
    rows = [
        ScopeShown(name=one.name, scope=one.kind, variables=one.variables, expensive=one.expensive or None)
        for one in found
    ]
    return DebugResult(scopes=rows)
