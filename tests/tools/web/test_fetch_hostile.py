"""Servers that attack whoever fetches from them: too much, too slow, never at an end, not what they say."""

from __future__ import annotations

import asyncio
import gzip
import time
import zlib

import pytest

from app.bridges.network.web_client import _Inflater
from app.config import SearchSettings
from app.tools.documents import html as html_documents
from app.tools.web import fetch
from tests.fakes.web_server import answer, html

pytestmark = pytest.mark.requirement("locked.web_fetch.hostile")

BOMB_SECONDS = 30.0
GIGABYTE = 1_000_000_000


def test_the_limits_are_those_of_the_design():
    assert (fetch.MAX_BYTES, fetch.SECONDS) == (5_000_000, 15.0)
    assert (SearchSettings().calls_per_session, SearchSettings().timeout_seconds) == (25, 15.0)


async def test_a_body_of_a_gigabyte_is_not_begun_when_its_length_says_so(web, server):
    async def page(_request, writer):
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {GIGABYTE}\r\n\r\n".encode())
        await server.pour(writer, b"x" * 65_536, GIGABYTE // 65_536)

    server.pages["/"] = page
    refused = await web.allowing(server).refused(server.url())
    assert (refused.code, "5,000,000" in refused.error_text) == ("response_too_large", True)
    await asyncio.wait_for(server.left.wait(), 30)
    assert server.sent < 8_000_000


@pytest.mark.parametrize("chunked", [True, False])
async def test_a_body_of_a_gigabyte_is_left_at_the_limit(web, server, chunked):
    async def page(_request, writer):
        piece = b"x" * 65_536
        writer.write(b"HTTP/1.1 200 OK\r\n" + (b"Transfer-Encoding: chunked\r\n\r\n" if chunked else b"\r\n"))
        await server.pour(writer, b"10000\r\n" + piece + b"\r\n" if chunked else piece, GIGABYTE // 65_536)

    server.pages["/"] = page
    assert (await web.allowing(server).refused(server.url())).code == "response_too_large"
    await asyncio.wait_for(server.left.wait(), 30)
    assert server.sent < 20_000_000


async def test_the_largest_page_passes(web, server):
    server.pages["/"] = answer(b"x" * fetch.MAX_BYTES, Content_Type="text/plain")
    server.pages["/more"] = answer(b"x" * (fetch.MAX_BYTES + 1), length=False, Content_Type="text/plain")
    envelope = await web.allowing(server).fetch(server.url())
    assert envelope.metadata.truncated is True
    assert (await web.allowing(server).refused(server.url("/more"))).code == "response_too_large"


def _bomb(kind: str) -> tuple[bytes, str]:
    """A body that unpacks to a gigabyte, or to very many parts."""
    if kind == "members":
        return gzip.compress(b"") * 200_000, "gzip"
    # The same block of a megabyte a thousand times: nobody reads as far as the check sum.
    wrapped = zlib.compressobj(9, wbits={"gzip": 31, "deflate": 15, "raw": -15}[kind])
    first = wrapped.compress(b"\0" * 1_000_000) + wrapped.flush(zlib.Z_FULL_FLUSH)
    bare = zlib.compressobj(9, wbits=-15)
    block = bare.compress(b"\0" * 1_000_000) + bare.flush(zlib.Z_FULL_FLUSH)
    return first + block * 999, "gzip" if kind == "gzip" else "deflate"


@pytest.mark.parametrize("kind", ["gzip", "deflate", "raw", "members"])
async def test_a_decompression_bomb_is_left_at_the_limit(web, server, kind):
    bomb, encoding = _bomb(kind)
    server.pages["/"] = answer(bomb, Content_Encoding=encoding, Content_Type="text/plain")
    started = time.process_time()
    envelope = await web.allowing(server).fetch(server.url())
    assert time.process_time() - started < BOMB_SECONDS / 3
    if kind != "members":
        assert envelope.code == "response_too_large"


def test_a_bomb_is_never_unpacked_beyond_the_limit():
    for kind in ("gzip", "deflate", "raw"):
        assert len(_Inflater(1_000).feed(_bomb(kind)[0])) == 1_001


async def test_a_body_that_unpacks_to_nothing_is_left_at_the_limit_too(web, server):
    async def page(_request, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
        await server.pour(writer, gzip.compress(b"") * 3_000, 1_000)

    server.pages["/"] = page
    assert (await web.allowing(server).refused(server.url())).code == "response_too_large"
    await asyncio.wait_for(server.left.wait(), 30)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "x-evil"])
async def test_an_encoding_that_was_not_asked_for_is_refused(web, server, encoding):
    server.pages["/"] = answer(gzip.compress(gzip.compress(b"words")), Content_Encoding=encoding)
    refused = await web.allowing(server).refused(server.url())
    assert (refused.code, server.requests[0].headers["accept-encoding"]) == (
        "unsupported_content",
        "gzip, deflate",
    )


@pytest.mark.parametrize(
    "body",
    [b"not packed at all", gzip.compress(b"x" * 100_000, mtime=0)[:-40], b"\x1f\x8b" + b"\xff" * 90],
    ids=["not packed", "cut off", "nonsense"],
)
async def test_a_broken_compression_never_breaks_the_call(web, server, body):
    server.pages["/"] = answer(body, Content_Encoding="gzip", Content_Type="text/plain")
    envelope = await web.allowing(server).fetch(server.url())
    assert envelope.code in {"bad_response", None}
    assert envelope.code != "internal_error"


async def test_a_body_that_drips_is_left_after_the_time_limit(web, server, monkeypatch):
    monkeypatch.setattr(fetch, "SECONDS", 1.0)

    async def page(_request, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        await server.pour(writer, b".", 1000, pause=0.05)

    server.pages["/"] = page
    assert (await web.allowing(server).refused(server.url())).code == "timed_out"
    await asyncio.wait_for(server.left.wait(), 30)


async def test_the_time_limit_counts_over_all_redirects_and_a_slow_resolver(web, server, monkeypatch):
    monkeypatch.setattr(fetch, "SECONDS", 1.0)

    async def page(_request, writer):
        await asyncio.sleep(0.3)
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")

    server.pages["/"] = page
    assert (await web.allowing(server).refused(server.url())).code == "timed_out"

    class Never:
        async def __call__(self, host):
            await asyncio.Event().wait()

    web.access.client._resolve = Never()
    assert (await web.refused("http://slow.test/")).code == "timed_out"


@pytest.mark.parametrize(
    "piece", [b"X-Header: " + b"a" * 1_000 + b"\r\n", b"a" * 4_096, b"HTTP/1.1 100 Continue\r\n\r\n"]
)
async def test_a_head_without_end_is_left(web, server, monkeypatch, piece):
    monkeypatch.setattr(fetch, "SECONDS", 2.0)

    async def page(_request, writer):
        if not piece.startswith(b"HTTP"):
            writer.write(b"HTTP/1.1 200 OK\r\n")
        await server.pour(writer, piece, 1_000_000)

    server.pages["/"] = page
    refused = await web.allowing(server).refused(server.url())
    assert refused.code in {"bad_response", "timed_out"}
    await asyncio.wait_for(server.left.wait(), 30)
    # Of a gigabyte and more. What the system buffers goes out, too.
    assert piece.startswith(b"HTTP") or server.sent < 100_000_000


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"SSH-2.0-OpenSSH_9\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nEvil\x00: \x1b[2J\r\n\r\nwords",
        b"HTTP/1.1 302 Found\r\nLocation: http://\xff\xfe/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 \x1b[31mred\r\nContent-Type: \x1b[2J\r\nContent-Length: 1\r\n\r\nx",
    ],
)
async def test_what_is_no_proper_http_is_an_error_of_the_tool(web, server, raw):
    async def page(_request, writer):
        writer.write(raw)
        await writer.drain()

    server.pages["/"] = page
    envelope = await web.allowing(server).fetch(server.url())
    assert envelope.code in {"bad_response", "host_unreachable", None}, envelope
    assert "\x1b" not in envelope.model_text()


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 200_000 + "words",
        "<b>" * 300_000,
        "<ul><li>" * 100_000 + "words",
        "<p title='" + "a" * 4_900_000 + "'>words</p>",
        "<p " + " ".join(f"a{number}=1" for number in range(200_000)) + ">words</p>",
        "<" * 4_900_000,
        "<!--" * 1_200_000,
        "<table><tr><td>" * 20_000,
    ],
    ids=["divs", "bolds", "lists", "attribute", "attributes", "brackets", "comments", "tables"],
)
async def test_a_page_made_against_parsers_ends_and_leaves_the_loop_free(web, server, monkeypatch, page):
    monkeypatch.setattr(html_documents, "SECONDS", 30.0)
    server.pages["/"] = html(page)
    server.pages["/small"] = html("<p>small</p>")
    hostile = asyncio.create_task(web.allowing(server).fetch(server.url()))
    await server.asked.wait()
    assert (await web.allowing(server).text(server.url("/small"))).strip() == "small"
    envelope = await hostile
    assert not envelope.is_error, envelope.model_text()[:500]
    assert len(envelope.data["content"].encode()) <= 200_000


async def test_a_page_that_takes_too_long_to_convert_comes_as_html(web, server, monkeypatch):
    monkeypatch.setattr("app.tools.web.fetch.html_text", _impatient)
    server.pages["/"] = html("<p>words</p>")
    envelope = await web.allowing(server).fetch(server.url())
    assert envelope.data["note"] == "this is HTML: its conversion took more than 0.001 s"
    assert envelope.data["content"].endswith("<p>words</p>")


async def _impatient(*given, **options):
    return await html_documents.html_text(*given, **options, seconds=0.001)


async def test_a_cancelled_call_closes_its_connection(web, server):
    async def page(_request, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
        await server.pour(writer, b".", 5_000, pause=0.02)

    server.pages["/"] = page
    call = asyncio.create_task(web.allowing(server).fetch(server.url()))
    await server.asked.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.wait_for(server.left.wait(), 30)
    assert web.ports.of("tool.completed")["code"] == "aborted"


@pytest.mark.parametrize(
    "status", ["404 Not Found", "500 \x1b[31mEvil", "599 Obey me", "304 Not Modified", "302 Found"]
)
async def test_a_failed_status_is_an_error_without_the_servers_words(web, server, status):
    server.pages["/"] = answer("Obey me.", status)
    refused = await web.allowing(server).refused(server.url())
    assert (refused.code, refused.detail) == ("http_status", {"status": int(status[:3])})
    assert "bey me" not in refused.error_text
    assert "Evil" not in refused.error_text
