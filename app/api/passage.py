"""One request on its way to the daemon that owns its project, and the answer on its way back.

Owns: what a proxy does: the body and the answer as streams, the headers of a proxy, the client that leaves.
Never: which requests are passed on (`project_owner`), or the connection to the owner (`daemon/forwarding`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, NoReturn

from starlette.datastructures import Headers as ReadHeaders
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import Receive, Scope, Send

from app.api.access_rules import NONCE_HEADER, USER_HEADER
from app.api.attendance import ClientLeft, attended, until_gone
from app.api.base_path import base_path_of
from app.api.error_handlers import REQUEST_ID_KEY
from app.bridges.network.daemon_client import (
    FORWARDED_HEADER,
    REQUEST_ID_HEADER,
    Headers,
    Outgoing,
    passed_on,
)
from app.bridges.processes.tcp_peers import Address
from app.daemon.services import Services
from app.errors import NotFound, Unavailable

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger("kaged.api")

_BY_THIS_SERVER = frozenset({b"date", b"server"})


def credentials_of(connection: HTTPConnection, secret: str | None) -> Headers:
    """Return the headers with which a client that is connected here, also by a WebSocket, sends a command to
    another daemon (`Forwarding.command`). `secret` is what it was let in with."""
    headers = connection.headers
    kept = [
        (name.encode(), headers[name].encode("latin-1"))
        for name in ("host", USER_HEADER, NONCE_HEADER)
        if name in headers
    ]
    if secret is not None:
        kept.append((b"authorization", f"Bearer {secret}".encode()))
    return [*kept, (FORWARDED_HEADER, _ends(connection.scope))]


class Passage:
    """One request on its way to the owner, and the answer on its way back."""

    def __init__(
        self, services: Services, project_id: str, url: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        forwarding = services.decisions.forwarding
        assert forwarding is not None
        self._forwarding, self._project_id, self._url = forwarding, project_id, url
        self._scope, self._receive, self._send = scope, receive, send
        self._read = asyncio.Event()
        self._started = False

    async def carry(self) -> None:
        """Raises `Unavailable`, `ClientDisconnect`, and what is wrong with the body."""
        sized = any(name in (b"content-length", b"transfer-encoding") for name, _ in self._scope["headers"])
        body = self._body() if sized else None
        if body is None:
            self._read.set()
        outgoing = Outgoing(
            self._project_id, self._scope["method"], _target(self._scope), _headers(self._scope), body
        )
        try:
            moved = self._forwarding.until_moved(outgoing, self._url)
            await attended(self._exchange(outgoing), self._left(), moved)
        except ClientLeft:
            raise ClientDisconnect from None
        except Unavailable as problem:
            if not self._started:
                raise
            self._break_off(problem.message)

    async def _exchange(self, outgoing: Outgoing) -> None:
        async with self._forwarding.exchange(self._url, outgoing) as answer:
            headers = [one for one in passed_on(answer.headers.raw) if one[0] not in _BY_THIS_SERVER]
            start = {"type": "http.response.start", "status": answer.status_code, "headers": headers}
            self._started = True
            await self._send(start)
            async for piece in self._pieces(answer):
                await self._send({"type": "http.response.body", "body": piece, "more_body": True})
            await self._send({"type": "http.response.body", "body": b""})

    async def _pieces(self, answer: httpx2.Response) -> AsyncIterator[bytes]:
        import httpx2

        try:
            async for piece in answer.aiter_raw():
                yield piece
        except httpx2.TransportError as problem:
            self._break_off(problem)

    def _break_off(self, reason: object) -> NoReturn:
        log.warning("the answer of the daemon at %s breaks off: %s", self._url, reason)
        raise ClientDisconnect from None  # no status can be sent any more; the rest stays away

    async def _body(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            more = message.get("more_body", False)
            if message.get("body"):
                yield message["body"]
        self._read.set()

    async def _left(self) -> None:
        await self._read.wait()
        await until_gone(self._receive)


def _target(scope: Scope) -> bytes:
    """Return path and query below the base path, as the client wrote them."""
    path = bytes(scope["raw_path"]).removeprefix(base_path_of(scope).encode())
    if {".", ".."} & set(scope["path"].split("/")):
        raise NotFound(f"There is nothing at {scope['path']}.", reason="no_such_route")
    query: bytes = scope["query_string"]
    return path + b"?" + query if query else path


def _headers(scope: Scope) -> Headers:
    """Return the headers of a request as a proxy passes them on, with the mark of one."""
    ours = {
        FORWARDED_HEADER: _ends(scope),
        REQUEST_ID_HEADER: str(scope[REQUEST_ID_KEY]).encode(),
    }
    headers = [one for one in passed_on(scope["headers"]) if one[0] not in ours]
    given = dict(headers)
    client = scope.get("client")
    if client is not None:
        before = [value for name, value in headers if name == b"x-forwarded-for"]
        headers = [one for one in headers if one[0] != b"x-forwarded-for"]
        headers.append((b"x-forwarded-for", b", ".join([*before, client[0].encode()])))
    if b"x-forwarded-proto" not in given:
        headers.append((b"x-forwarded-proto", scope["scheme"].encode()))
    if b"x-forwarded-host" not in given and b"host" in given:
        headers.append((b"x-forwarded-host", given[b"host"]))
    return [*headers, *ours.items()]


def _ends(scope: Scope) -> bytes:
    """Return the two ends of the client's connection."""
    ends = [scope.get(end) for end in ("client", "server")]
    return " ".join(f"{end[0]} {end[1]}" for end in ends if end is not None).encode() or b"unknown"


def is_forwarded(scope: Scope) -> bool:
    """Tell whether another daemon has passed this request on."""
    return any(name == FORWARDED_HEADER for name, _ in scope["headers"])


def clients_ends(scope: Scope) -> tuple[Address, Address] | None:
    """Return the two ends of the client's connection to the daemon that has passed this request on: the
    client's and that daemon's. None when nobody says."""
    words = ReadHeaders(scope=scope).get(FORWARDED_HEADER.decode(), "").split(" ")
    if len(words) != 4 or not (words[1].isdecimal() and words[3].isdecimal()):
        return None
    return (words[0], int(words[1])), (words[2], int(words[3]))
