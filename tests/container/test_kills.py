"""Containers that are killed at any moment: the next has on their volumes all that was acknowledged, once.

The work, the moments and the checks are those of `tests/e2e/test_kill.py`; each life is a container.
Every second kill ends the container's first process, as an engine's does, and the others the daemon itself.
"""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import pytest

from tests.container.conftest import MakePlace
from tests.container.engine import ContainerDaemon
from tests.driver.rounds import SEED, rounds
from tests.e2e.test_kill import Lane
from tests.e2e.work_script import Worker
from tests.fakes.provider_server import FakeProvider

KILLS = max(10, int(os.environ.get("KAGED_KILLS", rounds(10, 100))))
LANES = 2


class Containers:
    """Starts the containers of one lane, one after the other, over one project and one data folder."""

    def __init__(self, make: MakePlace, lane: int) -> None:
        self._make = make
        self._lane = lane
        self._number = 0

    async def spawn(self, folder: Path) -> ContainerDaemon:
        if not self._number:
            config = "/run/kaged/config.toml"
            self._place = self._make(
                folder / "shop",
                *("--volume", f"{folder / 'config.toml'}:{config}:ro"),
                environment={"KAGED_PROJECTS__TRUSTED": "/project", "KAGED_CONFIG": config},
                data=folder / "data",
            )
        self._number += 1
        daemon = await ContainerDaemon.spawn_in(self._place, f"lane{self._lane}-{self._number}")
        daemon.killed_whole = (self._lane + self._number) % 2 == 0
        return daemon


@pytest.mark.requirement("image.restart")
@pytest.mark.timeout(300 + KILLS * 15)
async def test_nothing_acknowledged_is_lost_or_doubled_when_containers_are_killed(
    place: MakePlace, tmp_path: Path
) -> None:
    worker = Worker()
    lanes = []
    async with FakeProvider(worker, keep_requests=0) as model, asyncio.TaskGroup() as tasks:
        for number in range(LANES):
            folder = tmp_path / f"lane{number}"
            folder.mkdir()
            chance = random.Random(SEED * LANES + number)
            lanes.append(Lane(folder, model, worker, chance, spawn=Containers(place, number).spawn))
            tasks.create_task(lanes[-1].run(KILLS // LANES))
    assert sum(lane.interrupted for lane in lanes) > KILLS // 4
    assert sum(lane.during_start for lane in lanes) > KILLS // 10
