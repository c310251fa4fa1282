"""What the client of a proxy sends before it is connected, piece by piece.

Owns: reading up to a mark or a length, and what was read beyond. Never: deadlines; they are the caller's.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from app.bridges.network.refusal import Refusal

_PIECE = 4096


class ClientGone(Exception):
    """The client closed the connection before it had said what it wants."""


class ClientStream:
    """A connected socket that does not block."""

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
        """Take that many bytes. Raises ClientGone."""
        while len(self._held) < count:
            await self._more()
        taken, self._held = self._held[:count], self._held[count:]
        return taken

    async def until(self, mark: bytes, limit: int, check: Callable[[bytes], None]) -> bytes:
        """Take everything up to `mark`, which is left out. `check` is given what has come so far, so that
        what is wrong anyway is not waited for. Raises ClientGone, Refusal `too_large` above `limit`."""
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
        """Take what was read beyond."""
        taken, self._held = self._held, b""
        return taken

    async def send(self, answer: bytes) -> None:
        """Send all of `answer`."""
        await self._loop.sock_sendall(self._client, answer)

    async def _more(self) -> None:
        piece = await self._loop.sock_recv(self._client, _PIECE)
        if not piece:
            raise ClientGone
        self._held += piece
