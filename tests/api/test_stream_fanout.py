"""Many clients on one session: stalled and restless ones cost the others nothing."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import orjson
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from app.events.sessions import SessionUpdated
from app.events.union import MessageDelta
from tests.driver.daemon import Daemon, next_frame

STEADY, STALLED, RESTLESS = 87, 10, 3
EVENTS = 200
LAST = f"event {EVENTS - 1}"


async def steady(daemon: Daemon, session_id: str, joined: asyncio.Barrier) -> list[dict[str, Any]]:
    """Read everything to the last event."""
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        await next_frame(socket, "sync")
        await joined.wait()
        return await _until_last(socket, [])


async def stalled(daemon: Daemon, session_id: str, joined: asyncio.Barrier, done: asyncio.Event) -> None:
    """Connect and never read."""
    async with daemon.websocket(f"/sessions/{session_id}/ws", max_queue=1) as socket:
        await next_frame(socket, "sync")
        socket.transport.pause_reading()
        await joined.wait()
        await done.wait()
        socket.transport.abort()


async def restless(
    daemon: Daemon, session_id: str, joined: asyncio.Barrier, seed: int
) -> list[dict[str, Any]]:
    """Drop the connection at random moments and come back with the last `seq`."""
    moments = random.Random(seed)
    frames: list[dict[str, Any]] = []
    waited = False
    while not frames or not _is_last(frames[-1]):
        after = frames[-1]["seq"] if frames else 0
        async with daemon.websocket(f"/sessions/{session_id}/ws?after_seq={after}") as socket:
            await next_frame(socket, "sync")
            if not waited:
                await joined.wait()
                waited = True
            await _until_last(socket, frames, at_most=moments.randint(1, 60))
    return frames


async def _until_last(
    socket: ClientConnection, frames: list[dict[str, Any]], at_most: int | None = None
) -> list[dict[str, Any]]:
    count = 0
    while (not frames or not _is_last(frames[-1])) and (at_most is None or count < at_most):
        async with asyncio.timeout(60):
            frame = orjson.loads(await socket.recv())
        count += 1
        if frame["type"] == "session.updated":
            frames.append(frame)
    return frames


def _is_last(frame: dict[str, Any]) -> bool:
    return bool(frame["payload"]["title"].startswith(LAST))


@pytest.mark.requirement("websocket.fanout")
async def test_of_a_hundred_clients_the_steady_ones_see_every_event_once_and_in_order(
    daemon: Daemon, session_id: str
) -> None:
    joined = asyncio.Barrier(STEADY + STALLED + RESTLESS + 1)
    done = asyncio.Event()
    stream = await daemon.services.events.stream(session_id)
    async with asyncio.TaskGroup() as clients:
        readers = [clients.create_task(steady(daemon, session_id, joined)) for _ in range(STEADY)]
        for _ in range(STALLED):
            clients.create_task(stalled(daemon, session_id, joined, done))
        movers = [clients.create_task(restless(daemon, session_id, joined, seed)) for seed in range(RESTLESS)]
        await joined.wait()
        for number in range(EVENTS):
            await stream.record([SessionUpdated(title=f"event {number}")])
            stream.emit(MessageDelta(message_id="msg_1", delta="x" * 2_000, kind="text"))
        await asyncio.wait([*readers, *movers])
        done.set()
    expected = [f"event {number}" for number in range(EVENTS)]
    for task in (*readers, *movers):
        frames = task.result()
        assert [frame["payload"]["title"] for frame in frames] == expected
        seqs = [frame["seq"] for frame in frames]
        assert seqs == sorted(set(seqs))


async def test_a_socket_that_is_cut_off_leaves_nothing_behind(daemon: Daemon, session_id: str) -> None:
    stream = await daemon.services.events.stream(session_id)
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        await next_frame(socket, "sync")
        assert len(stream.subscribers) == 1
        socket.transport.abort()
        with pytest.raises(ConnectionClosed):
            await socket.recv()
    for _ in range(3_000):
        if not stream.subscribers:
            return
        await asyncio.sleep(0.01)
    pytest.fail("the subscription is still there")
