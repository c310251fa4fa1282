"""A child process that speaks JSON-RPC over its own streams, from its start to its end.

Owns: the tasks that read from it, and the end, by which no process and no task is left. Never: the
handshake, or what a request means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from app.bridges.processes.child import Child
from app.bridges.rpc.message_stream import END_OF_OUTPUT, PeerClosed
from app.bridges.rpc.peer import JsonRpcPeer, ResponseError


class ChildConnection:
    """A running child; `noun` is what it is, `draining` reads its stderr. Ended by `aclose`."""

    def __init__(
        self, child: Child, peer: JsonRpcPeer, draining: Coroutine[Any, Any, None], *, noun: str
    ) -> None:
        self.child = child
        self.peer = peer
        self._stopped = f"the {noun} was stopped"
        self._reading = asyncio.create_task(peer.run(), name=f"read {peer.name}")
        self._draining = asyncio.create_task(draining, name=f"stderr of {peer.name}")

    @property
    def ended(self) -> bool:
        return self._reading.done()

    async def ended_within(self, seconds: float) -> bool:
        """Wait for the end, for so long at most, and tell whether the child has ended."""
        await asyncio.wait({self._reading}, timeout=seconds)
        return self.ended

    async def end_of_reading(self) -> str:
        """Wait for the end, and return its reason in words."""
        await asyncio.wait({self._reading})
        return "stopped" if self._reading.cancelled() else self._reading.result()

    async def end_of_child(self, reason: str) -> tuple[str, int | None]:
        """Return how the child ended, and its exit code, which follows the end of the output in moments."""
        await self.child.has_ended(1.0)
        code = self.child.exit_code
        return (f"exit code {code}" if code is not None and reason == END_OF_OUTPUT else reason), code

    async def shut_down(self, seconds: float) -> None:
        """End the child as its protocol has it, and by force when it does not end in time."""
        try:
            with suppress(ResponseError, PeerClosed, TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.peer.request("shutdown")
                    self._part()
                    await self.child.wait()
        finally:
            await self.aclose()

    def _part(self) -> None:
        """Follow the answer to `shutdown` with what the protocol has then."""

    async def aclose(self, *, grace_seconds: float = 0.0) -> None:
        """Kill the child and all that it started, at once or after having asked it to end."""
        self.peer.close(self._stopped)
        try:
            if grace_seconds:
                await self.child.stop(grace_seconds)
        finally:
            await self._kill()

    async def _kill(self) -> None:
        try:
            await self.child.aclose()
            await self._leave()
        finally:
            for task in (self._reading, self._draining):
                task.cancel()
            await asyncio.gather(self._reading, self._draining, return_exceptions=True)

    async def _leave(self) -> None:
        """Give back what the child was given, once it is gone."""
