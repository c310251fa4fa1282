"""launch, attach, disconnect, continue, the steps, pause: what lets a program run or ends it.

Owns: these actions and what they answer. Never: the protocol; the session does that.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Literal

from app.bridges.dap.breakpoint import Terms
from app.bridges.dap.manager import AttachRequest, DebugSession, Stop
from app.errors import ToolError
from app.tools.debug.admission import check_attach, check_launch
from app.tools.debug.call import DebugCall
from app.tools.debug.conditions import check_condition
from app.tools.debug.debugger_cage import cage_for, reads_of
from app.tools.debug.exception_stop import locals_of
from app.tools.debug.inspection import threads_or_none
from app.tools.debug.parameters import names_program
from app.tools.debug.program_start import request_for
from app.tools.debug.results import DebugResult
from app.tools.debug.stopping import result_of
from app.tools.debug.wrong_parameter import wrong

_STEPS: dict[str, Literal["in", "over", "out"]] = {
    "step_into": "in",
    "step_over": "over",
    "step_out": "out",
}


async def launch(call: DebugCall) -> DebugResult:
    """Start the program, and answer at its first stop."""
    await check_launch(call)
    request = await request_for(call)
    session, stop = await call.adapters.begin(
        call.owner, request, seconds=call.params.seconds, progress=call.context.ports.progress
    )
    return await _begun(call, session, stop)


async def attach(call: DebugCall) -> DebugResult:
    """Take a running program under the debugger."""
    params = call.params
    assert params.runtime
    number = await check_attach(call)
    request = AttachRequest(
        runtime=params.runtime,
        host=params.host.strip("[]"),
        port=params.port,
        pid=number,
        cage=cage_for(call, attaching=True),
        reads=reads_of(call),
    )
    session, stop = await call.adapters.begin(
        call.owner, request, seconds=params.seconds, progress=call.context.ports.progress
    )
    return await _begun(call, session, stop)


async def _begun(call: DebugCall, session: DebugSession, stop: Stop) -> DebugResult:
    threads = None if stop.status == "exited" else await threads_or_none(call, session)
    result = await result_of(call, session, stop)
    data = {
        "debug_session_id": session.id,
        "runtime": session.runtime,
        "adapter": session.adapter,
        "threads": threads,
        "warning": await _left_out(call, session),
    }
    return result.model_copy(update=data)


async def _left_out(call: DebugCall, session: DebugSession) -> str | None:
    """Return which of the breakpoints the adapter cannot have: the program goes past them."""
    lacks = {one.id: session.lacking(one) for one in await call.adapters.breakpoints(call.owner).listed()}
    lines = [f"{number} ({capability})" for number, capability in lacks.items() if capability]
    if not lines:
        return None
    return (
        f"Not set, for {session.adapter} does not offer what they need: breakpoint {', '.join(lines[:20])}."
    )


async def run_to(call: DebugCall) -> DebugResult:
    """Go on with the program, or start one, to a line, and look at what is there. The breakpoint for it is
    gone again afterwards; one of the agent's own in that line stays."""
    params, kept = call.params, call.adapters.breakpoints(call.owner)
    assert params.path and params.line
    named = await call.named(params.path)
    if named.is_directory:
        raise wrong("path", f"{named.shown} is a folder; give a file")
    await check_condition(call, params.condition, named.real.suffix)
    own = any(one.path == named.real and one.line == params.line for one in await kept.listed())
    if not own:
        await kept.set_line(named.real, params.line, Terms(condition=params.condition or None))
    try:
        result = await (_started(call) if names_program(params) else proceed(call))
    finally:
        if not own:
            with suppress(ToolError):
                await kept.remove_line(named.real, params.line)
    if not own and result.breakpoint_id is not None:
        result = result.model_copy(update={"breakpoint_id": None, "stopped_reason": "run_to"})
    frame = call.session.stop.frame
    if result.status == "stopped" and result.locals is None and frame is not None:
        result = result.model_copy(update={"locals": await locals_of(call, frame), "changed": None})
    return result


async def _started(call: DebugCall) -> DebugResult:
    await check_launch(call)
    request = replace(await request_for(call), stop_on_entry=False)
    session, stop = await call.adapters.begin(
        call.owner, request, seconds=call.params.seconds, progress=call.context.ports.progress
    )
    return await _begun(call, session, stop)


async def proceed(call: DebugCall) -> DebugResult:
    """continue: let the program go on, and answer at its next stop."""
    params, session = call.params, call.session
    stop = await session.resume(
        params.thread_id, seconds=params.seconds, progress=call.context.ports.progress
    )
    return await result_of(call, session, stop)


async def step(call: DebugCall) -> DebugResult:
    """step_into, step_over, step_out."""
    params, session = call.params, call.session
    stop = await session.step(
        _STEPS[params.action],
        params.thread_id,
        seconds=params.seconds,
        progress=call.context.ports.progress,
    )
    return await result_of(call, session, stop)


async def pause(call: DebugCall) -> DebugResult:
    """Stop the program where it is."""
    session = call.session
    stop = await session.pause(call.params.thread_id, seconds=call.params.seconds)
    return await result_of(call, session, stop)


async def disconnect(call: DebugCall) -> DebugResult:
    """End the session, and the program with it unless it was attached to or shall live on."""
    ended = await call.session.disconnect(terminate=call.params.terminate_debuggee)
    return DebugResult(disconnected=True, debuggee_terminated=ended)
