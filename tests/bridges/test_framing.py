"""Frames on a real pipe: good ones in every shape, and everything that is none."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from app.bridges.rpc.framing import FrameReader, FramingError, LineReader, frame


@asynccontextmanager
async def reading(
    content: bytes, *, max_body: int = 1000, piece: int = 1 << 20
) -> AsyncIterator[FrameReader]:
    """Give a reader of a pipe into which somebody else writes the content, piece by piece."""
    readable, writable = os.pipe()

    def write() -> None:
        with os.fdopen(writable, "wb", 0) as file:
            for start in range(0, len(content), piece):
                file.write(content[start : start + piece])

    stream = asyncio.StreamReader(limit=4096)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(readable, "rb", 0)
    )
    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield FrameReader(stream, max_body=max_body)
    finally:
        while await stream.read(1 << 20):
            pass
        thread.join()
        transport.close()
        await asyncio.sleep(0)


async def all_of(content: bytes, *, max_body: int = 1000, piece: int = 1 << 20) -> list[bytes]:
    found = []
    async with reading(content, max_body=max_body, piece=piece) as frames:
        while (body := await frames.read()) is not None:
            found.append(body)
    return found


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
async def test_what_is_framed_is_read_again_however_it_is_cut_up(piece: int) -> None:
    bodies = [b"{}", b"", "zażółć 🐙".encode(), b"Content-Length: 5\r\n\r\n", b"x" * 900]
    assert await all_of(b"".join(frame(body) for body in bodies), piece=piece) == bodies


@pytest.mark.parametrize(
    "header",
    [
        b"content-length: 2\r\n\r\n",
        b"CONTENT-LENGTH:2\r\n\r\n",
        b"Content-Length:   2  \r\n\r\n",
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\r\nX-Other: a: b\r\n\r\n",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n",
        b"Content-Length: 2\n\n",
    ],
)
async def test_header_names_in_any_case_and_headers_beside_the_length_are_taken(header: bytes) -> None:
    assert await all_of(header + b"{}" + frame(b"next")) == [b"{}", b"next"]


async def test_a_body_many_times_the_size_of_the_buffer_is_read_whole() -> None:
    body = os.urandom(5_000_000)
    assert await all_of(frame(body), max_body=5_000_000) == [body]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"Listening on stdio\n" + frame(b"{}"), "something else came"),
        (b"warning: it is late\r\n\r\n{}", "no Content-Length"),
        (b"a b: c\r\n" + frame(b"{}"), "something else came"),
        (b"\r\n" + frame(b"{}"), "no Content-Length"),
        (b"Content-Type: x\r\n\r\n{}", "no Content-Length"),
        (b"Content-Length: -2\r\n\r\n{}", "is no number"),
        (b"Content-Length: two\r\n\r\n{}", "is no number"),
        (b"Content-Length: 0x2\r\n\r\n{}", "is no number"),
        (b"Content-Length: \xc2\xb2\r\n\r\n{}", "is no number"),
        (b"Content-Length:\r\n\r\n{}", "is no number"),
        (b"Content-Length: " + b"9" * 4000 + b"\r\n\r\n", "is no number"),
        (b"Content-Length: 1001\r\n\r\n" + b"x" * 1001, "longer than"),
        (b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "two lengths"),
        (b"X: y\r\n" * 1000, "too many lines"),
        (b"x" * 100_000, "too long"),
        (bytes(range(256)) * 100, "something else came"),
        (b"Content-Length: 2", "within a header"),
        (b"Content-Length: 2\r\n", "within a header"),
        (b"Content-Length: 20\r\n\r\n{", "within a message"),
    ],
)
async def test_what_is_no_frame_is_refused_with_a_reason(content: bytes, reason: str) -> None:
    async with reading(frame(b"good") + content) as frames:
        assert await frames.read() == b"good"
        with pytest.raises(FramingError, match=reason):
            await frames.read()


@asynccontextmanager
async def lines(*pieces: bytes, max_line: int = 100) -> AsyncIterator[LineReader]:
    stream = asyncio.StreamReader()
    for piece in pieces:
        stream.feed_data(piece)
    stream.feed_eof()
    yield LineReader(stream, max_line=max_line)


@pytest.mark.requirement("plugins.wire")
async def test_lines_come_one_by_one_however_they_are_cut() -> None:
    async with lines(b'{"a"', b':1}\n{"b":2}\r\n\n \n', b"x" * 100 + b"\n", b"last\n") as reader:
        read = [await reader.read() for _ in range(5)]
        assert read == [b'{"a":1}', b'{"b":2}', b"x" * 100, b"last", None]


@pytest.mark.requirement("plugins.wire")
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"x" * 101 + b"\n", "longer"),
        (b"x" * 101, "longer"),
        (b"x" * 100_000, "longer"),
        (b"half", "ended within"),
        (b"\n" * 2_000, "empty lines"),
    ],
)
async def test_a_line_that_is_none_is_an_error(content: bytes, said: str) -> None:
    async with lines(b"good\n", content) as reader:
        assert await reader.read() == b"good"
        with pytest.raises(FramingError, match=said):
            await reader.read()
