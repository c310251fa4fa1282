"""Measure one daemon under load: hundreds of sessions and sockets, a hundred runs at once, stalled readers.

`LOAD_SECONDS` (600) says for how long. The model says forty words in two seconds. The clients are on the same
machine, in this process; the daemon's CPU time and memory are its own. At the end each limit is exceeded
by one: the answer must be 429 or 503 with `Retry-After`.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import statistics
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import httpx2
import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from bench.figures import percentile, report, spread
from bench.processes import Running, clock_model, daemon

SECONDS = int(os.environ.get("LOAD_SECONDS", "600"))
SESSIONS, RUNNING, STALLED = 500, 100, 20
WORDS, GAP = 40, 0.05
LIMITS = f"""
[limits]
sessions_per_project = {RUNNING}
sessions_per_operator = {RUNNING}
sockets_per_client = {SESSIONS}
connections_per_address = {SESSIONS + 200}
requests_per_minute = 60000
"""


@dataclass
class Seen:
    """What the clients have seen so far; times in milliseconds."""

    posted: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    frames: int = 0
    turns: int = 0
    failed: int = 0
    closed: int = 0
    memory: list[float] = field(default_factory=list)


class Client:
    """One session with one socket that is read, or is stalled after its first frame."""

    def __init__(self, session: str, socket: ClientConnection, seen: Seen) -> None:
        self.session = session
        self._socket = socket
        self._seen = seen
        self._ended = asyncio.Event()

    async def read(self) -> None:
        async for text in self._socket:
            self._seen.frames += 1
            if '"type":"run.ended"' in text[:200]:
                self._seen.failed += orjson.loads(text)["payload"]["state"] != "succeeded"
                self._seen.turns += 1
                self._ended.set()
        self._seen.closed += 1

    async def turn(self, client: httpx2.AsyncClient, *, read: bool) -> None:
        """Post a message, and wait for the end of its run."""
        self._ended.clear()
        began = time.perf_counter()
        path = f"/api/v1/sessions/{self.session}"
        (await client.post(f"{path}/messages", json={"content": "Go"})).raise_for_status()
        self._seen.posted.append((time.perf_counter() - began) * 1000)
        if read:
            await self._ended.wait()
        else:
            await asyncio.sleep(WORDS * GAP * 2)


async def _health(url: str, seen: Seen) -> None:
    async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=60) as client:
        while True:
            began = time.perf_counter()
            (await client.get("/healthz")).raise_for_status()
            seen.health.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(0.2)


async def _memory(running: Running, seen: Seen) -> None:
    while True:
        seen.memory.append(running.memory_mib())
        await asyncio.sleep(max(1, SECONDS / 60))


async def _opened(running: Running, session: str, stack: AsyncExitStack) -> ClientConnection:
    url = running.websocket_url(session)
    return await stack.enter_async_context(
        connect(url, additional_headers=running.headers, proxy=None, open_timeout=60, max_queue=4)
    )


async def _refusals(running: Running, client: httpx2.AsyncClient, clients: list[Client]) -> None:
    """Exceed two limits by one and say what the daemon answers."""
    try:
        async with connect(
            running.websocket_url(clients[0].session), additional_headers=running.headers, proxy=None
        ):
            print("one more socket: accepted")
    except InvalidStatus as refused:
        after = refused.response.headers.get("retry-after")
        print(f"one more socket: {refused.response.status_code}, Retry-After {after}")
    path = f"/api/v1/sessions/{clients[0].session}/messages"
    for _ in range(200):
        answer = await client.post(path, json={"content": "Go"})
        if answer.status_code >= 400:
            after = answer.headers.get("retry-after")
            print(f"one more message in a full queue: {answer.status_code}, Retry-After {after}")
            return
    print("two hundred messages of one session: accepted")


async def _load(running: Running) -> None:
    seen, before = Seen(), running.memory_mib()
    async with (
        AsyncExitStack() as stack,
        httpx2.AsyncClient(
            base_url=running.url,
            headers=running.headers,
            trust_env=False,
            timeout=60,
            limits=httpx2.Limits(max_connections=RUNNING, keepalive_expiry=1),
        ) as client,
    ):
        sessions = [await running.make_session(client) for _ in range(SESSIONS)]
        sockets = [await _opened(running, session, stack) for session in sessions]
        clients = [Client(*pair, seen) for pair in zip(sessions, sockets, strict=True)]
        stalled = set(clients[:STALLED])
        tasks = [asyncio.create_task(one.read()) for one in clients if one not in stalled]
        tasks += [asyncio.create_task(_health(running.url, seen))]
        await asyncio.sleep(5)
        idle = running.memory_mib()
        report("memory of an idle session with a socket", (idle - before) / SESSIONS * 1024, "KiB")
        tasks += [asyncio.create_task(_memory(running, seen))]
        next_one = itertools.cycle(clients)
        began, cpu = time.monotonic(), running.cpu_seconds()

        async def work() -> None:
            while time.monotonic() - began < SECONDS:
                one = next(next_one)
                await one.turn(client, read=one not in stalled)

        first_frames = seen.frames
        async with asyncio.TaskGroup() as group:
            for _ in range(RUNNING):
                group.create_task(work())
        took, spent = time.monotonic() - began, running.cpu_seconds() - cpu
        _say(seen, took, spent, idle, seen.frames - first_frames)
        await _refusals(running, client, clients)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _say(seen: Seen, took: float, cpu: float, idle: float, frames: int) -> None:
    print(f"{seen.turns} turns of {WORDS} words in {took:.0f} s, {seen.failed} failed")
    print(f"{seen.closed} sockets lost")
    print(f"/healthz: {spread(seen.health, 'ms')}, 99th {percentile(seen.health, 0.99):.1f}")
    print(f"post a message: {spread(seen.posted, 'ms')}, 99th {percentile(seen.posted, 0.99):.1f}")
    report("frames to all clients", frames / took, "a second")
    report("CPU of the daemon", cpu / took * 100, "% of one core")
    report("CPU of a turn", cpu / max(seen.turns, 1) * 1000, "ms")
    third = len(seen.memory) // 3 or 1
    early, late = statistics.median(seen.memory[third : 2 * third]), statistics.median(seen.memory[-third:])
    report("memory of a running session", (max(seen.memory) - idle) / RUNNING * 1024, "KiB")
    print(f"memory: {idle:.0f} MiB idle, {early:.0f} in the middle third, {late:.0f} in the last")
    report("growth from the middle third to the last", late / early, "times")


def main() -> None:
    with clock_model(WORDS, GAP) as port, daemon(port, settings=LIMITS) as running:
        asyncio.run(_load(running))
