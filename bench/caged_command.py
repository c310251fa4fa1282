"""Measure `true` in a cage against `true` without one, with the cage's holder running, and the creation of
a cage.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.tier import Tier
from app.cages.cage import Cage, Mount
from bench.figures import report, spread

COMMANDS = 300
CAGES = 20
AT_MOST_MS = 12.0


async def once(starter: ChildStarter, root: Path) -> float:
    """Return how many milliseconds a `true` takes, from its start to its end."""
    began = time.perf_counter()
    await starter.run(["/bin/true"], owner="bench", cwd=root, env={}, seconds=60, max_output=1000)
    return (time.perf_counter() - began) * 1000


async def measure(root: Path) -> None:
    children = ChildProcesses()
    cages = Cages(children, Tier("full", "measured"), quarantine=root / "quarantine")
    project = root / "project"
    (project / ".git").mkdir(parents=True)
    cage = Cage(mounts=(Mount(project, "rw"),))
    try:
        first = []
        for number in range(CAGES):
            starter = await cages.children(str(number), cage, project)
            first.append(await once(starter, project))
            await cages.end(str(number))
        starter = await cages.children("warm", cage, project)
        for one in (starter, children):
            await once(one, project)
        bare, caged = [], []
        for _ in range(COMMANDS):
            bare.append(await once(children, project))
            caged.append(await once(starter, project))
    finally:
        await cages.aclose()
        await children.aclose()
    print(f"bare true: {spread(bare, 'ms')}")
    print(f"caged true, holder warm: {spread(caged, 'ms')}")
    print(f"caged true, cage made for it: {spread(first, 'ms')}")
    above = statistics.median(caged) - statistics.median(bare)
    report("caged true above a bare one, medians", above, "ms", at_most=AT_MOST_MS)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder)))
