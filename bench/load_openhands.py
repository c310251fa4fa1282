"""Measure OpenHands' agent server and kaged under the same load, one stage after the other in one run.

`OPENHANDS_PYTHON` names a Python that has OpenHands' agent server. `LOAD_SESSIONS` (`25,50,100,200,500`) says
how many sessions there are in each stage. Each has a socket, and a client that posts a message and waits for
the end of its run, again and again for `LOAD_STAGE_SECONDS` (20). A server is stopped when it takes more than
a minute to make the sessions, takes a minute more than its time for a stage, or fails. Both servers run from
the start and take turns, so that a change of the machine's speed affects both. No socket is compressed.
On a machine with other work, the times say little; how long a server was ready to run in vain shows it.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections import deque
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack

import httpx2
from websockets.exceptions import WebSocketException

from bench.figures import percentile, report
from bench.openhands_server import INSTALL, agent_server
from bench.stages import (
    Client,
    Load,
    Seen,
    Server,
    http_client,
    kaged_daemon,
    model,
    opened,
    stage,
    watch_health,
)

COUNTS = [int(count) for count in os.environ.get("LOAD_SESSIONS", "25,50,100,200,500").split(",")]
SECONDS = int(os.environ.get("LOAD_STAGE_SECONDS", "20"))
PATIENCE = 60
FAILURES = (TimeoutError, ExceptionGroup, httpx2.HTTPError, WebSocketException, OSError, RuntimeError)
Figures = dict[str, tuple[float, str]]


class Side:
    """One of the two servers, with its sessions, their sockets and their clients."""

    def __init__(self, name: str, starting: AbstractContextManager[Server]) -> None:
        self.name = name
        self._process, self._stack = ExitStack(), AsyncExitStack()
        self._server = self._process.enter_context(starting)
        self._client = http_client(self._server, max(COUNTS))
        self._load = Load()
        self._clients: list[Client] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._doing = "starting"
        self._alone = 0.0

    async def start(self) -> None:
        """Make the first session, and let it run once: what is loaded late belongs to no session."""
        await self._stack.enter_async_context(self._client)
        await self._grow(1)
        async with asyncio.timeout(PATIENCE):
            await self._clients[0].turn(self._client)
        self._alone = self._server.memory_mib()
        self._tasks += [
            asyncio.create_task(watch_health(self._server, self._load)),
            asyncio.create_task(self._watch_memory()),
        ]

    async def close(self) -> None:
        """Stop the server, which also ends its sockets, and then all that is left here."""
        await asyncio.to_thread(self._process.close)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stack.aclose()

    async def tried(self, count: int) -> Figures | None:
        """Return the figures of a stage; or say why there are none, and stop the server."""
        try:
            return await self._measured(count)
        except FAILURES as failure:
            cause = failure.exceptions[0] if isinstance(failure, ExceptionGroup) else failure
            why = "this took too long" if isinstance(cause, TimeoutError) else repr(cause)
            made = f"{len(self._clients)} made, {self._load.seen.turns} turns seen"
            print(f"{self.name} stops at {count} sessions: {self._doing} ({made}): {why}", flush=True)
            await self.close()
            return None

    async def _watch_memory(self) -> None:
        while True:
            self._load.memory.append(self._server.memory_mib())
            await asyncio.sleep(0.5)

    async def _grow(self, count: int) -> None:
        self._doing = "making sessions"
        async with asyncio.timeout(PATIENCE):
            for _ in range(count - len(self._clients)):
                session = await self._server.make_session(self._client)
                socket = await opened(self._server, session, self._stack)
                self._clients.append(Client(self._server, session, socket, self._load))
                self._tasks.append(asyncio.create_task(self._clients[-1].read()))

    async def _measured(self, count: int) -> Figures:
        """Make sessions until there are so many, then let all of them work; return what was seen."""
        began, memory, had = time.monotonic(), self._server.memory_mib(), len(self._clients)
        await self._grow(count)
        added = max(count - had, 1)
        made = (time.monotonic() - began) / added * 1000
        await asyncio.sleep(3)
        idle = self._server.memory_mib()
        self._load.memory.clear()
        self._doing = "running"
        clients = deque(self._clients)
        clients_cpu, waited = time.process_time(), self._server.waited_seconds()
        async with asyncio.timeout(SECONDS + PATIENCE):
            took, cpu = await stage(count, self._server, self._client, self._load, clients, SECONDS)
        waited = self._server.waited_seconds() - waited
        return {
            "making a session with a socket": (made, "ms"),
            "memory of a new session, idle": ((idle - memory) / added * 1024, "KiB"),
            "memory of a running session": ((max(self._load.memory) - idle) / count * 1024, "KiB"),
            "memory of a session, after all stages": (
                (max(self._load.memory) - self._alone) / count * 1024,
                "KiB",
            ),
            "memory of the server": (max(self._load.memory), "MiB"),
            "CPU of the server": (cpu / took * 100, "% of one core"),
            "ready to run, without a processor": (waited / took * 100, "% of the time, all threads"),
            "CPU of all clients": ((time.process_time() - clients_cpu) / took * 100, "% of one core"),
            "sockets lost": (self._load.closed, ""),
            **_seen(self._load.seen, took, cpu),
        }


def _seen(seen: Seen, took: float, cpu: float) -> Figures:
    figures: Figures = {}
    measured = {"health": seen.health, "posting a message": seen.posted, "start of the run": seen.started}
    for name, values in measured.items():
        for share in (0.5, 0.99):
            figures[f"{name}, p{share * 100:.0f}"] = (percentile(values, share) if values else math.nan, "ms")
    return figures | {
        "turns": (seen.turns / took, "a second"),
        "frames to all clients": (seen.frames / took, "a second"),
        "CPU of a turn": (cpu / max(seen.turns, 1) * 1000, "ms"),
        "turns that failed": (seen.failed, ""),
        "messages that waited for a place": (seen.queued, ""),
        "messages refused": (len(seen.refused), ""),
    }


def _say(count: int, kaged: Figures, other: Figures | None) -> None:
    print(f"-- {count} sessions, each with a client (load average {os.getloadavg()[0]:.1f})", flush=True)
    for name, (value, unit) in kaged.items():
        peer = "-"
        if other is not None:
            peer = f"{other[name][0]:.1f}" + (f", {other[name][0] / value:.1f} times" if value > 0 else "")
        report(name, value, unit, peers=f"OpenHands {peer}")


async def _compare(python: str, model_port: int) -> None:
    async with AsyncExitStack() as stack:
        sides = []
        starting: dict[str, AbstractContextManager[Server]] = {
            "OpenHands": agent_server(python, model_port, max(COUNTS)),
            "kaged": kaged_daemon(model_port),
        }
        for name, server in starting.items():
            sides.append(Side(name, server))
            stack.push_async_callback(sides[-1].close)
        other, kaged = sides
        for side in sides:
            await side.start()
        lives = True
        for count in COUNTS:
            theirs = await other.tried(count) if lives else None
            lives = theirs is not None
            ours = await kaged.tried(count)
            if ours is None:
                break
            _say(count, ours, theirs)


def main() -> None:
    python = os.environ.get("OPENHANDS_PYTHON")
    if not python:
        print(INSTALL)
        return
    with model() as port:
        asyncio.run(_compare(python, port))
