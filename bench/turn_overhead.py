"""Measure our own time for one model round trip with one `file.read`, storage and one subscriber.

The scripted model answers at once from a separate process, so that the remaining time is the daemon's.
Flatness compares round trips of a conversation of about 1,000 with those of new ones. The two take turns,
so that a change of the machine's speed affects both alike.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import orjson
from websockets.asyncio.client import ClientConnection, connect

from bench.figures import report, spread
from bench.processes import Running, daemon, scripted_model
from tests.driver.daemon import running_daemon
from tests.driver.sessions import write_project

STEPS_PER_RUN = 25
LONG = 850
PAIRS = 12
WARM_STEPS = 10
COUNTED_STEPS = 100


@dataclass
class Measured:
    """Wall and CPU milliseconds of each round trip, in order."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def add(self, started: list[float], cpu: list[float], *, skip: int = 0) -> None:
        self.wall += [(b - a) * 1000 for a, b in itertools.pairwise(started[skip:])]
        self.cpu += [(b - a) * 1000 for a, b in itertools.pairwise(cpu[skip:])]


class Conversation:
    """A session of its own with one subscriber, which sees every run that is posted to it."""

    def __init__(
        self, running: Running, client: httpx2.AsyncClient, socket: ClientConnection, session: str
    ) -> None:
        self._running = running
        self._client = client
        self._socket = socket
        self._session = session

    @classmethod
    @asynccontextmanager
    async def opened(cls, running: Running) -> AsyncIterator[Conversation]:
        session = running.new_session()
        headers = running.headers
        async with (
            connect(running.websocket_url(session), additional_headers=headers, proxy=None) as socket,
            httpx2.AsyncClient(base_url=running.url, headers=headers, trust_env=False) as client,
        ):
            yield cls(running, client, socket, session)

    async def run(self, into: Measured, *, skip: int = 0) -> None:
        """Post a message, wait for the end of its run, note what each round trip after `skip` took."""
        address = f"/api/v1/sessions/{self._session}/messages"
        (await self._client.post(address, json={"content": "Go"})).raise_for_status()
        started: list[float] = []
        cpu: list[float] = []
        async for text in self._socket:
            kind = orjson.loads(text)["type"]
            if kind == "step.started":
                started.append(time.perf_counter())
                cpu.append(self._running.cpu_seconds())
            elif kind == "run.ended":
                into.add(started, cpu, skip=skip)
                return
        raise RuntimeError("the socket closed before the run ended")


def _checkpointed_size(running: Running) -> int:
    with sqlite3.connect(running.data_dir / "kaged.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        free = connection.execute("PRAGMA freelist_count").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    return int((pages - free) * size)


async def _commits(model_port: int, folder: Path) -> float:
    """Return how many transactions one round trip takes; counted by the storage itself."""
    fake = {"driver": "openai", "base_url": f"http://127.0.0.1:{model_port}/v1", "api_key": "sk-bench"}
    settings = {"models": {"main": ["fake:model-a"]}, "providers": {"fake": fake}}
    async with running_daemon(folder / "data", **settings) as running:
        services = running.services
        project = await services.decisions.loader.load(write_project(folder / "shop"))
        session = await services.sessions.create(project.id, created_by="bench")
        listening = await services.events.subscribe(session.id, 0)
        before = services.storage.statistics.commits
        await services.sessions.post_message(session.id, "Go", actor="bench")
        async for batch in listening.batches():
            if any('"type":"run.ended"' in text for _, _, text in batch):
                listening.close()
                break
        return (services.storage.statistics.commits - before) / COUNTED_STEPS


async def _measure(running: Running) -> tuple[Measured, Measured, Measured, float, float]:
    """Return the way to a long conversation, the pairs after it, and what each step left on disk."""
    whole, early, late = Measured(), Measured(), Measured()
    async with Conversation.opened(running) as warm:
        await warm.run(Measured())
    async with Conversation.opened(running) as long:
        size, written = _checkpointed_size(running), running.written_bytes()
        runs = LONG // STEPS_PER_RUN
        for _ in range(runs):
            await long.run(whole)
        steps = runs * (STEPS_PER_RUN + 1)  # the text that ends a run is a round trip too
        written_each = (running.written_bytes() - written) / steps
        grown = (_checkpointed_size(running) - size) / steps
        for _ in range(PAIRS):
            async with Conversation.opened(running) as short:
                await short.run(early, skip=WARM_STEPS)
            await long.run(late, skip=WARM_STEPS)
    return whole, early, late, grown, written_each


def main() -> None:
    with scripted_model("--turns", str(STEPS_PER_RUN)) as port, daemon(port) as running:
        whole, early, late, grown, written = asyncio.run(_measure(running))
    with scripted_model("--turns", str(COUNTED_STEPS)) as port, tempfile.TemporaryDirectory() as folder:
        commits = asyncio.run(_commits(port, Path(folder)))
    print(f"round trips: {spread(whole.wall, 'ms')}")
    report("wall per round trip", statistics.median(whole.wall), "ms", at_most=8, peers="18, 76-134")
    report("CPU per round trip", statistics.mean(whole.cpu), "ms", at_most=6, peers="18, 60")
    for name, first, last in (("wall", early.wall, late.wall), ("CPU", early.cpu, late.cpu)):
        print(f"{name} at 10-25: {spread(first, 'ms')}; at 1,000: {spread(last, 'ms')}")
    flat = statistics.median(late.wall) / statistics.median(early.wall)
    report("flatness, steps 850-1150 over steps 10-25", flat, "", at_most=1.2)
    report("flatness of CPU", statistics.mean(late.cpu) / statistics.mean(early.cpu), "")
    report("growth per round trip", grown / 1024, "KB", at_most=6, peers="4-71")
    report("transactions per round trip", commits, "", at_most=4, peers="4-196 writes")
    print(f"write-ahead log and all: {written / 1024:.1f} KB pass to the file system per round trip")
