"""Measure a compaction of 10,000 messages by dropping: plan, storage and events.

It runs in a real daemon with its storage on disk. It also measures how long the event loop was blocked, and
how long reading such a conversation takes.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from app.harness.compaction.compactor import Compactor
from app.harness.loop.run_factory import Start, build_run
from app.storage.models import Message
from bench.figures import report, spread
from tests.driver.conversations import traffic
from tests.driver.daemon import running_daemon
from tests.driver.sessions import write_project

MESSAGES = 10_000
ROUNDS = 7
GOAL_MS = 150
HELD_MS = 50
WINDOW = 20_000


async def _longest_hold(stop: asyncio.Event) -> float:
    """Return the longest time in milliseconds that the event loop ran nothing else."""
    longest, last = 0.0, time.perf_counter()
    while not stop.is_set():
        await asyncio.sleep(0)
        now = time.perf_counter()
        longest, last = max(longest, now - last), now
    return longest * 1000


def _store(rows: list[Message]) -> Any:
    return lambda uow: uow.messages.add_many(rows)


async def _one(services: Any, project_id: str) -> tuple[float, float, float, int]:
    """Return milliseconds of reading back, of compacting, of the longest hold, and how many went."""
    session = await services.sessions.create(project_id, created_by="bench")
    rows = traffic(MESSAGES // 2, words=30, session_id=session.id)[:MESSAGES]
    await services.storage.write(_store(rows), durable=True)
    runs = await services.sessions._runs_of(session.id)
    started = time.perf_counter()
    await runs.parts.conversation.load()
    loaded = (time.perf_counter() - started) * 1000
    begun = await build_run(services.sessions._services.runs, runs.root, runs.row, runs, Start())
    run = begun.context
    compactor = Compactor(run, services.sessions._services.runs.compaction)
    gc.collect()  # the garbage of earlier rounds is no part of this one
    stop = asyncio.Event()
    watching = asyncio.create_task(_longest_hold(stop))
    await asyncio.sleep(0.01)
    started = time.perf_counter()
    done = await compactor.compact("threshold_crossed", "drop")
    taken = (time.perf_counter() - started) * 1000
    stop.set()
    if done.outcome != "completed":
        raise RuntimeError(done.outcome)
    return loaded, taken, await watching, len(done.record.superseded_message_ids)


async def _measure(folder: Path) -> None:
    fake = {"driver": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "sk-bench"}
    settings = {
        "models": {"main": ["fake:model-a"]},
        "providers": {"fake": fake},
        "prices": {"fake:model-a": {"context_window": WINDOW}},
    }
    async with running_daemon(folder / "data", **settings) as running:
        project = await running.services.decisions.loader.load(write_project(folder / "shop"))
        found = [await _one(running.services, project.id) for _ in range(ROUNDS)]
    print(f"{found[0][3]} of {MESSAGES} messages go")
    print(f"reading back: {spread([one[0] for one in found], 'ms')}")
    print(f"compacting: {spread([one[1] for one in found], 'ms')}")
    report("drop over 10,000 messages", statistics.median(one[1] for one in found), "ms", at_most=GOAL_MS)
    report("event loop held", statistics.median(one[2] for one in found), "ms", at_most=HELD_MS)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_measure(Path(folder)))
