"""An MCP server behind an address: the library's streamable HTTP with the daemon's bounds.

Owns: the HTTP client of one server. Never: credentials in messages of errors; the conversation.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from mcp.client import Transport
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

from app.bridges.mcp.limits import MessageLimits
from app.bridges.mcp.pipe_transport import with_sound_tools

_CONNECT_SECONDS = 10.0
_SILENCE_SECONDS = 300.0


class HttpTransport:
    """The conversation with the server at `url`."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        limits: MessageLimits,
        auth: httpx2.Auth | None = None,
    ) -> None:
        self._url = url
        self._headers = dict(headers)
        self._limits = limits
        self._auth = auth

    def streams(self) -> Transport:
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[tuple[Any, Any], None]:
        timeout = httpx2.Timeout(_CONNECT_SECONDS, read=_SILENCE_SECONDS)
        # Loading certificates takes tens of milliseconds.
        verify = await asyncio.to_thread(httpx2.create_ssl_context)
        bounded = _Bounded(httpx2.AsyncHTTPTransport(verify=verify), self._limits.line_bytes)
        async with (
            httpx2.AsyncClient(
                headers=self._headers, timeout=timeout, transport=bounded, auth=self._auth
            ) as client,
            streamable_http_client(
                self._url, http_client=client, max_sse_event_size=self._limits.line_bytes
            ) as (read, write),
        ):
            yield _Stripped(read), write


class _Stripped:
    """The library's stream, the lists of tools without schemas of results."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    @property
    def last_context(self) -> contextvars.Context | None:
        """The context of who sent the message that came last; the library looks for it."""
        found: contextvars.Context | None = getattr(self._inner, "last_context", None)
        return found

    async def receive(self) -> SessionMessage | Exception:
        found: SessionMessage | Exception = await self._inner.receive()
        if isinstance(found, SessionMessage) and isinstance(found.message, JSONRPCResponse):
            with_sound_tools({"result": found.message.result})
        return found

    def __aiter__(self) -> _Stripped:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> _Stripped:
        return self

    async def __aexit__(self, *_how: object) -> None:
        await self.aclose()


class _Bounded(httpx2.AsyncBaseTransport):
    """Ends an answer that is longer than allowed. Streams of events have a bound for each event. An answer is
    never unpacked: a few megabytes on the wire could be gigabytes in memory."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, most: int) -> None:
        self._inner = inner
        self._most = most

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["Accept-Encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            await response.aclose()
            raise httpx2.ReadError("the answer is compressed, which was not asked for")
        if "text/event-stream" not in response.headers.get("content-type", "").lower():
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _BoundedStream(response.stream, self._most)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, most: int) -> None:
        self._inner = inner
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        taken = 0
        async for chunk in self._inner:
            taken += len(chunk)
            if taken > self._most:
                raise httpx2.ReadError(f"the answer is longer than the {self._most} bytes allowed")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
