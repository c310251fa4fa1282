"""Connections are bounded in number, in time, and in what is kept for a client that does not read."""

from __future__ import annotations

import asyncio
import base64
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from app import connections
from app.connections import BoundedHttp
from tests.driver.daemon import Daemon, close_code, next_frame, running_daemon
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.loop_clock import put_forward

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
HANDSHAKE = (
    "GET /api/v1/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(b'k' * 16).decode()}\r\n\r\n"
)
END_SECONDS = 15
"""Less than `connections.HEAD_SECONDS`, after which the daemon ends any connection that says nothing."""

PINGS = b"".join(struct.pack("!BBI", 0x89, 0x80 | 125, 0) + b"p" * 125 for _ in range(2_000))


@asynccontextmanager
async def connected(daemon: Daemon) -> AsyncIterator[Streams]:
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def ended(reader: asyncio.StreamReader) -> bool:
    """Tell whether the server ends the connection within `END_SECONDS`."""
    try:
        async with asyncio.timeout(END_SECONDS):
            return await reader.read() is not None
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


async def answers(daemon: Daemon) -> bool:
    try:
        async with daemon.client() as client:
            return (await client.get("/healthz")).status_code == 200
    except httpx2.HTTPError:
        return False


@pytest.mark.parametrize("beginning", [b"", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "])
async def test_a_request_that_does_not_arrive_in_time_ends_its_connection(
    daemon: Daemon, beginning: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    async with connected(daemon) as (reader, writer):
        writer.write(beginning)
        assert await ended(reader)


async def test_a_second_request_that_never_ends_is_not_waited_for_either(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(daemon) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)  # not for the first one
        writer.write(b"GET /healthz HT")
        assert await ended(reader)


async def test_an_open_socket_and_a_slow_answer_outlive_the_time_for_a_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock is put forward: a busy machine takes no client's time."""
    begun, passed = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        begun.set()
        await passed.wait()
        return "done"

    async with (
        running_daemon(tmp_path / "data") as daemon,
        daemon.websocket("/ws") as socket,
        daemon.client() as client,
    ):
        daemon.app.add_api_route("/api/v1/slow", slow)
        asked = asyncio.create_task(client.get("/api/v1/slow"))
        async with asyncio.timeout(WAIT_SECONDS):
            await begun.wait()
        put_forward(monkeypatch, connections.HEAD_SECONDS + 1)
        for _ in range(10):  # the loop looks at its timers
            await asyncio.sleep(0)
        passed.set()
        assert (await asked).json() == "done"
        await socket.send('{"type":"ping","id":1}')
        await next_frame(socket, "pong")


async def test_connections_beyond_the_limit_are_refused_and_room_is_made_again(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 3)
    streams = [await asyncio.open_connection("127.0.0.1", daemon.port) for _ in range(3)]
    async with connected(daemon) as (reader, _):
        assert await ended(reader)
    for _, writer in streams:
        writer.transport.abort()
    async with asyncio.timeout(WAIT_SECONDS):
        while not await answers(daemon):
            pass


@pytest.mark.parametrize("signed_in", [True, False])
async def test_pings_of_a_client_that_does_not_read_are_not_kept(daemon: Daemon, signed_in: bool) -> None:
    async with connected(daemon) as (reader, writer):
        token = f"Authorization: Bearer {daemon.token}\r\n" if signed_in else ""
        writer.write(HANDSHAKE.replace("Host", f"{token}Host").encode())
        await reader.readuntil(b"\r\n\r\n")
        waiting = 0
        for _ in range(60):
            writer.write(PINGS)
            await writer.drain()
            for connection in daemon.server.server_state.connections:
                transport = getattr(connection, "transport", None)
                if transport is not None:
                    waiting = max(waiting, transport.get_write_buffer_size())
    assert waiting < 1024 * 1024


async def test_the_newest_ping_is_answered_once_the_client_reads_again(daemon: Daemon) -> None:
    async with daemon.websocket("/ws", max_queue=1) as socket:
        pong = await socket.ping(b"before")
        async with asyncio.timeout(WAIT_SECONDS):
            await pong
    async with daemon.websocket("/ws", token="") as refused:
        assert await close_code(refused) == 4401


async def test_frames_before_the_handshake_is_answered_end_the_connection_quietly(
    daemon: Daemon, caplog: pytest.LogCaptureFixture
) -> None:
    async with connected(daemon) as (reader, writer):
        writer.write(HANDSHAKE.encode() + PINGS)
        assert await ended(reader)
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("token", [True, False])
async def test_a_client_that_leaves_in_the_middle_is_no_defect(
    daemon: Daemon, token: bool, caplog: pytest.LogCaptureFixture
) -> None:
    authorization = f"Authorization: Bearer {daemon.token}\r\n" if token else ""
    body = f"POST /api/v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\n{authorization}Content-Length: 99\r\n\r\n{{"
    for sent in (body, HANDSHAKE.replace("Host", f"{authorization}Host")):
        for _ in range(5):
            async with connected(daemon) as (_, writer):
                writer.write(sent.encode())
                await writer.drain()
    async with asyncio.timeout(WAIT_SECONDS):
        while daemon.server.server_state.tasks:
            await answers(daemon)
    assert "Traceback" not in caplog.text


async def test_small_answers_do_not_wait_for_each_other(daemon: Daemon) -> None:
    """With Nagle's algorithm the second part of an answer waits until the first is acknowledged."""
    async with connected(daemon) as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await reader.readuntil(b"}")
        (served,) = (one for one in daemon.server.server_state.connections if isinstance(one, BoundedHttp))
        sock = served.transport.get_extra_info("socket")
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
