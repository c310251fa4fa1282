"""Measure one daemon under load: hundreds of sessions and sockets, more and more clients, stalled readers.

`LOAD_SECONDS` (600) says for how long, `LOAD_CLIENTS` (`25,50,100,200`) how many clients post at once and
wait for the end of their run, one stage after the other. The figures of each stage show where the daemon is
full, what waits then, and what is refused. The model says forty words in two seconds. The clients are on the
same machine, in this process; the daemon's CPU time and memory are its own. At the end other limits are
exceeded by one: the answer must be 429 or 503 with `Retry-After`.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections import deque
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field

import httpx2
import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from bench.figures import percentile, report
from bench.processes import Running, clock_model, daemon

SECONDS = int(os.environ.get("LOAD_SECONDS", "600"))
STAGES = [int(count) for count in os.environ.get("LOAD_CLIENTS", "25,50,100,200").split(",")]
SESSIONS, STALLED = 500, 20
WORDS, GAP = 40, 0.05
LIMITS = f"""
[daemon]
idle_timeout_seconds = 3600
[limits]
sessions_per_project = {SESSIONS}
sessions_per_operator = {SESSIONS}
sockets_per_client = {SESSIONS}
connections_per_address = {SESSIONS + 400}
requests_per_minute = 60000
"""


@dataclass
class Seen:
    """What the clients have seen in one stage; times in milliseconds."""

    posted: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    started: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    running: list[float] = field(default_factory=list)
    allowed: list[float] = field(default_factory=list)
    queued: int = 0
    frames: int = 0
    turns: int = 0
    failed: int = 0


class Load:
    """What all stages have in common: the stage that is being measured, and what counts over all of them."""

    def __init__(self) -> None:
        self.seen = Seen()
        self.closed = 0
        self.memory: list[float] = []


class Client:
    """One session with one socket that is read, or is stalled after its first frame."""

    def __init__(self, session: str, socket: ClientConnection, load: Load, *, reads: bool) -> None:
        self.session, self.reads = session, reads
        self._socket = socket
        self._load = load
        self._ended = asyncio.Event()
        self._closed = False
        self._posted_at = 0.0

    async def read(self) -> None:
        """Count what the socket brings, until it is closed."""
        with suppress(ConnectionClosed):
            async for text in self._socket:
                seen, start = self._load.seen, text[:200]
                seen.frames += 1
                if '"type":"run.started"' in start:
                    seen.started.append((time.perf_counter() - self._posted_at) * 1000)
                elif '"type":"run.ended"' in start:
                    seen.failed += orjson.loads(text)["payload"]["state"] != "succeeded"
                    seen.turns += 1
                    self._ended.set()
        self._load.closed += 1
        self._closed = True
        self._ended.set()  # nobody waits for a run of which nothing is heard

    async def turn(self, client: httpx2.AsyncClient) -> None:
        """Post a message, and wait for the end of its run; or for as long as a refusal says."""
        self._ended.clear()
        self._posted_at = began = time.perf_counter()
        answer = await client.post(f"/api/v1/sessions/{self.session}/messages", json={"content": "Go"})
        took = (time.perf_counter() - began) * 1000
        seen = self._load.seen
        if answer.status_code in (429, 503):
            seen.refused.append(took)
            await asyncio.sleep(float(answer.headers["retry-after"]))
            return
        answer.raise_for_status()
        seen.posted.append(took)
        seen.queued += answer.json()["queued"]
        if self.reads and not self._closed:
            await self._ended.wait()
        else:
            await asyncio.sleep(WORDS * GAP * 2)


async def _health(url: str, load: Load) -> None:
    async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=60) as client:
        while True:
            began = time.perf_counter()
            (await client.get("/healthz")).raise_for_status()
            load.seen.health.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(0.2)


async def _gauges(running: Running, client: httpx2.AsyncClient, load: Load) -> None:
    """Note the memory, and from the daemon's metrics how many sessions run and how many may."""
    while True:
        load.memory.append(running.memory_mib())
        found = dict(_numbers((await client.get("/api/v1/metrics")).text))
        load.seen.running.append(found.get('kaged_sessions{state="running"}', 0.0))
        load.seen.allowed.append(found.get("kaged_overload_sessions", 0.0))
        await asyncio.sleep(1)


def _numbers(text: str) -> Iterator[tuple[str, float]]:
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        if name.startswith(("kaged_sessions", "kaged_overload_sessions")):
            yield name, float(value)


async def _opened(running: Running, session: str, stack: AsyncExitStack) -> ClientConnection:
    url = running.websocket_url(session)
    return await stack.enter_async_context(
        connect(url, additional_headers=running.headers, proxy=None, open_timeout=60, max_queue=4)
    )


async def _refusals(running: Running, client: httpx2.AsyncClient, session: str) -> None:
    """Exceed two limits by one and say what the daemon answers."""
    try:
        async with connect(running.websocket_url(session), additional_headers=running.headers, proxy=None):
            print("one more socket: accepted")
    except InvalidStatus as refused:
        after = refused.response.headers.get("retry-after")
        print(f"one more socket: {refused.response.status_code}, Retry-After {after}")
    for _ in range(200):
        answer = await client.post(f"/api/v1/sessions/{session}/messages", json={"content": "Go"})
        if answer.status_code >= 400:
            after = answer.headers.get("retry-after")
            print(f"one more message in a full queue: {answer.status_code}, Retry-After {after}")
            return
    print("two hundred messages of one session: accepted")


async def _stage(
    count: int, running: Running, client: httpx2.AsyncClient, load: Load, clients: deque[Client]
) -> None:
    """Let so many of the clients that have nothing to do work at once, and say what they have seen."""
    load.seen = Seen()
    began, cpu, seconds = time.monotonic(), running.cpu_seconds(), SECONDS / len(STAGES)

    async def work() -> None:
        while time.monotonic() - began < seconds:
            mine = clients.popleft()
            await mine.turn(client)
            clients.append(mine)

    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(work())
    _say(count, load.seen, time.monotonic() - began, running.cpu_seconds() - cpu)


async def _load(running: Running) -> None:
    load, before = Load(), running.memory_mib()
    async with (
        AsyncExitStack() as stack,
        httpx2.AsyncClient(
            base_url=running.url,
            headers=running.headers,
            trust_env=False,
            timeout=60,
            limits=httpx2.Limits(max_connections=max(STAGES), keepalive_expiry=1),
        ) as client,
    ):
        sessions = [await running.make_session(client) for _ in range(SESSIONS)]
        sockets = [await _opened(running, session, stack) for session in sessions]
        clients = deque(
            Client(session, socket, load, reads=number >= STALLED)
            for number, (session, socket) in enumerate(zip(sessions, sockets, strict=True))
        )
        tasks = [asyncio.create_task(one.read()) for one in clients if one.reads]
        tasks += [asyncio.create_task(_health(running.url, load))]
        await asyncio.sleep(5)
        idle = running.memory_mib()
        report("memory of an idle session with a socket", (idle - before) / SESSIONS * 1024, "KiB")
        tasks += [asyncio.create_task(_gauges(running, client, load))]
        most = 0.0
        for count in STAGES:
            await _stage(count, running, client, load, clients)
            most = max(most, *load.seen.running)
        _say_memory(load.memory, idle, most)
        print(f"{load.closed} sockets lost")
        await _refusals(running, client, sessions[-1])
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _say(count: int, seen: Seen, took: float, cpu: float) -> None:
    print(f"-- {count} clients: {seen.turns} turns of {WORDS} words in {took:.0f} s, {seen.failed} failed")
    print(f"/healthz: {_spread(seen.health)}")
    print(f"post a message: {_spread(seen.posted)}; {seen.queued} of {len(seen.posted)} waited for a place")
    print(f"refused with 429 or 503 and Retry-After: {len(seen.refused)}; {_spread(seen.refused)}")
    print(f"from posting to the start of the run: {_spread(seen.started)}")
    report("frames to all clients", seen.frames / took, "a second")
    report("CPU of the daemon", cpu / took * 100, "% of one core")
    report("CPU of a turn", cpu / max(seen.turns, 1) * 1000, "ms")
    allowed = [number for number in seen.allowed if number]
    limit = f"{min(allowed):.0f} to {max(allowed):.0f}" if allowed else "all"
    print(f"sessions that ran: {max(seen.running):.0f} at most; allowed because of an overload: {limit}")


def _spread(values: list[float]) -> str:
    if not values:
        return "-"
    return f"median {statistics.median(values):.1f} ms, 99th {percentile(values, 0.99):.1f}"


def _say_memory(memory: list[float], idle: float, most: float) -> None:
    third = len(memory) // 3 or 1
    early, late = statistics.median(memory[third : 2 * third]), statistics.median(memory[-third:])
    report("memory of a running session", (max(memory) - idle) / max(most, 1) * 1024, "KiB")
    print(f"memory: {idle:.0f} MiB idle, {early:.0f} in the middle third, {late:.0f} in the last")
    report("growth from the middle third to the last", late / early, "times")


def main() -> None:
    with clock_model(WORDS, GAP) as port, daemon(port, settings=LIMITS) as running:
        asyncio.run(_load(running))
