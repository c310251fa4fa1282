"""Measure events per second to 1, 10 and 100 clients of one session, at the speed of the model."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

import httpx2
from websockets.asyncio.client import connect

from bench.figures import report
from bench.processes import Running, clock_model, daemon

DELTAS = 3_000


async def _read(url: str, token: str, clients: int) -> tuple[int, int]:
    """Read with `clients` sockets until each has seen the run's end; return frames and bytes."""
    ready = asyncio.Barrier(clients + 1)

    async def one() -> tuple[int, int]:
        frames = size = 0
        headers = {"authorization": f"Bearer {token}"}
        async with connect(url, additional_headers=headers, proxy=None, max_queue=None) as socket:
            await socket.recv()
            await ready.wait()
            async for text in socket:
                frames += 1
                size += len(text)
                if '"type":"run.ended"' in text[:200]:
                    break
        return frames, size

    reading = [asyncio.create_task(one()) for _ in range(clients)]
    await ready.wait()
    print("ready", flush=True)
    counts = await asyncio.gather(*reading)
    return sum(frames for frames, _ in counts), sum(size for _, size in counts)


def _measure(running: Running, clients: int) -> tuple[float, float, float]:
    session = running.new_session()
    command = [
        sys.executable,
        "-m",
        "bench.fanout",
        running.websocket_url(session),
        running.token,
        str(clients),
    ]
    reader = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert reader.stdout is not None
    reader.stdout.readline()
    before, started = running.cpu_seconds(), time.perf_counter()
    with httpx2.Client(base_url=running.url, headers=running.headers, trust_env=False) as client:
        client.post(f"/api/v1/sessions/{session}/messages", json={"content": "Go"}).raise_for_status()
    frames = int(reader.stdout.readline().split()[0])
    seconds, cpu = time.perf_counter() - started, running.cpu_seconds() - before
    reader.wait(30)
    return frames / seconds, seconds, cpu / frames * 1e6


def main() -> None:
    with clock_model(DELTAS, 0) as port, daemon(port) as running:
        _measure(running, 1)
        single = 0.0
        for clients in (1, 10, 100):
            rate, seconds, cpu = _measure(running, clients)
            single = single or rate
            print(f"{clients} clients: {rate:,.0f} frames/s in {seconds:.2f} s, {cpu:.1f} us CPU a frame")
            report(f"frames to {clients} clients against one client", rate / single, "times")


if __name__ == "__main__":
    print(*asyncio.run(_read(sys.argv[1], sys.argv[2], int(sys.argv[3]))), flush=True)
