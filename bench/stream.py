"""Measure 300 deltas from a model to one client: the latency of each, and their CPU time.

The latency starts at the moment at which the model wrote the delta. It includes the model's socket and our
reading of it, and is an upper bound of publish-to-client.
"""

from __future__ import annotations

import asyncio
import statistics
import time

import httpx2
import orjson
from websockets.asyncio.client import connect

from bench.figures import report, spread
from bench.processes import Running, clock_model, daemon

DELTAS = 300
GAP = 0.004
RUNS = 5


async def _latencies(running: Running, session_id: str) -> list[float]:
    found: list[float] = []
    headers = running.headers
    async with (
        connect(running.websocket_url(session_id), additional_headers=headers, proxy=None) as socket,
        httpx2.AsyncClient(base_url=running.url, headers=headers, trust_env=False) as client,
    ):
        posted = await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "Go"})
        posted.raise_for_status()
        async for text in socket:
            now = time.monotonic_ns()
            frame = orjson.loads(text)
            if frame["type"] == "message.delta":
                found += [(now - int(said)) / 1e6 for said in frame["payload"]["delta"].split()]
            elif frame["type"] == "run.ended":
                return found
    raise RuntimeError("the socket closed before the run ended")


def main() -> None:
    latencies: list[float] = []
    cpu: list[float] = []
    with clock_model(DELTAS, GAP) as port, daemon(port) as running:
        asyncio.run(_latencies(running, running.new_session()))
        for _ in range(RUNS):
            session = running.new_session()
            before = running.cpu_seconds()
            latencies += asyncio.run(_latencies(running, session))
            cpu.append((running.cpu_seconds() - before) * 1000)
    print(f"model to client: {spread(latencies, 'ms')}")
    report(
        "publish-to-client latency, upper bound",
        statistics.median(latencies),
        "ms",
        at_most=1.5,
        peers="1.1-25",
    )
    report(f"CPU for {DELTAS} deltas", statistics.median(cpu), "ms", at_most=150, peers="310-2110")
