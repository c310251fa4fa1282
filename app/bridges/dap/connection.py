"""A conversation with a debug adapter, and the process behind it when it was started here.

Owns: opening, sharing one adapter among several conversations, and the end, by which no process and
no descriptor is left. Never: what is said, and what a session is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from app.bridges.dap.adapter_process import (
    ACCOUNT_SECONDS,
    AdapterCommand,
    AdapterEnded,
    AdapterProcess,
    Channel,
)
from app.bridges.dap.peer import DapPeer
from app.bridges.dap.transport import Address, Dial, Streams, connect
from app.bridges.processes.child_starter import ChildStarter


def _nowhere(_channel: Channel, _text: str) -> None:
    """Take output that nobody wants."""


@dataclass(frozen=True, slots=True)
class Handlers:
    """The listeners of a connection: `on_event` and `on_request` as DapPeer says; `on_output` gets what the
    process writes beside the protocol: stderr, and stdout when the protocol does not go by it (which
    with some adapters is the output of the program)."""

    on_event: Callable[[str, dict[str, Any]], None]
    on_request: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
    on_output: Callable[[Channel, str], None] = _nowhere


class AdapterConnection:
    """An open conversation; `peer` is to be spoken with. Made by `open`, `dial` or `another`; ended by
    `aclose`, or by leaving it as an async context."""

    def __init__(
        self, streams: Streams, handlers: Handlers, *, name: str, process: AdapterProcess | None, owner: bool
    ) -> None:
        self.name = name
        self.process = process
        self._owner = owner
        self._closing = False
        self._writer = streams[1]
        self.peer = DapPeer(*streams, name=name, on_event=handlers.on_event, on_request=handlers.on_request)
        self._reading = asyncio.create_task(self.peer.run(), name=f"read {name}")
        self._watching = asyncio.create_task(self._watch(), name=f"watch {name}")

    @classmethod
    async def open(
        cls, children: ChildStarter, command: AdapterCommand, handlers: Handlers, *, seconds: float
    ) -> AdapterConnection:
        """Start an adapter and connect to it, within `seconds`. Raises AdapterEnded."""
        process = await AdapterProcess.start(children, command, on_output=handlers.on_output)
        try:
            streams = await process.reach(seconds)
        except BaseException:
            await process.aclose()
            raise
        return cls(streams, handlers, name=command.name, process=process, owner=True)

    @classmethod
    async def dial(
        cls,
        host: str,
        port: int,
        handlers: Handlers,
        *,
        name: str,
        seconds: float,
        dial: Dial | None = None,
    ) -> AdapterConnection:
        """Connect to an adapter that runs already, by `dial` if it can be reached by that only. Raises
        AdapterEnded."""
        address = Address(host, port)
        try:
            async with asyncio.timeout(seconds):
                streams = await connect(address, dial)
        except TimeoutError:
            raise AdapterEnded(f"{address} did not take a connection within {seconds:g} s") from None
        except (OSError, ValueError, OverflowError) as problem:
            words = getattr(problem, "strerror", None) or str(problem)
            raise AdapterEnded(f"{address} cannot be connected to: {words}") from None
        return cls(streams, handlers, name=name, process=None, owner=False)

    async def another(self, handlers: Handlers, *, seconds: float) -> AdapterConnection:
        """Open one more conversation with the same adapter. It ends when it is closed, and with the
        process of this one; `on_output` is not called. Raises AdapterEnded."""
        if self.process is None:
            raise AdapterEnded(f"{self.name} was not started here and takes one connection only")
        streams = await self.process.reach_again(seconds)
        return AdapterConnection(streams, handlers, name=self.name, process=self.process, owner=False)

    @property
    def ended(self) -> bool:
        """Whether the conversation is over."""
        return self._reading.done()

    @property
    def mark(self) -> dict[str, str]:
        """The variable that a program's environment needs for the program to be known as the adapter's, and
        to be gone with it, wherever it is; nothing when the adapter was not started here."""
        return self.process.child.mark if self.process is not None else {}

    @property
    def last_words(self) -> str:
        """What the adapter wrote beside the protocol at the end, bounded; empty when it was not
        started here."""
        return self.process.last_words if self.process is not None else ""

    async def ended_within(self, seconds: float) -> bool:
        """Wait for the end of the conversation, for so long at most, and tell whether it is over."""
        await asyncio.wait({self._reading}, timeout=seconds)
        return self.ended

    async def process_ended_within(self, seconds: float) -> bool:
        """Wait for the end of the adapter's process, for so long at most, and tell whether it has
        ended; of the conversation when the process was not started here."""
        if self.process is None:
            return await self.ended_within(seconds)
        return await self.process.child.has_ended(seconds)

    async def wait_until_ended(self) -> AdapterEnded:
        """Wait for the end of the conversation and return its account."""
        await asyncio.wait({self._reading})
        return await self.account()

    async def account(self) -> AdapterEnded:
        """Return why the conversation ended, once it has."""
        reason = self.peer.reason or "it was stopped"
        by_itself = reason == _PROCESS_ENDED or (self.peer.output_ended and not self._closing)
        if self.process is None or not by_itself:
            words = f": {self.last_words[-1_000:]}" if self.last_words else ""
            return AdapterEnded(f"{self.name} failed ({reason}){words}")
        return await self.process.account(reason)

    async def aclose(self, reason: str = "the session was ended") -> None:
        """End the conversation, and kill the adapter with all that it started when it was started
        for this conversation."""
        self._closing = True
        self.peer.close(reason)
        try:
            if self.process is not None and self._owner:
                await self.process.aclose()
        finally:
            if self._writer.get_extra_info("socket") is not None:
                self._writer.transport.abort()  # pipes belong to the process
            self._watching.cancel()
            self._reading.cancel()
            # By their next turn the streams of sockets have closed their descriptors, too.
            await asyncio.gather(self._reading, self._watching, return_exceptions=True)
            await asyncio.sleep(0)

    async def __aenter__(self) -> AdapterConnection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _watch(self) -> None:
        """End the conversation when the process has ended and something else keeps its output open."""
        if self.process is None:
            return
        await self.process.child.wait()
        if not await self.ended_within(ACCOUNT_SECONDS):
            self.peer.close(_PROCESS_ENDED)


_PROCESS_ENDED = "its process has ended"
