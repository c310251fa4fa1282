"""What clients see of a server while many of them post messages and wait for the end of their runs.

The model says forty words in two seconds. The clients are in this process; the CPU time and the memory are
the server's own. `load` measures kaged by this, `load_openhands` kaged beside another server.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractContextManager, AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Protocol

import httpx2
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from bench.figures import percentile
from bench.processes import Running, clock_model, daemon

SESSIONS = 500
WORDS, GAP = 40, 0.05
_LIMITS = f"""
[daemon]
idle_timeout_seconds = 3600
[limits]
sessions_per_project = {SESSIONS}
sessions_per_operator = {SESSIONS}
sockets_per_client = {SESSIONS}
connections_per_address = {SESSIONS + 400}
requests_per_minute = 60000
"""


def model() -> AbstractContextManager[int]:
    return clock_model(WORDS, GAP)


def kaged_daemon(model_port: int) -> AbstractContextManager[Running]:
    """Return a daemon that allows all sessions to run at once."""
    return daemon(model_port, settings=_LIMITS)


class Server(Protocol):
    """A server that is measured: where it is, what it uses, and how one speaks to it."""

    url: str
    health: str

    @property
    def headers(self) -> Mapping[str, str]: ...

    def cpu_seconds(self) -> float: ...

    def waited_seconds(self) -> float: ...

    def memory_mib(self) -> float: ...

    def websocket_url(self, session_id: str) -> str: ...

    async def make_session(self, client: httpx2.AsyncClient) -> str: ...

    async def post(self, client: httpx2.AsyncClient, session_id: str) -> httpx2.Response: ...

    def state_in(self, text: str) -> str: ...


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

    def __init__(
        self, server: Server, session: str, socket: ClientConnection, load: Load, *, reads: bool = True
    ) -> None:
        self.session, self.reads = session, reads
        self._server = server
        self._socket = socket
        self._load = load
        self._ended = asyncio.Event()
        self._closed = False
        self._posted_at = 0.0

    async def read(self) -> None:
        """Count what the socket brings, until it is closed."""
        with suppress(ConnectionClosed):
            async for text in self._socket:
                seen = self._load.seen
                seen.frames += 1
                state = self._server.state_in(str(text))
                if state == "running":
                    seen.started.append((time.perf_counter() - self._posted_at) * 1000)
                elif state:
                    seen.failed += state != "succeeded"
                    seen.turns += 1
                    self._ended.set()
        self._load.closed += 1
        self._closed = True
        self._ended.set()  # nobody waits for a run of which nothing is heard

    async def turn(self, client: httpx2.AsyncClient) -> None:
        """Post a message, and wait for the end of its run; or for as long as a refusal says."""
        self._ended.clear()
        self._posted_at = began = time.perf_counter()
        answer = await self._server.post(client, self.session)
        took = (time.perf_counter() - began) * 1000
        seen = self._load.seen
        if answer.status_code in (429, 503):
            seen.refused.append(took)
            await asyncio.sleep(float(answer.headers.get("retry-after", "1")))
            return
        answer.raise_for_status()
        seen.posted.append(took)
        seen.queued += bool(answer.json().get("queued"))
        if self.reads and not self._closed:
            await self._ended.wait()
        else:
            await asyncio.sleep(WORDS * GAP * 2)


def http_client(server: Server, connections: int) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        base_url=server.url,
        headers=server.headers,
        trust_env=False,
        timeout=60,
        limits=httpx2.Limits(max_connections=connections, keepalive_expiry=1),
    )


async def opened(server: Server, session: str, stack: AsyncExitStack) -> ClientConnection:
    """Open a socket without compression, which costs a server more than all else that it does for a frame."""
    url, headers = server.websocket_url(session), server.headers
    return await stack.enter_async_context(
        connect(url, additional_headers=headers, proxy=None, open_timeout=60, max_queue=4, compression=None)
    )


async def watch_health(server: Server, load: Load) -> None:
    async with httpx2.AsyncClient(base_url=server.url, trust_env=False, timeout=60) as client:
        while True:
            began = time.perf_counter()
            (await client.get(server.health)).raise_for_status()
            load.seen.health.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(0.2)


async def stage(
    count: int,
    server: Server,
    client: httpx2.AsyncClient,
    load: Load,
    clients: deque[Client],
    seconds: float,
) -> tuple[float, float]:
    """Let so many of the clients that have nothing to do work at once; return the seconds and CPU seconds."""
    load.seen = Seen()
    began, cpu = time.monotonic(), server.cpu_seconds()

    async def work() -> None:
        while time.monotonic() - began < seconds:
            mine = clients.popleft()
            await mine.turn(client)
            clients.append(mine)

    async with asyncio.TaskGroup() as group:
        for _ in range(count):
            group.create_task(work())
    return time.monotonic() - began, server.cpu_seconds() - cpu


def quantiles(values: list[float]) -> str:
    if not values:
        return "-"
    return f"median {statistics.median(values):.1f} ms, 99th {percentile(values, 0.99):.1f}"
