"""Measure which close codes clients see while sockets end in every way; 1006 must not occur.

The daemon ends seven groups of clients for seven reasons at the same time, the last group by its stop.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from contextlib import suppress

import httpx2
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from bench.figures import report
from bench.processes import Running, daemon

SOCKETS = 25
"""In each group; one client may have 200."""

PING = '{"type":"ping","id":1}'
HUGE = "x" * (8 * 1024 * 1024)


async def _ended(socket: ClientConnection, frame: str | bytes | None, gap: float) -> int | None:
    """Send `frame` (if any) again and again until the daemon ends the socket; return the code."""

    async def talk() -> None:
        while frame is not None:
            await socket.send(frame)
            await asyncio.sleep(gap)

    talking = asyncio.create_task(talk())
    with suppress(ConnectionClosed):
        while True:
            await socket.recv()
    talking.cancel()
    await asyncio.gather(talking, return_exceptions=True)
    return socket.close_code


async def _group(
    running: Running, session: str, frame: str | bytes | None, gap: float, ready: asyncio.Barrier
) -> Counter[int | None]:
    async def one() -> int | None:
        url = running.websocket_url(session)
        async with connect(url, additional_headers=running.headers, proxy=None, open_timeout=60) as socket:
            await socket.recv()
            await ready.wait()
            return await _ended(socket, frame, gap)

    return Counter(await asyncio.gather(*(one() for _ in range(SOCKETS))))


async def _codes(running: Running) -> dict[str, Counter[int | None]]:
    ways: dict[str, tuple[str | bytes | None, float]] = {
        "session deleted, silent": (None, 0),
        "session deleted, talking": (PING, 0.02),
        "frame too large": (HUGE, 0),
        "malformed frames": ("nonsense", 0),
        "frames of bytes": (b"\x00", 0),
        "too many frames": (PING, 0),
        "daemon stopped, talking": (PING, 0.02),
    }
    sessions = {name: running.new_session() for name in ways}
    ready = asyncio.Barrier(len(ways) * SOCKETS + 1)
    groups = {
        name: asyncio.create_task(_group(running, sessions[name], frame, gap, ready))
        for name, (frame, gap) in ways.items()
    }
    await ready.wait()
    async with httpx2.AsyncClient(base_url=running.url, headers=running.headers, trust_env=False) as client:
        for name in ("session deleted, silent", "session deleted, talking"):
            (await client.delete(f"/api/v1/sessions/{sessions[name]}", timeout=60)).raise_for_status()
    last = groups.pop("daemon stopped, talking")
    found = {name: await group for name, group in groups.items()}
    os.kill(running.pid, signal.SIGTERM)
    return {**found, "daemon stopped, talking": await last}


def main() -> None:
    with daemon() as running:
        found = asyncio.run(_codes(running))
    for name, codes in found.items():
        print(f"{name}: " + ", ".join(f"{code} x {count}" for code, count in sorted(codes.items(), key=str)))
    without = sum(codes[1006] for codes in found.values())
    report(f"sockets of {len(found) * SOCKETS} without a code (1006)", without, "sockets")
