"""The conversation of a proxy with its client, up to the connection or the refusal.

Owns: reading the request piece by piece, its shape, the kinds of refusals. Never: a protocol; deadlines.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

_PIECE = 4096


RefusalKind = Literal[
    "malformed",
    "too_large",
    "too_slow",
    "unsupported",
    "numeric",
    "not_allowed",
    "not_public",
    "unresolvable",
    "unreachable",
    "no_answer",
]
"""`numeric`: an address stands where a name has to; `not_public`: the name leads to this machine or its
network; `no_answer`: the other side took too long; `too_slow`: the client did."""


class Refusal(Exception):
    """Nobody is connected; `message` says why and, where something can be done, what."""

    def __init__(self, kind: RefusalKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class ClientGone(Exception):
    """The client closed the connection before it had said what it wants."""


class ClientStream:
    def __init__(self, client: socket.socket) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._held = b""

    async def first(self) -> int:
        """Return the first byte without taking it. Raises ClientGone."""
        if not self._held:
            await self._more()
        return self._held[0]

    async def exactly(self, count: int) -> bytes:
        while len(self._held) < count:
            await self._more()
        taken, self._held = self._held[:count], self._held[count:]
        return taken

    async def until(self, mark: bytes, limit: int, check: Callable[[bytes], None]) -> bytes:
        """Take everything before `mark`, and drop the mark. `check` sees the bytes so far, to refuse early.
        Raises ClientGone, Refusal `too_large` above `limit`."""
        while (at := self._held.find(mark)) < 0:
            if len(self._held) > limit:
                raise Refusal("too_large", f"the request's head is longer than {limit} bytes")
            check(self._held)
            await self._more()
        if at > limit:
            raise Refusal("too_large", f"the request's head is longer than {limit} bytes")
        taken, self._held = self._held[:at], self._held[at + len(mark) :]
        return taken

    def rest(self) -> bytes:
        taken, self._held = self._held, b""
        return taken

    async def send(self, answer: bytes) -> None:
        await self._loop.sock_sendall(self._client, answer)

    async def _more(self) -> None:
        piece = await self._loop.sock_recv(self._client, _PIECE)
        if not piece:
            raise ClientGone
        self._held += piece


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """The target of a client; `host` as the client wrote it. `accepted` is the answer on connection, `onward`
    the first bytes to the host, `body` how many bytes of the client may follow; None for a tunnel."""

    host: str
    port: int
    accepted: bytes = b""
    onward: bytes = b""
    body: int | None = None


class Exchange(Protocol):
    """One conversation with a client, up to its being connected or refused."""

    name: str
    """The protocol, for the audit."""

    async def read(self, stream: ClientStream) -> ProxyRequest:
        """Read what the client wants. Raises Refusal, ClientGone."""

    def refused(self, refusal: Refusal) -> bytes:
        """Return the answer that says why it is not connected."""
