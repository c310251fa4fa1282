"""The process of a debug adapter: started, reached, listened to, and ended with all that it started.

Owns: its output beside the protocol, of which the end is kept, and the address that it listens on.
Never: the protocol.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
from asyncio import StreamReader
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.bridges.dap.adapter_behaviour import Transport
from app.bridges.dap.adapter_entry import ResolvedAdapter
from app.bridges.dap.transport import (
    Address,
    Announcement,
    Streams,
    connect,
    connect_when_ready,
)
from app.bridges.processes.child import Child, ChildEnded, SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.loopback import LOOPBACK

log = logging.getLogger("kaged.peers")

MAX_LAST_WORDS = 4_000
ACCOUNT_SECONDS = 1.0
"""How long an exit code may take to follow the end of the conversation, and the other way round."""
_CHUNK = 64 * 1024

Channel = Literal["stdout", "stderr"]


class AdapterEnded(ChildEnded):
    """The adapter could not be started or reached, or has ended. `reason` says why, in words, together
    with the end of what it wrote; `exit_code` is None when it did not end by itself."""


@dataclass(frozen=True, slots=True)
class AdapterCommand:
    """How an adapter is started and reached. `name` is for people, `argv` begins with an absolute path,
    `env` is the whole environment; `transport` and `port_pattern` are as AdapterBehaviour has them."""

    name: str
    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    transport: Transport = "stdio"
    port_pattern: str = ""

    @classmethod
    def of(cls, adapter: ResolvedAdapter, *, cwd: Path, environment: Mapping[str, str]) -> AdapterCommand:
        """Return how a resolved adapter is started."""
        return cls(
            name=adapter.behaviour.name or adapter.program.name,
            argv=adapter.command,
            cwd=cwd,
            env={**environment, **adapter.env},
            transport=adapter.behaviour.reach.transport,
            port_pattern=adapter.behaviour.reach.port_pattern,
        )


class AdapterProcess:
    """A running adapter. Made by `start`, ended by `aclose`."""

    def __init__(
        self,
        child: Child,
        children: ChildStarter,
        command: AdapterCommand,
        address: Address | None,
        on_output: Callable[[Channel, str], None],
    ) -> None:
        self.child = child
        self._dial = children.connect
        self.name = command.name
        self.address = address
        """Where it listens; None when it is spoken to by its pipes, or has not announced it yet."""
        self._by_pipes = command.transport == "stdio"
        self._on_output = on_output
        self._last_words = bytearray()
        announced = command.transport == "announced"
        self._announcement = Announcement(command.port_pattern) if announced else None
        streams: list[tuple[Channel, StreamReader | None]] = [("stderr", child.stderr)]
        if not self._by_pipes:
            streams.append(("stdout", child.stdout))
        self._draining = [
            asyncio.create_task(self._drain(channel, stream), name=f"{channel} of {self.name}")
            for channel, stream in streams
            if stream is not None
        ]

    @classmethod
    async def start(
        cls, children: ChildStarter, command: AdapterCommand, *, on_output: Callable[[Channel, str], None]
    ) -> AdapterProcess:
        """Start the adapter. `on_output` gets what it writes beside the protocol. Raises AdapterEnded."""
        address: Address | None = None
        port = "{port}"
        try:
            if command.transport == "chosen":
                address = Address(LOOPBACK, await children.free_port())
                port = str(address.port)
            child = await children.start(
                [part.replace("{port}", port) for part in command.argv],
                owner=f"debug adapter {command.name}",
                cwd=command.cwd,
                env=command.env,
                stdin="pipe" if command.transport == "stdio" else "null",
            )
        except SpawnFailed as failure:
            raise AdapterEnded(f"{command.argv[0]} cannot be started: {failure.reason}") from None
        except OSError as problem:
            raise AdapterEnded(f"there is no port for {command.name}: {problem.strerror}") from None
        return cls(child, children, command, address, on_output)

    @property
    def last_words(self) -> str:
        """What the adapter wrote at the end, bounded."""
        return self._last_words.decode("utf-8", "replace").strip()

    async def reach(self, seconds: float) -> Streams:
        """Return the streams to speak with the adapter by, as soon as it listens. Raises AdapterEnded
        when it ends before, or does not listen within `seconds`."""
        if self._by_pipes:
            assert self.child.stdout is not None
            assert self.child.stdin is not None
            return self.child.stdout, self.child.stdin
        reaching = asyncio.create_task(self._reach(), name=f"reaching {self.name}")
        ending = asyncio.create_task(self.child.wait(), name=f"end of {self.name}")
        try:
            await asyncio.wait({reaching, ending}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not reaching.done():
                raise await self.account(f"it did not listen within {seconds:g} s")
            return reaching.result()
        except OSError as problem:
            raise await self.account(f"it cannot be connected to: {problem.strerror or problem}") from None
        except BaseException:
            # Nobody takes what may have been reached in the very moment of a cancellation.
            if reaching.done() and not reaching.cancelled() and reaching.exception() is None:
                reaching.result()[1].transport.abort()
            raise
        finally:
            for task in (reaching, ending):
                task.cancel()
            await asyncio.gather(reaching, ending, return_exceptions=True)

    async def reach_again(self, seconds: float) -> Streams:
        """Return streams of one more connection. Raises AdapterEnded."""
        if self.address is None:
            raise AdapterEnded(f"{self.name} takes one connection only")
        try:
            async with asyncio.timeout(seconds):
                return await connect(self.address, self._dial)
        except TimeoutError:
            raise AdapterEnded(f"{self.name} took no further connection within {seconds:g} s") from None
        except OSError as problem:
            raise await self.account(f"no further connection: {problem.strerror or problem}") from None

    async def account(self, reason: str) -> AdapterEnded:
        """Return the account of the end: the exit code when it ends by itself within moments, else the
        reason; and its last words."""
        if await self.child.has_ended(ACCOUNT_SECONDS):
            await asyncio.wait(self._draining, timeout=ACCOUNT_SECONDS)
        code = self.child.exit_code
        how = f"ended (exit code {code})" if code is not None else f"failed ({reason})"
        words = self.last_words[-1_000:]
        return AdapterEnded(f"{self.name} {how}" + (f": {words}" if words else ""), code)

    async def aclose(self) -> None:
        """Kill the adapter and all that it started."""
        try:
            await self.child.aclose()
        finally:
            for task in self._draining:
                task.cancel()
            await asyncio.gather(*self._draining, return_exceptions=True)

    async def _reach(self) -> Streams:
        if self._announcement is not None:
            self.address = await self._announcement.address
        assert self.address is not None
        return await connect_when_ready(self.address, self._dial)

    async def _drain(self, channel: Channel, stream: StreamReader) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while chunk := await stream.read(_CHUNK):
            self._last_words += chunk
            del self._last_words[:-MAX_LAST_WORDS]
            if self._announcement is not None:
                self._announcement.take(channel, chunk)
            if text := decoder.decode(chunk):
                self._emit(channel, text)

    def _emit(self, channel: Channel, text: str) -> None:
        try:
            self._on_output(channel, text)
        except Exception:
            log.exception("output of %s was not taken", self.name)
