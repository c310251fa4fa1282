"""How a debug session begins: the handshake of each conversation, in the order that all adapters take.

Owns: initialize; launch or attach, which is sent and not waited for; breakpoints and exception filters as
soon as the adapter wants them; configurationDone; then the answer to the launch, wherever it comes in
between. Never: opening connections, and what follows the start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from app.bridges.dap.adapter_behaviour import AdapterBehaviour
from app.bridges.dap.adapter_process import AdapterEnded
from app.bridges.dap.capabilities import can
from app.bridges.dap.limits import DebugLimits
from app.bridges.dap.links import Link
from app.bridges.dap.peer import AdapterRefusal
from app.bridges.rpc.message_stream import PeerClosed
from app.errors import Failure

Request = Literal["launch", "attach"]
LAST_WORDS_SECONDS = 0.3
"""How long the answer to a launch may follow the program's end, when the answer says why."""


class StartFailed(Failure):
    """The program could not be started or attached to; `reason` says why, in words."""


def client_arguments(behaviour: AdapterBehaviour, adapter_type: str, *, terminal: bool) -> dict[str, Any]:
    """Return the arguments of `initialize`. `terminal`: programs can be run in one."""
    return {
        "clientID": "kaged",
        "clientName": "kaged",
        "adapterID": behaviour.adapter_id or adapter_type,
        "locale": "en",
        "pathFormat": "path",
        "linesStartAt1": True,
        "columnsStartAt1": True,
        "supportsVariableType": True,
        "supportsVariablePaging": True,
        "supportsMemoryReferences": True,
        "supportsRunInTerminalRequest": terminal and behaviour.process.terminal,
        "supportsStartDebuggingRequest": behaviour.children.address != "none",
    }


class Handshake:
    """The beginning of one conversation. `configure` sends the breakpoints and the exception filters."""

    def __init__(
        self,
        link: Link,
        client: Mapping[str, Any],
        configure: Callable[[Link], Awaitable[None]],
        limits: DebugLimits,
    ) -> None:
        self._link = link
        self._client = client
        self._configure = configure
        self._limits = limits

    async def begin(self, request: Request, arguments: Mapping[str, Any]) -> None:
        """Bring the program under the debugger. Raises StartFailed."""
        limits = self._limits
        try:
            self._link.advertise(await self._asked("initialize", self._client, limits.initialize_seconds))
            self._take_capabilities()
            async with asyncio.timeout(limits.launch_seconds):
                await self._start(request, arguments)
        except AdapterRefusal as refusal:
            raise StartFailed(f"{refusal.command} was refused: {refusal.message}") from None
        except PeerClosed:
            assert self._link.connection is not None
            raise StartFailed((await self._link.connection.account()).reason) from None
        except AdapterEnded as ended:
            raise StartFailed(ended.reason) from None
        except TimeoutError:
            raise StartFailed(
                f"{request} did not come to an end within {limits.launch_seconds:g} s"
            ) from None

    async def _asked(self, command: str, arguments: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        try:
            async with asyncio.timeout(seconds):
                return await self._link.send(command, arguments)
        except TimeoutError:
            raise StartFailed(f"{command} was not answered within {seconds:g} s") from None

    def _take_capabilities(self) -> None:
        assert self._link.connection is not None
        self._link.connection.peer.cancels = can(self._link.capabilities, self._link.behaviour, "cancel")

    async def _start(self, request: Request, arguments: Mapping[str, Any]) -> None:
        """The answer may come at any time, and an error instead of `initialized`."""
        answer = self._link.send(request, arguments)
        try:
            await self._unless_it_fails(answer, self._until_initialized())
            await self._unless_it_fails(answer, self._configured())
            await self._answered(answer)
        finally:
            answer.cancel()
        self._link.configured = True

    async def _until_initialized(self) -> None:
        await self._link.initialized.wait()

    async def _configured(self) -> None:
        link = self._link
        await self._configure(link)
        if can(link.capabilities, link.behaviour, "configurationDone"):
            await link.send("configurationDone", {})

    async def _answered(self, answer: asyncio.Future[dict[str, Any]]) -> None:
        """Wait for the answer, but not when the program has run to its end already."""
        finished = asyncio.create_task(self._link.finished.wait(), name="end of a program")
        try:
            await asyncio.wait((answer, finished), return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                await asyncio.wait({answer}, timeout=LAST_WORDS_SECONDS)
        finally:
            finished.cancel()
        if answer.done():
            answer.result()

    async def _unless_it_fails(self, answer: asyncio.Future[dict[str, Any]], work: Awaitable[None]) -> None:
        """Do a part of the handshake; raise what the launch is answered with when that is an error, and
        StartFailed when the program is over before."""
        working = asyncio.ensure_future(work)
        finished = asyncio.create_task(self._link.finished.wait(), name="end of a program")
        try:
            while not working.done():
                awaited: set[asyncio.Future[Any]] = {working}
                if not answer.done():
                    awaited.add(answer)
                await asyncio.wait({*awaited, finished}, return_when=asyncio.FIRST_COMPLETED)
                if answer.done():
                    answer.result()
                if finished.done() and not working.done():
                    await asyncio.wait(awaited, timeout=LAST_WORDS_SECONDS)
                    if answer.done():
                        answer.result()
                    if self._link.closed:
                        raise PeerClosed("it has ended")
                    if not working.done():
                        raise StartFailed("the program ended before it could be debugged")
            working.result()
        finally:
            for task in (working, finished):
                task.cancel()
            await asyncio.gather(working, finished, return_exceptions=True)
