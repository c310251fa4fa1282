"""The proxy of one cage: the only way out of its network namespace.

Owns: accepting, the order of checks, bounds of connections and time. Never: making the listening socket,
which is made inside the namespace.

One socket speaks HTTP and SOCKS 5; the first byte decides. A name is checked against the rules of the cage
before it is resolved.
Keeps S7 of docs/security.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
from dataclasses import dataclass

from app.bridges.network import socks_exchange
from app.bridges.network.dialling import Dialled, Dialler
from app.bridges.network.exchange import ClientGone, ClientStream, Exchange, ProxyRequest, Refusal
from app.bridges.network.http_exchange import HttpExchange
from app.bridges.network.relay import HALF_OPEN_SECONDS, IDLE_SECONDS, Buffers, Relay
from app.bridges.network.socks_exchange import SocksExchange
from app.bridges.network.traffic_record import TrafficRecord
from app.bridges.processes.audit import Emit
from app.cages.network_rules import NetworkRules, NumericHost, host_name

log = logging.getLogger("kaged.cages")

_NO_ROOM = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_PASSING = frozenset({errno.ECONNABORTED, errno.EINTR, errno.EPROTO, errno.EPERM, errno.ENETDOWN})
_PAUSE_SECONDS = 0.5
_MAX_LINGER = 256 * 1024


@dataclass(frozen=True, slots=True)
class ProxyLimits:
    """Bounds of one cage's connections; times in seconds. `at_once` new ones are taken as fast as they
    come, more only at `a_second`: a cage that does nothing but knock costs the daemon little."""

    connections: int = 64
    at_once: int = 200
    a_second: float = 200.0
    request_seconds: float = 15.0
    onward_seconds: float = 30.0
    linger_seconds: float = 1.0
    idle_seconds: float = IDLE_SECONDS
    half_open_seconds: float = HALF_OPEN_SECONDS


class CageProxy:
    """Serves `listener`, a listening TCP socket that the proxy closes. It must be made before anything of the
    cage runs, and be shared with no one: a sharer could make it block. `emit` records audit events."""

    def __init__(
        self,
        listener: socket.socket,
        rules: NetworkRules,
        *,
        dialler: Dialler | None = None,
        emit: Emit | None = None,
        limits: ProxyLimits = ProxyLimits(),
    ) -> None:
        if listener.type != socket.SOCK_STREAM or listener.family not in (socket.AF_INET, socket.AF_INET6):
            raise ValueError("the proxy needs a TCP socket")
        if not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            raise ValueError("the proxy needs a socket that listens")
        listener.setblocking(False)
        self._listener = listener
        self._rules = rules
        self._dialler = dialler or Dialler()
        self._record = TrafficRecord(emit)
        self._limits = limits
        self._buffers = Buffers()
        self._room = asyncio.Semaphore(limits.connections)
        self._due = 0.0
        self._serving: asyncio.Task[None] | None = None

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def start(self) -> None:
        self._serving = asyncio.create_task(self._serve(), name=f"proxy {self.port}")

    async def aclose(self) -> None:
        """Close every connection, and record the traffic."""
        serving, self._serving = self._serving, None
        if serving is not None:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
            self._record.close()
        self._listener.close()

    async def _serve(self) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                await self._room.acquire()
                await self._pace()
                client = await self._accepted()
                if client is None:
                    return
                group.create_task(self._serve_one(client), name="connection out of a cage")

    async def _pace(self) -> None:
        """Wait until another connection may be taken."""
        now, each = asyncio.get_running_loop().time(), 1 / self._limits.a_second
        self._due = max(self._due, now - self._limits.at_once * each) + each
        if self._due > now:
            await asyncio.sleep(self._due - now)

    async def _accepted(self) -> socket.socket | None:
        """Wait for a connection; None when the socket is of no use any more."""
        while True:
            try:
                client, _ = await asyncio.get_running_loop().sock_accept(self._listener)
            except OSError as problem:
                if problem.errno in _NO_ROOM:
                    await asyncio.sleep(_PAUSE_SECONDS)
                elif problem.errno not in _PASSING:
                    log.error("the proxy of a cage accepts nothing any more: %s", problem)
                    return None
            else:
                return client

    async def _serve_one(self, client: socket.socket) -> None:
        try:
            with client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await self._converse(client)
        except (ClientGone, OSError):
            pass  # the client is gone
        except Exception:  # one strange connection must not take the others with it
            log.exception("a connection out of a cage failed")
        finally:
            self._room.release()

    async def _converse(self, client: socket.socket) -> None:
        stream = ClientStream(client)
        exchange: Exchange = HttpExchange()
        request: ProxyRequest | None = None
        try:
            try:
                async with asyncio.timeout(self._limits.request_seconds):
                    if await stream.first() == socks_exchange.VERSION:
                        exchange = SocksExchange()
                    request = await exchange.read(stream)
            except TimeoutError:
                raise Refusal("too_slow", "the request did not come in time") from None
            host = self._allowed(request)
            dialled = await self._dialler.dial(host, request.port)
        except Refusal as refusal:
            host, port = (request.host, request.port) if request is not None else ("", None)
            self._record.refused(exchange.name, host, port, refusal.kind)
            await self._refuse(client, exchange.refused(refusal))
            return
        with dialled.socket:
            self._record.connected(exchange.name, host, request.port, dialled.address)
            await self._carry(client, stream, request, host, dialled)

    def _allowed(self, request: ProxyRequest) -> str:
        """Return the one spelling of the host's name. Raises Refusal unless the cage allows it."""
        try:
            host = host_name(request.host)
        except NumericHost as problem:
            raise Refusal("numeric", str(problem)) from None
        except ValueError as problem:
            raise Refusal("malformed", str(problem)) from None
        if not self._rules.allows(host, request.port):
            raise Refusal(
                "not_allowed",
                f"this cage does not allow {host}:{request.port}; {self._rules.in_words()}",
            )
        return host

    async def _carry(
        self, client: socket.socket, stream: ClientStream, request: ProxyRequest, host: str, dialled: Dialled
    ) -> None:
        early, limit = stream.rest(), request.body
        if limit is not None:
            early = early[:limit]
            limit -= len(early)
        first = request.onward + early
        relay = Relay(
            client,
            dialled.socket,
            self._buffers,
            upload_limit=limit,
            idle_seconds=self._limits.idle_seconds,
            half_open_seconds=self._limits.half_open_seconds,
        )
        loop = asyncio.get_running_loop()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._limits.onward_seconds):
                    await stream.send(request.accepted)
                    await loop.sock_sendall(dialled.socket, first)
                await relay.run()
        finally:
            self._record.carried(host, request.port, len(first) + relay.sent, relay.received)

    async def _refuse(self, client: socket.socket, answer: bytes) -> None:
        """Send the answer and wait a moment for the client to read it: closing with bytes unread would
        take it away from under its eyes."""
        loop = asyncio.get_running_loop()
        left = _MAX_LINGER
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limits.linger_seconds):
                await loop.sock_sendall(client, answer)
                client.shutdown(socket.SHUT_WR)
                while left > 0 and (piece := await loop.sock_recv(client, 16 * 1024)):
                    left -= len(piece)


HERE = "localhost,127.0.0.1,::1"
"""Never asked of the proxy: in a cage it is the cage itself."""


def proxy_variables(port: int) -> dict[str, str]:
    """Return the environment for a proxy at the loopback's `port`. `ALL_PROXY` names HTTP, too: common
    libraries fail on a SOCKS address without an extra package. The port also speaks SOCKS 5
    (`socks5h://127.0.0.1:PORT`)."""
    address = f"http://127.0.0.1:{port}"
    variables = {"HTTP_PROXY": address, "HTTPS_PROXY": address, "ALL_PROXY": address, "NO_PROXY": HERE}
    return {
        **variables,
        **{name.lower(): value for name, value in variables.items()},
        "NODE_USE_ENV_PROXY": "1",
    }
