"""Measure the overhead of a delegation: from the end of the parent's answer to the result of its call, less
the time of the child's own model call.

The child answers at once; the parent delegates repeatedly, one child at a time, then ten in a step.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from pathlib import Path

import httpx2
import orjson
from websockets.asyncio.client import connect

from bench.figures import report, spread
from bench.processes import Running, daemon
from tests.driver.family import agent, who, write_family
from tests.fakes.provider_script import RecordedRequest, Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

DELEGATIONS = 60
WARM = 5
AT_ONCE = 10


def project(root: Path) -> Path:
    return write_family(root, agent("primary", subagents={"coder": agent("coder")}))


class Model:
    """The parent delegates `calls` tasks in each step until `steps` are done; a child answers at once."""

    def __init__(self) -> None:
        self.steps = 0
        self.calls = 1

    def __call__(self, request: RecordedRequest) -> Reply:
        if who(request) != "primary":
            return text_reply("Done.")
        if self.steps == 0:
            return text_reply("All done.")
        self.steps -= 1
        ids = [f"call_{self.steps}_{n}" for n in range(self.calls)]
        return Reply(tuple(ToolCall("agent-coder", {"task": f"Part {one}."}, id=one) for one in ids))


async def steps_of(running: Running, model: Model, steps: int, calls: int) -> list[float]:
    """Return for each step the milliseconds of its delegations, the model's time taken off."""
    model.steps, model.calls = steps, calls
    session, took = running.new_session(), []
    answered, thinking, results = 0.0, 0.0, 0
    async with (
        connect(running.websocket_url(session), additional_headers=running.headers, proxy=None) as socket,
        httpx2.AsyncClient(base_url=running.url, headers=running.headers, trust_env=False) as client,
    ):
        address = f"/api/v1/sessions/{session}/messages"
        (await client.post(address, json={"content": "Go"})).raise_for_status()
        async for text in socket:
            frame = orjson.loads(text)
            kind, of_child = frame["type"], frame.get("agent_path", "primary") != "primary"
            if kind == "message.end" and of_child:
                thinking = max(thinking, frame["payload"]["stats"]["duration"])
            elif kind == "message.end":
                answered, thinking, results = time.perf_counter(), 0.0, 0
            elif kind == "message.tool_result" and not of_child:
                results += 1
                if results == calls:
                    took.append((time.perf_counter() - answered) * 1000 - thinking)
            elif kind == "run.ended" and not of_child:
                return took
    raise RuntimeError("the socket closed before the run ended")


async def measure() -> tuple[list[float], list[float]]:
    model = Model()
    async with FakeProvider(model, keep_requests=0) as provider:
        with daemon(provider.port, project=project) as running:
            single = await steps_of(running, model, DELEGATIONS + WARM, 1)
            many = await steps_of(running, model, DELEGATIONS // AT_ONCE + WARM, AT_ONCE)
    return single[WARM:], many[WARM:]


def main() -> None:
    single, many = asyncio.run(measure())
    print(f"one delegation: {spread(single, 'ms')}; a step with {AT_ONCE}: {spread(many, 'ms')}")
    report("overhead of a delegation", statistics.median(single), "ms", at_most=15)
    report(f"overhead of each of {AT_ONCE} at once", statistics.median(many) / AT_ONCE, "ms", at_most=15)
