"""Measure how long a cancel takes while the model is silent: until the provider's connection is closed,
and until the request is answered."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from bench.figures import report, spread
from tests.driver.sessions import driven, provider_settings, write_project
from tests.fakes.provider_script import Reply, Stall, Text
from tests.fakes.provider_server import FakeProvider

ROUNDS = 50


async def _measure() -> tuple[list[float], list[float]]:
    """Return for each round the milliseconds until the connection is closed, and until the answer."""
    left, answered = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with FakeProvider() as fake:
            settings = {
                "models": {"main": ["fake:model-a"]},
                "providers": provider_settings("openai", fake.base_url),
            }
            async with driven(folder / "data", write_project(folder / "shop"), **settings) as driver:
                for number in range(ROUNDS):
                    fake.script(Reply((Text("Hm"), Stall())))
                    async with driver.watching() as watch:
                        await driver.post("Go")
                        await watch.until_text("Hm")
                        asked = time.monotonic()
                        await driver.session_call("POST", "/cancel")
                        answered.append((time.monotonic() - asked) * 1000)
                        left.append((await fake.until_disconnects(number + 1) - asked) * 1000)
                    await driver.new_session()
    return left, answered


def main() -> None:
    left, answered = asyncio.run(_measure())
    report("cancel: connection to the provider closed", statistics.median(left), "ms", at_most=100)
    report("cancel: request answered", statistics.median(answered), "ms", at_most=200)
    print(f"  closed: {spread(left, 'ms')}\n  answered: {spread(answered, 'ms')}")
