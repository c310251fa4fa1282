"""Mounting a folder that is swapped for a link to the outside, again and again."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox import one_cage
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.mounts import Places
from app.cages.cage import Cage, Mount
from app.errors import ToolError
from tests.bridges.sandbox import mounting_in_a_race
from tests.driver.caging import FULL, INSIDE
from tests.driver.machine import need_tier
from tests.driver.rounds import rounds
from tests.driver.swapping import CANARY, Arena, swapping

ENOUGH = rounds(100, 300)
"""How often a race must have ended each way before it says something."""
RACE_SECONDS = 90.0
"""A machine on which that takes longer is out of order; most need two."""
LAUNCHES = rounds(12, 30)
MOST_LAUNCHES = 300
REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    made = Arena.make(tmp_path)
    yield made
    os.close(made.door)


def _race(arena: Arena, mount: str, wanted: dict[str, int]) -> Counter[str]:
    """Mount in mounts that are nobody else's until every end was seen as often as wanted; return how often it
    ended how."""
    need_tier(FULL)
    status = os.fstat(arena.door)
    program = [sys.executable, mounting_in_a_race.__file__, mount]
    places = [str(arena.root), str(arena.outside), json.dumps([status.st_dev, status.st_ino])]
    limits = [json.dumps(wanted), str(RACE_SECONDS)]
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", *program, *places, *limits],
        env={"PYTHONPATH": os.pathsep.join([str(REPOSITORY), *filter(None, sys.path)]), **INSIDE},
        capture_output=True,
        timeout=RACE_SECONDS + 20,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return Counter(json.loads(done.stdout))


@pytest.mark.requirement("fresh_machine.mount_races", "cages.paths.races", "cages.kernel.descriptors")
def test_what_is_mounted_by_descriptor_never_lies_outside(arena: Arena) -> None:
    with swapping(arena.root / "door", arena.root / "bait", at_least=1):
        ends = _race(arena, "descriptor", {"mounted": ENOUGH, "swapped": ENOUGH})
    assert ends["escaped"] == 0
    assert min(ends["mounted"], ends["swapped"]) >= ENOUGH
    assert arena.is_untouched()


@pytest.mark.requirement("cages.paths.races")
def test_what_is_mounted_by_path_lies_outside_when_the_folder_is_swapped_after_the_look(arena: Arena) -> None:
    assert _race(arena, "path", {"escaped": 1}) == {"escaped": 1}


@pytest.mark.requirement("cages.paths.races", "cages.kernel.descriptors")
@pytest.mark.parametrize("inner", [False, True])
async def test_a_cage_that_is_made_meanwhile_never_shows_the_outside(
    children: ChildProcesses, arena: Arena, inner: bool
) -> None:
    arena.put("own")
    os.mkdir(".git", dir_fd=arena.door)
    door = arena.root / "door"
    mounts = (Mount(arena.root, "rw"), Mount(door, "ro")) if inner else (Mount(door, "rw"),)
    need_tier(FULL)
    cages = Cages(children, FULL, quarantine=arena.root.parent / "quarantine")
    ends: Counter[str] = Counter()
    try:
        with swapping(door, arena.root / "bait"):
            for number in range(MOST_LAUNCHES):
                if number >= LAUNCHES and ends["shown"]:
                    break
                try:
                    starter = await cages.children(str(number), Cage(mounts=mounts), arena.root)
                    done = await starter.run(
                        [
                            "/bin/sh",
                            "-c",
                            f"cat {door}/secret {door}/own {arena.outside}/secret; cat {door}/*",
                        ],
                        owner="test",
                        cwd=Path("/"),
                        env=INSIDE,
                        seconds=60,
                        max_output=100_000,
                    )
                    assert CANARY not in done.stdout
                    ends["shown" if b"harmless" in done.stdout else "absent"] += 1
                except ToolError as refused:
                    assert refused.code == "cage_unavailable"
                    ends["refused"] += 1
                await cages.end(str(number))
    finally:
        await cages.aclose()
    assert ends["shown"] > 0
    assert arena.is_untouched()


async def test_a_cage_waits_while_somebody_removes_what_lies_in_it(
    children: ChildProcesses, arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_tier(FULL)
    tries, look = list[float](), one_cage.open_places

    def while_it_is_removed(*arguments: Any, **named: Any) -> Places:
        tries.append(time.monotonic())
        if tries[-1] - tries[0] < 0.4:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "tree/.git")
        return look(*arguments, **named)

    monkeypatch.setattr(one_cage, "open_places", while_it_is_removed)
    cages = Cages(children, FULL, quarantine=arena.root.parent / "quarantine")
    try:
        starter = await cages.children("test", Cage(mounts=(Mount(arena.root, "rw"),)), arena.root)
        command = ["/bin/true"]
        done = await starter.run(command, owner="test", cwd=Path("/"), env=INSIDE, seconds=60, max_output=100)
    finally:
        await cages.aclose()
    assert done.exit_code == 0 and len(tries) > 1
