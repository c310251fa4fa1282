"""MCP servers over HTTP that do harm: too much, too slow, never at an end, somewhere else."""

from __future__ import annotations

import asyncio
import resource
import zlib
from collections.abc import AsyncIterator

import pytest

from app.bridges.mcp.entries import ServerEntry
from app.bridges.mcp.limits import MEGABYTE, MessageLimits
from app.bridges.processes.supervised_child import Unavailable
from tests.bridges.mcp.conftest import Bench, Open
from tests.fakes.web_server import Page, WebServer, answer, redirect, web_server

pytestmark = pytest.mark.requirement("mcp.client.hostile")

GIGABYTE = 1_000_000_000
KEY = "secret-of-the-server"
SMALL = MessageLimits(line_bytes=4 * MEGABYTE)


@pytest.fixture
async def server() -> AsyncIterator[WebServer]:
    async with web_server() as found:
        yield found


@pytest.fixture
async def inner() -> AsyncIterator[WebServer]:
    async with web_server("127.0.0.2") as found:
        yield found


async def refused(it: Bench, server: WebServer, page: Page) -> str:
    """Have a server answer everything with `page`; return why it cannot be used."""
    server.pages["/mcp"] = page
    entry = ServerEntry("far", "config", url=server.url("/mcp"), headers={"X-Key": KEY})
    with pytest.raises(Unavailable) as ended:
        await it.servers.listing("prj_1", it.root, entry)
    return str(ended.value)


@pytest.mark.parametrize("status", ["302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
@pytest.mark.parametrize("to", ["{inner}", "http://169.254.169.254/latest/meta-data/"])
async def test_a_redirect_to_another_host_is_not_followed_and_gets_no_header(
    bench: Open, server: WebServer, inner: WebServer, status: str, to: str
) -> None:
    async with bench() as it:
        reason = await refused(it, server, redirect(to.format(inner=inner.url("/mcp")), status))
    assert inner.connections == 0
    assert server.requests[0].headers["x-key"] == KEY
    assert KEY not in reason


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br"])
async def test_a_compressed_answer_is_never_unpacked(bench: Open, server: WebServer, encoding: str) -> None:
    packed = zlib.compressobj(9, wbits={"gzip": 31, "deflate": 15, "br": 31}[encoding])
    bomb = b"".join(packed.compress(b" " * 1_000_000) for _ in range(300)) + packed.flush()
    assert len(bomb) < 2 * MEGABYTE
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with bench() as it:
        await refused(it, server, answer(bomb, Content_Encoding=encoding, Content_Type="application/json"))
    assert server.requests[0].headers["accept-encoding"] == "identity"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 100 * 1024  # kilobytes


@pytest.mark.parametrize("media_type", ["application/json", "text/event-stream"])
async def test_an_answer_of_a_gigabyte_is_left_at_the_limit(
    bench: Open, server: WebServer, media_type: str
) -> None:
    async def page(_request: object, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\n\r\n".encode())
        await server.pour(writer, b"data" * 16_384, GIGABYTE // 65_536)

    async with bench(messages=SMALL) as it:
        await refused(it, server, page)
        await asyncio.wait_for(server.left.wait(), 30)
    assert server.sent < 60_000_000


@pytest.mark.parametrize("piece", [b"", b" "], ids=["silent", "drips"])
async def test_a_server_that_never_ends_its_answer_is_given_up(
    bench: Open, server: WebServer, piece: bytes
) -> None:
    async def page(_request: object, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        await server.pour(writer, piece, 10_000, pause=0.05)

    async with bench(start_seconds=1.0) as it:
        assert "did not answer within 1 s" in await refused(it, server, page)
