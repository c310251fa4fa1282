"""One HTTP exchange with a host that nobody vouches for.

Owns: the connection to a vetted address or by a proxy, the bounds of head and body, decompression. Never:
redirects, deadlines, or what a body means.

A name is resolved once, each of its addresses is vetted, and the connection goes to a vetted address: a
second answer of the resolver is never asked for.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

import httpcore2
import httpx2

from app.bridges.network.dialling import Dialler, Resolve, Vet, why_not_dialled
from app.bridges.network.exchange import Refusal
from app.bridges.network.resolving import SystemResolver
from app.bridges.network.web_target import WebAnswer, WebRequest, WebTarget, default_port
from app.cages.address_vetting import Address, is_metadata, literal_address, why_not_public
from app.config import Proxies

CONNECT_SECONDS = 5.0
LOOKUPS_AT_ONCE = 32
"""For all sessions: a lookup that hangs keeps its thread, and must not keep the names of others waiting."""
_METADATA = "a cloud's metadata service"
_METADATA_NAMES = frozenset(
    {"metadata.google.internal", "metadata.goog", "metadata", "instance-data", "instance-data.ec2.internal"}
)
_ENCODINGS = {"gzip": 47, "x-gzip": 47, "deflate": 47}
_GZIP = b"\x1f\x8b"


class WebClient:
    """Makes exchanges, each on a connection of its own. `resolve` looks names up, `vet` returns the problem
    with an address."""

    def __init__(
        self, proxies: Proxies | None = None, *, resolve: Resolve | None = None, vet: Vet = why_not_dialled
    ) -> None:
        self._proxies = proxies or Proxies()
        self._resolve = resolve or SystemResolver(at_once=LOOKUPS_AT_ONCE)
        self._vet = vet
        self._encrypted: ssl.SSLContext | None = None

    async def exchange(self, request: WebRequest) -> WebAnswer:
        """Send a request and return the answer, redirects included. Raises Refusal."""
        target = request.target
        proxy = self._proxy_of(request)
        if proxy is not None and (problem := _why_not_proxied(request)) is not None:
            raise Refusal(
                "not_public", f"`{target.host}` is {problem}; only hosts of the open internet are reached"
            )
        dialler = Dialler(resolve=self._resolve, vet=_vet_metadata if request.private else self._vet)
        backend = _VettedBackend(target, dialler)
        pool = httpcore2.AsyncConnectionPool(
            ssl_context=await self._tls(target, proxy),
            proxy=_proxy(proxy) if proxy is not None else None,
            max_connections=1,
            http1=True,
            network_backend=httpcore2.AnyIOBackend() if proxy is not None else backend,
        )
        try:
            async with pool:
                return await _exchanged(pool, request, backend)
        except httpcore2.RemoteProtocolError as problem:
            raise Refusal(
                "malformed", f"`{target.host}` does not answer in HTTP: {_words(problem)}"
            ) from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError, OSError) as problem:
            raise Refusal("unreachable", f"`{target.place}` cannot be reached: {_words(problem)}") from None
        except httpcore2.TimeoutException:
            raise Refusal("no_answer", f"`{target.place}` did not answer") from None

    def _proxy_of(self, request: WebRequest) -> str | None:
        target = request.target
        proxy = self._proxies.of(target.scheme, target.host, target.port)
        if proxy is None or (request.private and _is_here(target.host)):
            return None
        if urlsplit(proxy).scheme not in {"http", "https"}:
            raise Refusal("unsupported", "the proxy of the daemon's environment is no HTTP proxy")
        return proxy

    async def _tls(self, target: WebTarget, proxy: str | None) -> ssl.SSLContext | None:
        if target.scheme == "http" and not (proxy or "").startswith("https:"):
            return None
        if self._encrypted is None:
            # Loading the certificates takes tens of milliseconds: not on the loop.
            self._encrypted = await asyncio.to_thread(httpx2.create_ssl_context)
        return self._encrypted


class _VettedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to the one target of a request, at an address that is vetted."""

    def __init__(self, target: WebTarget, dialler: Dialler) -> None:
        self._target = target
        self._dialler = dialler
        self._system = httpcore2.AnyIOBackend()
        self.address: Address | None = None

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        if (host, port) != (self._target.host, self._target.port):
            raise Refusal("not_public", "the client wants to connect to another host")
        addresses = await self._dialler.addresses(host)
        for address in addresses[:-1]:
            try:
                return await self._connected(address, CONNECT_SECONDS, socket_options)
            except (httpcore2.NetworkError, httpcore2.TimeoutException):
                continue
        return await self._connected(addresses[-1], timeout, socket_options)

    async def _connected(
        self, address: Address, timeout: float | None, options: Iterable[Any] | None
    ) -> httpcore2.AsyncNetworkStream:
        stream = await self._system.connect_tcp(
            str(address), self._target.port, timeout=timeout, socket_options=options
        )
        self.address = address
        return stream


async def _exchanged(
    pool: httpcore2.AsyncConnectionPool, request: WebRequest, backend: _VettedBackend
) -> WebAnswer:
    target = request.target
    url = httpcore2.URL(
        scheme=target.scheme.encode(),
        host=target.host.encode(),
        port=None if target.port == default_port(target.scheme) else target.port,
        target=target.path.encode("ascii"),
    )
    headers = [(b"Host", target.authority.encode("ascii")), (b"Accept-Encoding", b"gzip, deflate")]
    headers += [(name.encode("ascii"), value.encode("ascii")) for name, value in request.headers.items()]
    async with pool.stream(request.method, url, headers=headers, content=request.body) as response:
        found: dict[str, str] = {}
        for name, value in response.headers:
            found.setdefault(name.decode("ascii").lower(), value.decode("latin-1").strip())
        body = await _body(response.aiter_stream(), found, request.most)
        return WebAnswer(response.status, found, body, backend.address)


async def _body(chunks: AsyncIterator[bytes], headers: Mapping[str, str], most: int) -> bytes:
    """Return the whole body. Raises Refusal `too_large` as soon as it is known to be."""
    length = headers.get("content-length", "")
    if length.isascii() and length.isdigit() and len(length) < 20 and int(length) > most:
        raise _too_large(most)
    encoding = headers.get("content-encoding", "").lower()
    inflater: _Inflater | None = None
    if encoding not in {"", "identity"}:
        if encoding not in _ENCODINGS:
            raise Refusal(
                "unsupported", f"the body is compressed with {encoding[:40]!r}, which was not asked for"
            )
        inflater = _Inflater(most)
    body = bytearray()
    received = 0
    async for chunk in chunks:
        received += len(chunk)
        if received > most:
            raise _too_large(most)
        body += chunk if inflater is None else inflater.feed(chunk)
        if len(body) > most:
            raise _too_large(most)
    return bytes(body)


class _Inflater:
    """Decompresses gzip and deflate, never to more than one byte above `most`."""

    def __init__(self, most: int) -> None:
        self._left = most + 1
        self._engine = zlib.decompressobj(47)
        self._raw = False
        self._begun = False
        self._over = False

    def feed(self, data: bytes) -> bytes:
        """Return what `data` adds. Raises Refusal."""
        out = bytearray()
        while data and self._left > 0 and not self._over:
            piece, data = self._step(data)
            out += piece
            self._left -= len(piece)
            if self._engine.eof:
                # A gzip file may have several members.
                self._over = self._raw or not data.startswith(_GZIP)
                self._engine = zlib.decompressobj(47)
        return bytes(out)

    def _step(self, data: bytes) -> tuple[bytes, bytes]:
        try:
            piece = self._engine.decompress(data, self._left)
        except zlib.error:
            if self._begun or self._raw:
                raise Refusal("malformed", "the body cannot be decompressed") from None
            # `deflate` without the wrapper, as some servers send it.
            self._raw, self._engine = True, zlib.decompressobj(-15)
            return b"", data
        self._begun = True
        return piece, self._engine.unused_data if self._engine.eof else self._engine.unconsumed_tail


def _too_large(most: int) -> Refusal:
    return Refusal("too_large", f"the body is larger than {most:,} bytes")


def _vet_metadata(address: Address) -> str | None:
    return _METADATA if is_metadata(address) else None


def _is_here(host: str) -> bool:
    """Tell whether a host is this machine by its name or address alone."""
    address = literal_address(host)
    return host == "localhost" or host.endswith(".localhost") or bool(address and address.is_loopback)


def _why_not_proxied(request: WebRequest) -> str | None:
    """Return the problem with a host that a proxy resolves: only what is written can be vetted."""
    host = request.target.host
    address = literal_address(host)
    if host in _METADATA_NAMES or (address is not None and is_metadata(address)):
        return _METADATA
    if request.private:
        return None
    return "this machine" if _is_here(host) else why_not_public(address) if address is not None else None


def _proxy(address: str) -> httpcore2.Proxy:
    parts = urlsplit(address)
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or ""
    port = parts.port or default_port(parts.scheme)
    login = None if parts.username is None else (unquote(parts.username), unquote(parts.password or ""))
    return httpcore2.Proxy(f"{parts.scheme}://{host}:{port}", auth=login)


def _words(problem: BaseException) -> str:
    """Return a failure in its own words, which may be the server's: short, and without controls."""
    text = str(problem) or type(problem).__name__
    return "".join(one if one.isprintable() else "?" for one in text[:200])
