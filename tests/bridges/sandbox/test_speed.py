"""What a cage costs a command."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from app.bridges.processes.process import ChildProcesses
from bench.caged_command import AT_MOST_MS, once
from tests.driver.caging import caged

COMMANDS = 25
TRIES = 6
BARE_ONES = 6
"""A bare command takes 2 ms, so that this is what is promised. On a machine that others use it takes longer,
and so does what a cage adds: both are processes that wait for their turn."""


@pytest.mark.requirement("cages.kernel.speed")
async def test_a_caged_command_costs_little_more_than_a_bare_one(
    children: ChildProcesses, tmp_path: Path
) -> None:
    above = []
    async with caged(children, tmp_path) as cage:
        await once(cage.starter, tmp_path)
        for _ in range(TRIES):  # of a machine that others use, the quietest moment counts
            bare, inside = [], []
            for _ in range(COMMANDS):
                bare.append(await once(children, tmp_path))
                inside.append(await once(cage.starter, tmp_path))
            above.append((median(inside) - median(bare), median(bare)))
            if above[-1][0] <= max(AT_MOST_MS, BARE_ONES * above[-1][1]):
                return
    raise AssertionError(above)
