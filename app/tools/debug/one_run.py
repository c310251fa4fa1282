"""A program that one call runs from its start to its end, beside the agent's own session.

Owns: launching it as `launch` does, with breakpoints of its own, and ending it whatever happens. Never:
what is looked at when it stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from app.bridges.dap.manager import Breakpoints, DebugSession, ExceptionChoice, LaunchRequest, Stop
from app.tools.debug.admission import check_launch
from app.tools.debug.call import DebugCall
from app.tools.debug.program_start import request_for

MAX_OUTPUT = 16_000


class OneRun:
    """A program and how it stands. `output` is the end of all that it has written."""

    def __init__(self, call: DebugCall, session: DebugSession, stop: Stop, deadline: float) -> None:
        self.call = call
        self.session = session
        self.stop = stop
        self.output = stop.output[-MAX_OUTPUT:]
        self._deadline = deadline

    @property
    def is_late(self) -> bool:
        """Whether its time is over."""
        return asyncio.get_running_loop().time() >= self._deadline

    async def go_on(self) -> None:
        """Let it run to its next stop, its end, or the end of its time."""
        left = max(self._deadline - asyncio.get_running_loop().time(), 0.0)
        self.stop = await self.session.resume(seconds=left)
        self.output = (self.output + self.stop.output)[-MAX_OUTPUT:]


class Preparation:
    """What a run is prepared with, before it starts."""

    def __init__(self, call: DebugCall, request: LaunchRequest) -> None:
        self.call = call
        self.request = request

    @property
    def breakpoints(self) -> Breakpoints:
        return self.call.adapters.breakpoints(self.call.owner)

    @asynccontextmanager
    async def started(self, exceptions: ExceptionChoice) -> AsyncIterator[OneRun]:
        """Start the program; at the end of the `with` nothing of it is left."""
        call, seconds = self.call, self.call.params.seconds
        deadline = asyncio.get_running_loop().time() + seconds
        request = replace(self.request, stop_on_entry=False, exceptions=exceptions, in_runtime=True)
        try:
            session, stop = await call.adapters.begin(
                call.owner, request, seconds=seconds, progress=call.context.ports.progress
            )
            try:
                yield OneRun(call, session, stop, deadline)
            finally:
                await session.disconnect(terminate=True)
        finally:
            call.adapters.forget(call.owner)


async def prepared(call: DebugCall) -> Preparation:
    """Return what a call runs. Raises ToolError as `launch` does."""
    await check_launch(call)
    return Preparation(call.apart(), await request_for(call))
