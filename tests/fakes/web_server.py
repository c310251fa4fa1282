"""A web server on a real port whose pages are bytes, written as a page's function likes: it can break HTTP.

Owns: the connection, the head of each request, and counts. Never: being well-behaved by itself.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


Page = Callable[[Request, asyncio.StreamWriter], Awaitable[None]]


def answer(body: bytes | str = b"", status: str = "200 OK", *, length: bool = True, **headers: str) -> Page:
    """Return a page. Underscores in names of headers stand for hyphens."""
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if length:
        lines.append(f"Content-Length: {len(content)}")
    head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"

    async def page(_request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(head + content)
        await writer.drain()

    return page


def redirect(to: str, status: str = "302 Found") -> Page:
    return answer(b"", status, Location=to)


def html(body: str, **headers: str) -> Page:
    return answer(body, **{"Content_Type": "text/html; charset=utf-8", **headers})


@dataclass
class WebServer:
    """`pages` by path without the query. `sent` counts the bytes that pages have written in pieces; `left` is
    set when a client has closed its connection before the page was done."""

    host: str
    port: int = 0
    pages: dict[str, Page] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    sent: int = 0
    serving: set[asyncio.Task[None]] = field(default_factory=set)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def place(self) -> str:
        return f"{self.host}:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.place}{path}"

    async def pour(self, writer: asyncio.StreamWriter, piece: bytes, times: int, pause: float = 0.0) -> None:
        """Write `piece` again and again, until the client leaves."""
        try:
            for _ in range(times):
                writer.write(piece)
                await writer.drain()
                self.sent += len(piece)
                if pause:
                    await asyncio.sleep(pause)
        except ConnectionError:
            self.left.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self.serving.add(task)
        try:
            request = await _request(reader)
            self.requests.append(request)
            self.asked.set()
            page = self.pages.get(request.target.partition("?")[0], answer(b"none", "404 Not Found"))
            await page(request, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.left.set()
        finally:
            self.serving.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


async def _request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, target, headers, body)


@asynccontextmanager
async def web_server(
    host: str = "127.0.0.1", port: int = 0, *, encrypted: ssl.SSLContext | None = None
) -> AsyncIterator[WebServer]:
    web = WebServer(host)
    server = await asyncio.start_server(web.serve, host, port, ssl=encrypted)
    web.port = server.sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        server.close()
        for task in web.serving:
            task.cancel()
        await asyncio.gather(*web.serving, return_exceptions=True)
        await server.wait_closed()
