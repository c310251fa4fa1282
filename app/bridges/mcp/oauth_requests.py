"""Requests of a sign-in: to the MCP server, and to the servers that it names.

Owns: which of these addresses may be reached, and the bounds of an answer. Never: what is asked.
The names of authorization servers come from a server that nobody vouches for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import httpx2

from app.bridges.network.exchange import Refusal
from app.bridges.network.web_client import WebClient
from app.bridges.network.web_target import WebRequest, WebTarget
from app.cages.address_vetting import literal_address
from app.config import Proxies

REQUEST_SECONDS = 30.0
_MOST_BYTES = 1024 * 1024
_OWN_HEADERS = frozenset({"host", "accept-encoding", "content-length", "connection", "transfer-encoding"})
_BODY_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding"})


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine by its name or address alone."""
    address = literal_address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def is_confidential(target: WebTarget) -> bool:
    """Tell whether nobody on the way reads what is sent."""
    return target.scheme == "https" or is_loopback(target.host)


def host_and_port(text: str) -> str:
    """Return `HOST[:PORT]` in its one spelling; without a port it is that of https. Raises ValueError."""
    target = WebTarget.parse(f"https://{text}")
    if target.path != "/":
        raise ValueError("write HOST or HOST:PORT")
    return target.place


class SignInTransport(httpx2.AsyncBaseTransport):
    """Carries the requests of one sign-in. Hosts other than the MCP server's own have to be on the open
    internet, unless the operator has allowed them (`allowed`, each as `host_and_port` returns it); a server
    on this machine may also name others on this machine. Raises Refusal."""

    def __init__(self, url: str, allowed: Collection[str] = ()) -> None:
        self._server = WebTarget.parse(url)
        self._allowed = frozenset(allowed)
        self._direct = WebClient()
        self._client = WebClient(Proxies.of_environment())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        target = _parsed(str(request.url))
        own = (target.scheme, target.host, target.port) == (
            self._server.scheme,
            self._server.host,
            self._server.port,
        )
        asked = WebRequest(
            target,
            _MOST_BYTES,
            request.method,
            {name: value for name, value in request.headers.items() if name.lower() not in _OWN_HEADERS},
            await request.aread() or None,
            private=own or self._is_allowed(target),
        )
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                answer = await (self._direct if own else self._client).exchange(asked)
        except TimeoutError:
            raise Refusal("no_answer", f"`{target.place}` did not answer in {REQUEST_SECONDS:g} s") from None
        headers = {name: value for name, value in answer.headers.items() if name not in _BODY_HEADERS}
        return httpx2.Response(answer.status, headers=headers, content=answer.body)

    def _is_allowed(self, target: WebTarget) -> bool:
        if is_loopback(target.host) and is_loopback(self._server.host):
            return True
        return target.place in self._allowed


def _parsed(url: str) -> WebTarget:
    try:
        target = WebTarget.parse(url)
    except ValueError as problem:
        raise Refusal("malformed", f"an address of the sign-in cannot be used: {problem}") from None
    if not is_confidential(target):
        raise Refusal("not_public", f"`{target.place}` is named with http; a sign-in needs https")
    return target
