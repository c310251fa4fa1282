"""launch, attach, disconnect, continue, the steps, pause: what lets a program run or ends it.

Owns: these actions and what they answer. Never: the protocol; the session does that.
"""

from __future__ import annotations

from typing import Literal

from app.bridges.dap.manager import AttachRequest, DebugSession, LaunchRequest, Stop
from app.tools.debug.admission import check_attach, check_launch
from app.tools.debug.call import DebugCall
from app.tools.debug.debugger_cage import cage_for, reads_of
from app.tools.debug.inspection import threads_or_none
from app.tools.debug.parameters import wrong
from app.tools.debug.results import DebugResult
from app.tools.debug.stopping import result_of

_STEPS: dict[str, Literal["in", "over", "out"]] = {
    "step_into": "in",
    "step_over": "over",
    "step_out": "out",
}


async def launch(call: DebugCall) -> DebugResult:
    """Start the program, and answer at its first stop."""
    params = call.params
    assert params.runtime and params.script
    await check_launch(call)
    script, folder = await call.named(params.script), await call.named(params.cwd)
    if not folder.is_directory:
        raise wrong("cwd", f"{folder.shown} is no folder")
    request = LaunchRequest(
        runtime=params.runtime,
        program=script.real,
        cwd=folder.real,
        args=tuple(params.args or ()),
        env=dict(params.env or {}),
        stop_on_entry=params.stop_on_entry,
        cage=cage_for(call),
        reads=reads_of(call),
    )
    session, stop = await call.adapters.launch(
        call.owner, request, seconds=params.seconds, progress=call.context.ports.progress
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
    session, stop = await call.adapters.attach(
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
