"""A project in a cage, and what is asked of it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from app.bridges.processes.child import Child, Finished
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.tier import Tier
from app.cages.cage import Cage, Mount
from tests.driver.machine import need_tier

FULL = Tier("full", "the tests need it")
INSIDE = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def cage_of(root: Path, *more: Mount, **fields: Any) -> Cage:
    """Return a cage that may write to all of a project, but for what `more` says."""
    return Cage(mounts=(Mount(root, "rw"), *more), **fields)


@asynccontextmanager
async def caged(children: ChildProcesses, root: Path, cage: Cage | None = None) -> AsyncIterator[Caged]:
    """Give a cage of the tier full, and end it."""
    need_tier(FULL)
    cages = Cages(children, FULL)
    try:
        starter = await cages.children("test", cage or cage_of(root), root)
        yield Caged(cages, starter, root)
    finally:
        await cages.aclose()


class Caged:
    """One cage and the shortest way to run something in it."""

    def __init__(self, cages: Cages, starter: ChildStarter, root: Path) -> None:
        self.cages = cages
        self.starter = starter
        self.root = root

    async def sh(self, script: str, *, seconds: float = 30.0, **env: str) -> Finished:
        """Run a script to its end."""
        return await self.starter.run(
            ["/bin/sh", "-c", script],
            owner="test",
            cwd=self.root,
            env={**INSIDE, **env},
            seconds=seconds,
            max_output=1_000_000,
        )

    async def says(self, script: str, **env: str) -> str:
        """Return what a script says on both of its outputs."""
        done = await self.sh(script, seconds=30.0, **env)
        return (done.stdout + done.stderr).decode()

    async def start(self, script: str, **options: Any) -> Child:
        """Start a script."""
        return await self.starter.start(
            ["/bin/sh", "-c", script], owner="test", cwd=self.root, env=INSIDE, **options
        )


def holder_of(child_of: int) -> list[int]:
    """Return the processes below a process of this machine."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == child_of:
                found.append(int(name))
    return found
