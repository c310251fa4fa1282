"""kill -9 at any moment of what workspaces, merges, reverts and commits do: each is done or not, and nothing
is orphaned.

All steps go on at once, each in a repository of its own, so that one kill is a moment of each of them.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.driver.daemon_process import WAIT_SECONDS, DaemonProcess, write_config
from tests.driver.kill_steps import KINDS, Place
from tests.driver.rounds import SEED, rounds

KILLS = rounds(2, 100)
PAST_THE_END = 1.1
"""Of how many lengths of a step a kill is one moment: some come when it is just over."""

pytestmark = pytest.mark.requirement("workspaces.recovery")


def processes_in(folder: Path) -> list[str]:
    """Return the commands of the processes that work for a daemon on this data folder."""
    found, wanted = [], os.fsencode(folder)
    for one in Path("/proc").iterdir():
        if one.name.isdigit() and int(one.name) != os.getpid():
            try:
                words = (one / "cmdline").read_bytes()
                known = words + (one / "environ").read_bytes()
            except OSError:
                continue
            if wanted in known:
                found.append(words.replace(b"\0", b" ").decode("utf-8", "replace"))
    return found


async def ended(folder: Path) -> None:
    """Wait until no process works there any more."""
    async with asyncio.timeout(WAIT_SECONDS):
        while await asyncio.to_thread(processes_in, folder):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.05)


async def lasted(daemon: DaemonProcess, places: list[Place]) -> dict[str, float]:
    """Return how long each step takes beside the others."""

    async def timed(place: Place) -> float:
        began = time.monotonic()
        await place.step(client)
        return time.monotonic() - began

    async with daemon.client() as client:
        await asyncio.gather(*(place.prepare(client) for place in places))
        times = await asyncio.gather(*map(timed, places))
    return {place.kind: took for place, took in zip(places, times, strict=True)}


async def killed(daemon: DaemonProcess, places: list[Place], moments: dict[str, float]) -> None:
    """Kill the daemon when each step goes on for as long as its moment says."""
    latest = max(moments.values())

    async def begun(place: Place) -> None:
        await asyncio.sleep(latest - moments[place.kind])
        await place.step(client)

    async with daemon.client() as client:
        await asyncio.gather(*(place.prepare(client) for place in places))
        steps = [asyncio.create_task(begun(place)) for place in places]
        await asyncio.sleep(latest)
        await daemon.kill()
        await asyncio.gather(*steps, return_exceptions=True)


@pytest.mark.timeout(300 + KILLS * 90)
async def test_kills_at_random_moments_leave_nothing_half_done(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(SEED)
    places = [Place.make(kind, tmp_path) for kind in KINDS]
    roots = [place.root for place in places]
    data, config = tmp_path / "data", write_config(tmp_path / "config.toml", 9)
    daemon = await DaemonProcess.start(data, config, *roots)
    try:
        for place, project in zip(places, daemon.projects, strict=True):
            place.project_id = project["id"]
        lengths = await lasted(daemon, places)
        async with daemon.client() as client:
            for place in places:
                assert await place.check(client, data) == "new", place.kind
        for number in range(KILLS):
            moments = {kind: chance.uniform(0, PAST_THE_END * lengths[kind]) for kind in KINDS}
            await killed(daemon, places, moments)
            await ended(data)
            daemon = await DaemonProcess.start(data, config, *roots)
            async with daemon.client() as client:
                for place in places:
                    try:
                        await place.check(client, data)
                    except AssertionError as problem:
                        where = (
                            f"kill {number} of seed {SEED}, {place.kind} after {moments[place.kind]:.3f} s"
                        )
                        raise AssertionError(f"{where}: {problem}") from problem
        figures = {place.kind: (round(lengths[place.kind], 2), place.ends) for place in places}
        record_property("ends", f"{KILLS} kills of seed {SEED}: {figures}")
        sys.stdout.write(f"seed {SEED}, {KILLS} kills; the seconds of each step and its ends: {figures}\n")
        assert KILLS < 50 or all(all(place.ends.values()) for place in places), figures
    finally:
        await daemon.kill()
