"""Bytes between two sockets, both ways."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from app.bridges.network.relay import LARGE_BUFFER, Buffers, Relay
from tests.bridges.conftest import descriptors

pytestmark = pytest.mark.requirement("cages.net.proxy")


@asynccontextmanager
async def relayed(
    *, limit: int | None = None, idle: float = 30.0, half_open: float = 30.0
) -> AsyncIterator[tuple[socket.socket, socket.socket, asyncio.Task[None], Relay]]:
    """Yield the client's end, the server's end, the running relay and itself."""
    listener = socket.create_server(("127.0.0.1", 0))
    ends: list[socket.socket] = [listener]
    try:
        for _ in range(2):
            ends.append(socket.create_connection(listener.getsockname()))
            ends.append(listener.accept()[0])
        for end in ends:
            end.setblocking(False)
        relay = Relay(
            ends[2],
            ends[4],
            Buffers(),
            upload_limit=limit,
            idle_seconds=idle,
            half_open_seconds=half_open,
        )

        async def run() -> None:
            try:
                await relay.run()
            finally:
                ends[2].close()
                ends[4].close()

        task = asyncio.create_task(run())
        yield ends[1], ends[3], task, relay
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    finally:
        for end in ends:
            end.close()


async def digest_of_all(end: socket.socket) -> str:
    loop, found = asyncio.get_running_loop(), hashlib.sha256()
    while piece := await loop.sock_recv(end, 65_536):
        found.update(piece)
    return found.hexdigest()


async def test_large_transfers_both_ways_at_once_arrive_whole() -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(60), relayed() as (client, server, task, relay):
        up, down = os.urandom(40_000_001), os.urandom(30_000_001)

        async def send(end: socket.socket, data: bytes) -> None:
            await loop.sock_sendall(end, data)
            end.shutdown(socket.SHUT_WR)

        _, _, got_down, got_up = await asyncio.gather(
            send(client, up), send(server, down), digest_of_all(client), digest_of_all(server)
        )
        assert got_up == hashlib.sha256(up).hexdigest()
        assert got_down == hashlib.sha256(down).hexdigest()
        await task
        assert (relay.sent, relay.received) == (len(up), len(down))


async def test_one_side_may_end_long_before_the_other() -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(60), relayed() as (client, server, task, _):
        await loop.sock_sendall(client, b"question")
        client.shutdown(socket.SHUT_WR)
        assert await loop.sock_recv(server, 100) == b"question"
        assert await loop.sock_recv(server, 100) == b""
        await loop.sock_sendall(server, b"answer")
        assert await loop.sock_recv(client, 100) == b"answer"
        assert not task.done()
        server.close()
        assert await loop.sock_recv(client, 100) == b""
        await task


async def test_who_does_not_read_stops_the_one_who_writes() -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(60), relayed() as (client, server, _, relay):
        sent = 0
        quiet = 0
        while quiet < 20:
            try:
                sent += client.send(bytes(LARGE_BUFFER))
                quiet = 0
            except BlockingIOError:
                quiet += 1
                await asyncio.sleep(0.02)
        # What is on the way stands in the kernel's buffers and in one of the relay's.
        assert relay.sent < sent
        assert sent < 64 * LARGE_BUFFER
        client.shutdown(socket.SHUT_WR)
        found = 0
        while piece := await loop.sock_recv(server, LARGE_BUFFER):
            found += len(piece)
        assert found == sent == relay.sent


async def test_a_side_that_breaks_off_ends_both() -> None:
    async with asyncio.timeout(60), relayed() as (client, server, task, _):
        server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        server.close()
        await task
        assert await asyncio.get_running_loop().sock_recv(client, 1) == b""


async def test_silence_ends_it_and_sooner_when_one_side_has_ended() -> None:
    async with asyncio.timeout(60), relayed(idle=0.2) as (_, _, task, _):
        await task
    async with asyncio.timeout(60), relayed(half_open=0.2) as (client, _, task, _):
        await asyncio.wait([task], timeout=0.5)
        assert not task.done()
        client.shutdown(socket.SHUT_WR)
        await task


async def test_beyond_the_limit_nothing_is_carried_and_the_answer_still_comes() -> None:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(60), relayed(limit=6) as (client, server, task, relay):
        await loop.sock_sendall(client, b"abc")
        assert await loop.sock_recv(server, 100) == b"abc"
        await loop.sock_sendall(client, b"defGHI")
        assert await loop.sock_recv(server, 100) == b"def"
        await loop.sock_sendall(server, b"answer")
        server.close()
        assert await loop.sock_recv(client, 100) == b"answer"
        await task
        assert relay.sent == 6


async def test_a_relay_that_is_called_off_leaves_no_descriptor_and_no_callback() -> None:
    before = descriptors().keys()
    async with relayed() as (client, _, task, _):
        client.send(b"x" * 100_000)
        await asyncio.sleep(0)
        task.cancel()
    assert descriptors().keys() == before
