"""Network connections with limits, before a client is identified.

Owns: how many are open, how long a request may take to arrive, how much is buffered for a slow client, and
the close code of a WebSocket. Never: requests or frames, or who may send them (`api.access_middleware`).
"""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
from contextlib import suppress
from typing import Any, ClassVar

from h11._connection import DEFAULT_MAX_INCOMPLETE_EVENT_SIZE
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import State

from app.api.close_codes import CLOSE_INTERNAL, CLOSE_TOO_SLOW
from app.bridges.processes.tcp_peers import PEER_KEY, Peer
from app.strict_http import StrictConnection

log = logging.getLogger("kaged.daemon")

MAX_CONNECTIONS = 1_000
HEAD_SECONDS = 20.0
"""From the opening of a connection, or the end of a request on it, to a whole next request head."""

LEAVING_SECONDS = 10.0
STOPPING_SECONDS = 1.5
"""How long a client may take to read the rest of a closing WebSocket, usually and while the daemon stops."""

QUIET_SECONDS = 10.0
"""Between two lines of the log about refused connections."""

_LACKS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_DESCRIPTORS = 8_192
"""Enough for all connections, the databases, the watched folders and the files of running tools."""


def raise_descriptor_limit() -> None:
    """Allow this process as many open files as it may need; many systems begin with 1,024 or less."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(_DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # then it stays as the operator has it
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def tell_lack_of_descriptors_once() -> None:
    """Log at most once in `QUIET_SECONDS` that the loop cannot accept a connection, instead of a traceback
    each time."""
    quiet_until = 0.0

    def report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal quiet_until
        problem = context.get("exception")
        if _accepts_after_the_end(context):
            return
        if not (isinstance(problem, OSError) and problem.errno in _LACKS and "socket" in context):
            loop.default_exception_handler(context)
        elif loop.time() >= quiet_until:
            quiet_until = loop.time() + QUIET_SECONDS
            log.error("new connections cannot be accepted: %s; open connections continue", problem.strerror)

    asyncio.get_running_loop().set_exception_handler(report)


def _accepts_after_the_end(context: dict[str, Any]) -> bool:
    """Tell whether the loop fails to listen again on a socket that a stop has closed meanwhile. After a lack
    of descriptors it tries that once for each place in the queue of connections: thousands of times."""
    callback = getattr(context.get("handle"), "_callback", None)
    return isinstance(context.get("exception"), ValueError) and (
        getattr(callback, "__name__", None) == "_start_serving"
    )


class BoundedHttp(H11Protocol):
    """HTTP/1.1 with limits: of connections, and of the time for a request head."""

    per_address: ClassVar[int | None] = None
    _quiet_until: ClassVar[list[float]] = [0.0]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.app_state = {**self.app_state, PEER_KEY: Peer()}  # one for all requests of this connection
        largest = self.config.h11_max_incomplete_event_size
        self.conn = StrictConnection(DEFAULT_MAX_INCOMPLETE_EVENT_SIZE if largest is None else largest)
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
        """Return how many connections its address has, WebSockets included."""
        if self.client is None:
            return 0
        address = self.client[0]
        clients = (getattr(connection, "client", None) for connection in self.connections)
        return sum(client is not None and client[0] == address for client in clients)

    def _refuse(self, words: str, limit: int) -> None:
        self.transport.abort()
        now = self.loop.time()
        if now >= self._quiet_until[0]:
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


class _SocketTransport(asyncio.Transport):
    """A WebSocket's connection whose client always gets a close frame.

    Closing a socket with unread bytes resets the connection, and the client loses the close frame. So only
    the sending half is closed, and input is dropped until the client closes its half, or is late.
    """

    def __init__(self, inner: asyncio.Transport, protocol: BoundedWebSocket) -> None:
        super().__init__()
        self._inner = inner
        self._loop = protocol.loop
        self._conn = protocol.conn
        self._seconds: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.leaving = False

    def close(self) -> None:
        """Close the connection as soon as the client has everything; at the latest after a while."""
        if self.is_closing():
            return
        if self._conn.state is State.OPEN:
            self._conn.send_close(CLOSE_INTERNAL)
            self.write(b"".join(self._conn.data_to_send()))
        self.leaving = True
        self._expect_end()
        if self._conn.close_rcvd is not None:  # it sends no more
            self._inner.close()
        else:
            self._inner.write_eof()
            self._inner.resume_reading()

    def hurry(self) -> None:
        """Wait for the client only as long as the stop of the daemon allows."""
        self._seconds = STOPPING_SECONDS
        if self.leaving:
            self._expect_end()

    def _expect_end(self) -> None:
        self.gone()
        seconds = LEAVING_SECONDS if self._seconds is None else self._seconds
        self._timer = self._loop.call_later(seconds, self._inner.abort)

    def gone(self) -> None:
        """Forget the deadline: the connection has ended."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def is_closing(self) -> bool:
        return self.leaving or self._inner.is_closing()

    def abort(self) -> None:
        self._inner.abort()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self.is_closing():
            self._inner.write(data)

    def pause_reading(self) -> None:
        if not self.is_closing():
            self._inner.pause_reading()

    def resume_reading(self) -> None:
        self._inner.resume_reading()

    def get_write_buffer_size(self) -> int:
        return self._inner.get_write_buffer_size()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._inner.get_extra_info(name, default)


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket that answers pings only as fast as its client reads, and always ends with a close code."""

    transport: _SocketTransport
    _held_pong = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert isinstance(transport, asyncio.Transport)
        self.transport = _SocketTransport(transport, self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport.gone()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if not self.transport.leaving:
            super().data_received(data)

    def shutdown(self) -> None:
        self.transport.hurry()
        if self.handshake_complete and self.conn.state is not State.OPEN:
            self.close_sent = True  # the client was the first to say so, and reads the answer slowly
        super().shutdown()

    async def send(self, message: Any) -> None:
        """Send a message of the application. A close frame is queued at once."""
        if message["type"] == "websocket.close" and self.handshake_complete:
            self.writable.set()
        await self.writable.wait()
        if self.close_sent and message["type"] == "websocket.send":
            raise ClientDisconnected
        await super().send(message)

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

    def keepalive_timeout(self) -> None:
        """Close the connection of a client that answers no ping; one that does not read is too slow."""
        if not self.writable.is_set() and not self.close_sent and not self.transport.is_closing():
            self.conn.fail(CLOSE_TOO_SLOW, "too_slow")
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.close_sent = True
            self.transport.close()
        super().keepalive_timeout()

    def handle_parser_exception(self) -> None:
        if self.conn.close_sent is None:  # frames that came before the handshake was answered
            self.transport.abort()
            return
        super().handle_parser_exception()
