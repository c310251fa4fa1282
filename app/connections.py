"""Network connections, bounded: what a client costs before anybody knows who it is.

Owns: how many connections are open, how long a request may take to arrive, how much is kept for a
client that does not read. Never: requests or frames themselves (the server's protocols), nor who may
ask (`api.access_middleware`).
"""

from __future__ import annotations

import asyncio
import logging
import resource
from contextlib import suppress
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

log = logging.getLogger("kaged.daemon")

MAX_CONNECTIONS = 1_000
HEAD_SECONDS = 20.0
"""From the opening of a connection, or the end of a request on it, to a whole next request head."""

QUIET_SECONDS = 10.0
"""Between two lines of the log about refused connections."""

_DESCRIPTORS = 8_192
"""Enough for all connections, the databases, the watched folders and the files of running tools."""


def raise_descriptor_limit() -> None:
    """Allow this process as many open files as it may need; many systems begin with 1,024 or less."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(_DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # then it stays as the operator has it
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class BoundedHttp(H11Protocol):
    """HTTP/1.1 for a limited number of clients, each of which must say what it wants in time."""

    per_address: ClassVar[int | None] = None
    _quiet_until: ClassVar[list[float]] = [0.0]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            self._refuse("%d are open", MAX_CONNECTIONS)
            return
        if self.per_address is not None and self._from_its_address() > self.per_address:
            self._refuse("%d are open from its address", self.per_address)
            return
        self._expect_head()

    def _from_its_address(self) -> int:
        """Return how many connections its address has; those that became WebSockets count, too."""
        if self.client is None:
            return 0
        address = self.client[0]
        clients = (getattr(connection, "client", None) for connection in self.connections)
        return sum(client is not None and client[0] == address for client in clients)

    def _refuse(self, words: str, limit: int) -> None:
        self.transport.abort()
        now = self.loop.time()
        if now >= self._quiet_until[0]:  # one line tells it; a thousand would be what the client wants
            self._quiet_until[0] = now + QUIET_SECONDS
            log.warning(f"a connection was refused: {words}", limit)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self._forget_head()
        elif self._head_timer is None:
            self._expect_head()

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def _expect_head(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._head_is_late)

    def _forget_head(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if self.transport.get_protocol() is self and not self._is_answering():
            self.transport.abort()


def bounded_http(per_address: int | None) -> type[BoundedHttp]:
    """Return the protocol for at most `per_address` connections from one address (None: any number)."""
    return type("BoundedHttp", (BoundedHttp,), {"per_address": per_address, "_quiet_until": [0.0]})


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket that answers pings only as fast as its client reads: the newest, once it does."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._held_pong = b""

    def handle_ping(self) -> None:
        pong = b"".join(self.conn.data_to_send())
        if self.writable.is_set():
            self.transport.write(pong)
        else:
            self._held_pong = pong

    def resume_writing(self) -> None:
        super().resume_writing()
        held, self._held_pong = self._held_pong, b""
        if held:
            self.transport.write(held)

    def handle_parser_exception(self) -> None:
        if self.conn.close_sent is None:  # frames that came before the handshake was answered
            self.transport.abort()
            return
        super().handle_parser_exception()
