"""Our own time for one model round trip with one `file.read`, storage and one subscriber.

The scripted model answers at once from a process of its own, so that what is left is the daemon's.
Flatness compares the first round trips of a run with its last ones.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

import httpx2
import orjson
from websockets.asyncio.client import connect

from bench.figures import report, spread
from bench.processes import Running, daemon, scripted_model
from tests.api.daemon import running_daemon
from tests.harness.driving import write_project

STEPS = 1_000
COUNTED_STEPS = 100


async def _watch(running: Running, session_id: str) -> tuple[list[float], list[float]]:
    """Post one message and return when each step started and the daemon's CPU time then."""
    started: list[float] = []
    cpu: list[float] = []
    headers = running.headers
    async with (
        connect(running.websocket_url(session_id), additional_headers=headers, proxy=None) as socket,
        httpx2.AsyncClient(base_url=running.url, headers=headers, trust_env=False) as client,
    ):
        posted = await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "Go"})
        posted.raise_for_status()
        async for text in socket:
            kind = orjson.loads(text)["type"]
            if kind == "step.started":
                started.append(time.perf_counter())
                cpu.append(running.cpu_seconds())
            elif kind == "run.ended":
                return started, cpu
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
        project = await services.projects.load(write_project(folder / "shop"))
        session = await services.sessions.create(project.id, created_by="bench")
        listening = await services.events.subscribe(session.id, 0)
        before = services.storage.statistics.commits
        await services.sessions.post_message(session.id, "Go", actor="bench")
        async for batch in listening.batches():
            if any('"type":"run.ended"' in text for _, _, text in batch):
                listening.close()
                break
        return (services.storage.statistics.commits - before) / COUNTED_STEPS


def main() -> None:
    with scripted_model("--turns", str(STEPS)) as port, daemon(port) as running:
        asyncio.run(_watch(running, running.new_session()))
        session = running.new_session()
        before, written = _checkpointed_size(running), running.written_bytes()
        started, cpu = asyncio.run(_watch(running, session))
        written = running.written_bytes() - written
        after = _checkpointed_size(running)
    with scripted_model("--turns", str(COUNTED_STEPS)) as port, tempfile.TemporaryDirectory() as folder:
        commits = asyncio.run(_commits(port, Path(folder)))
    wall = [(b - a) * 1000 for a, b in itertools.pairwise(started)]
    per_step_cpu = (cpu[-1] - cpu[0]) / (len(cpu) - 1) * 1000
    early, late = statistics.median(wall[5:55]), statistics.median(wall[-50:])
    print(f"round trips: {spread(wall, 'ms')}")
    report("wall per round trip", statistics.median(wall), "ms", at_most=8, peers="18, 76-134")
    report("CPU per round trip", per_step_cpu, "ms", at_most=6, peers="18, 60")
    report("flatness, last 50 over 10th-60th", late / early, "", at_most=1.2)
    report("growth per round trip", (after - before) / 1024 / len(wall), "KB", at_most=6, peers="4-71")
    report("transactions per round trip", commits, "", at_most=4, peers="4-196 writes")
    print(
        f"write-ahead log and all: {written / 1024 / len(wall):.1f} KB pass to the file system per round trip"
    )
