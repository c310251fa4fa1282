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
from collections import deque
from collections.abc import Iterator
from contextlib import AsyncExitStack

import httpx2
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from bench.figures import report
from bench.processes import Running
from bench.stages import (
    SESSIONS,
    WORDS,
    Client,
    Load,
    Seen,
    http_client,
    kaged_daemon,
    model,
    opened,
    quantiles,
    stage,
    watch_health,
)

SECONDS = int(os.environ.get("LOAD_SECONDS", "600"))
STAGES = [int(count) for count in os.environ.get("LOAD_CLIENTS", "25,50,100,200").split(",")]
STALLED = 20


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


async def _load(running: Running) -> None:
    load, before = Load(), running.memory_mib()
    async with AsyncExitStack() as stack, http_client(running, max(STAGES)) as client:
        sessions = [await running.make_session(client) for _ in range(SESSIONS)]
        sockets = [await opened(running, session, stack) for session in sessions]
        clients = deque(
            Client(running, session, socket, load, reads=number >= STALLED)
            for number, (session, socket) in enumerate(zip(sessions, sockets, strict=True))
        )
        tasks = [asyncio.create_task(one.read()) for one in clients if one.reads]
        tasks += [asyncio.create_task(watch_health(running, load))]
        await asyncio.sleep(5)
        idle = running.memory_mib()
        report("memory of an idle session with a socket", (idle - before) / SESSIONS * 1024, "KiB")
        tasks += [asyncio.create_task(_gauges(running, client, load))]
        most = 0.0
        for count in STAGES:
            took, cpu = await stage(count, running, client, load, clients, SECONDS / len(STAGES))
            _say(count, load.seen, took, cpu)
            most = max(most, *load.seen.running)
        _say_memory(load.memory, idle, most)
        print(f"{load.closed} sockets lost")
        await _refusals(running, client, sessions[-1])
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _say(count: int, seen: Seen, took: float, cpu: float) -> None:
    print(f"-- {count} clients: {seen.turns} turns of {WORDS} words in {took:.0f} s, {seen.failed} failed")
    print(f"/healthz: {quantiles(seen.health)}")
    print(f"post a message: {quantiles(seen.posted)}; {seen.queued} of {len(seen.posted)} waited for a place")
    print(f"refused with 429 or 503 and Retry-After: {len(seen.refused)}; {quantiles(seen.refused)}")
    print(f"from posting to the start of the run: {quantiles(seen.started)}")
    report("frames to all clients", seen.frames / took, "a second")
    report("CPU of the daemon", cpu / took * 100, "% of one core")
    report("CPU of a turn", cpu / max(seen.turns, 1) * 1000, "ms")
    allowed = [number for number in seen.allowed if number]
    limit = f"{min(allowed):.0f} to {max(allowed):.0f}" if allowed else "all"
    print(f"sessions that ran: {max(seen.running):.0f} at most; allowed because of an overload: {limit}")


def _say_memory(memory: list[float], idle: float, most: float) -> None:
    third = len(memory) // 3 or 1
    early, late = statistics.median(memory[third : 2 * third]), statistics.median(memory[-third:])
    report("memory of a running session", (max(memory) - idle) / max(most, 1) * 1024, "KiB")
    print(f"memory: {idle:.0f} MiB idle, {early:.0f} in the middle third, {late:.0f} in the last")
    report("growth from the middle third to the last", late / early, "times")


def main() -> None:
    with model() as port, kaged_daemon(port) as running:
        asyncio.run(_load(running))
