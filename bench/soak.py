"""Measure what 20,000 turns leave behind: memory, descriptors, threads, database and its write-ahead log.

Twenty sessions run at a time. Each is deleted after forty turns, and another takes its place. `SOAK_TURNS`
says how many turns there are. The figures compare the end, where all sessions are deleted, with the level
after the first tenth, where all sessions are deleted as well.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from contextlib import AsyncExitStack, closing
from pathlib import Path

import httpx2
import orjson
from websockets.asyncio.client import connect

from bench.figures import report
from bench.processes import Running, clock_model, daemon

TURNS = int(os.environ.get("SOAK_TURNS", "20000"))
AT_ONCE, TURNS_EACH, WORDS, PARTS = 20, 40, 20, 10
LIMITS = f"""
[limits]
sessions_per_project = {AT_ONCE}
sessions_per_operator = {AT_ONCE}
requests_per_minute = 600000
"""
Level = tuple[float, int, int, float, float]


def _level(running: Running) -> Level:
    """Return MiB of memory, descriptors, threads, and MiB of the database without its audit trail and of its
    log."""
    process = Path(f"/proc/{running.pid}")
    log = running.data_dir / "kaged.db-wal"
    descriptors, threads = (len(os.listdir(process / name)) for name in ("fd", "task"))
    return running.memory_mib(), descriptors, threads, _database_mib(running), log.stat().st_size / 2**20


def _database_mib(running: Running) -> float:
    """The audit trail outlives its sessions, as long as `storage.audit_retention_days` says."""
    sizes = "SELECT sum(pgsize) FROM dbstat WHERE name NOT LIKE '%audit%'"
    with closing(sqlite3.connect(running.data_dir / "kaged.db")) as database:
        return float(database.execute(sizes).fetchone()[0]) / 2**20


async def _session(running: Running, client: httpx2.AsyncClient) -> int:
    """Make a session, run its turns one after the other, delete it; return how many have failed."""
    session, failed = await running.make_session(client), 0
    async with AsyncExitStack() as stack:
        socket = await stack.enter_async_context(
            connect(running.websocket_url(session), additional_headers=running.headers, proxy=None)
        )
        for _ in range(TURNS_EACH):
            path = f"/api/v1/sessions/{session}/messages"
            (await client.post(path, json={"content": "Go"})).raise_for_status()
            async for text in socket:
                frame = orjson.loads(text)
                if frame["type"] == "run.ended":
                    failed += frame["payload"]["state"] != "succeeded"
                    break
    (await client.delete(f"/api/v1/sessions/{session}")).raise_for_status()
    return failed


async def _part(running: Running, client: httpx2.AsyncClient) -> int:
    left = TURNS // PARTS // TURNS_EACH
    failed = 0

    async def work() -> None:
        nonlocal left, failed
        while left > 0:
            left -= 1
            failed += await _session(running, client)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())
    return failed


async def _soak(running: Running) -> None:
    levels: list[Level] = []
    began = time.monotonic()
    async with httpx2.AsyncClient(
        base_url=running.url,
        headers=running.headers,
        trust_env=False,
        timeout=120,
        limits=httpx2.Limits(keepalive_expiry=1),
    ) as client:
        for part in range(1, PARTS + 1):
            failed = await _part(running, client)
            await asyncio.sleep(5)
            levels.append(_level(running))
            memory, descriptors, threads, database, log = levels[-1]
            print(
                f"{TURNS * part // PARTS} turns in {time.monotonic() - began:.0f} s, {failed} failed: "
                f"{memory:.0f} MiB, {descriptors} descriptors, {threads} threads, "
                f"database without audit trail {database:.1f} MiB, its log {log:.1f} MiB",
                flush=True,
            )
    names = ("memory", "descriptors", "threads", "database", "write-ahead log")
    for name, first, last in zip(names, levels[0], levels[-1], strict=True):
        report(f"{name} at the end against the first tenth", last / max(first, 0.01), "times")


def main() -> None:
    with clock_model(WORDS, 0) as port, daemon(port, settings=LIMITS) as running:
        asyncio.run(_soak(running))
