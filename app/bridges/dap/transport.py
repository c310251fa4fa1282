"""How a debug adapter is reached that listens on a port.

Owns: finding the one that was announced, connecting as soon as somebody listens. Never: the adapter's
process, and what is said.
"""

from __future__ import annotations

import asyncio
import re
import socket
from asyncio.trsock import TransportSocket
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from app.bridges.processes.loopback import LOOPBACK, NAMES
from app.bridges.processes.pipes import READ_LIMIT

FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.1
"""Seconds between attempts to connect; each pause is twice the one before."""
MAX_ANNOUNCEMENT = 1024 * 1024
"""Within how many bytes of each of its streams an adapter has to announce its port."""
MAX_LINES_BEFORE = 4 * 1024
"""How many bytes of the lines before a new one can be a part of the announcement."""
_COLOUR = re.compile(rb"\x1b\[[0-9;]*[A-Za-z]")

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial = Callable[[int, str], Awaitable[socket.socket]]
"""Connects to a port and a name of the loopback, that of a cage perhaps; as ChildStarter's `connect`."""


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Announcement:
    """Looks for the announcement of an address in the lines that an adapter writes, by a regular
    expression whose group `port` is the port, and whose group `host`, when there is one, the host. It is
    looked for in the last lines of one stream, so that it may be about several of them. `address` is done
    when it came. Only this machine is ever connected to, whatever is announced."""

    def __init__(self, pattern: str) -> None:
        self.address: asyncio.Future[Address] = asyncio.get_running_loop().create_future()
        self._pattern = re.compile(pattern.encode())
        self._written: dict[str, bytearray] = {}
        self._taken: Counter[str] = Counter()

    def take(self, stream: str, chunk: bytes) -> None:
        """Take what was written to one of the adapter's streams."""
        if self.address.done():
            return
        text = self._written.setdefault(stream, bytearray())
        text += chunk[: max(0, MAX_ANNOUNCEMENT - self._taken[stream])]
        self._taken[stream] += len(chunk)
        # What stands at the end may go on, and be no more than the beginning of a port.
        end = text.rfind(b"\n") + 1
        found = self._pattern.search(_COLOUR.sub(b"", text[:end])) if b"\n" in chunk else None
        del text[: max(0, end - MAX_LINES_BEFORE)]
        if found is None:
            return
        groups = found.groupdict()
        digits, host = groups.get("port") or b"", (groups.get("host") or b"").decode("ascii", "replace")
        if digits.isdigit() and 0 < int(digits[:6]) < 65536:
            self.address.set_result(Address(host if host in NAMES else LOOPBACK, int(digits)))
            self._written.clear()


class Prompt(asyncio.StreamReaderProtocol):
    """Acknowledges at once what it receives. Adapters send the head and the body of a message apart, and
    the body waits until the head is acknowledged, which Linux would put off for 40 ms."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        super().__init__(reader)
        self._socket: TransportSocket | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._socket = transport.get_extra_info("socket")
        super().connection_made(transport)
        self._acknowledge()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._acknowledge()

    def _acknowledge(self) -> None:
        # The system forgets it with the next packet that is sent, therefore each time.
        if self._socket is not None and hasattr(socket, "TCP_QUICKACK"):
            with suppress(OSError):
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


async def connect(address: Address, dial: Dial | None = None) -> Streams:
    """Connect once: by `dial` to a loopback, without it to any address. Raises OSError."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=READ_LIMIT, loop=loop)
    if dial is None:
        transport, protocol = await loop.create_connection(lambda: Prompt(reader), address.host, address.port)
    else:
        made = await dial(address.port, address.host)
        try:
            transport, protocol = await loop.create_connection(lambda: Prompt(reader), sock=made)
        except BaseException:
            made.close()
            raise
    writer = asyncio.StreamWriter(transport, protocol, reader, loop)
    # Where nobody listens, the system may give a socket of the same port, which it then meets itself.
    if writer.get_extra_info("sockname") == writer.get_extra_info("peername"):
        writer.transport.abort()
        raise ConnectionRefusedError(111, "nobody listens there")
    return reader, writer


async def connect_when_ready(address: Address, dial: Dial) -> Streams:
    """Connect as soon as somebody listens; waits for ever. Raises OSError for what waiting does not
    mend."""
    pause = FIRST_PAUSE
    while True:
        try:
            return await connect(address, dial)
        except OSError as problem:
            # Without a number: several addresses were tried, as of `localhost`.
            if not isinstance(problem, ConnectionError) and problem.errno is not None:
                raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
