"""Starting children of a caged agent where the operator has switched the sandbox off.

Owns: ending them when the cage's wall time, or the cage, is over. Never: holding anything else back.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Unpack

from app.bridges.processes.child import Child
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.loopback import LOOPBACK
from app.bridges.processes.pipes import StartOptions
from app.bridges.processes.process import ChildProcesses
from app.bridges.sandbox.new_names import Settled
from app.bridges.sandbox.wall_time import WallTime
from app.cages.cage import Cage


class TimedStarter(ChildStarter):
    """The cage `key` while the sandbox is switched off. It is its own starter."""

    apart = False
    """They have the process ids and the loopback of the daemon."""

    def __init__(self, children: ChildProcesses, key: str, cage: Cage, root: Path) -> None:
        self.key = key
        self.cage = cage
        self.root = root
        self._children = children
        self._running: set[Child] = set()
        self.wall_time = WallTime(cage.limits.walltime_seconds, self._kill)

    @property
    def starter(self) -> TimedStarter:
        return self

    async def start(
        self,
        argv: Sequence[str | bytes],
        *,
        owner: str,
        cwd: int | Path,
        env: Mapping[str, str],
        **options: Unpack[StartOptions],
    ) -> Child:
        """Start a program with the daemon's rights. Raises SpawnFailed, and ToolError `walltime_exceeded`."""
        self.wall_time.begin()
        child = await self._children.start(argv, owner=owner, cwd=cwd, env=env, **options)
        self._running = {one for one in self._running if not one.is_gone} | {child}
        if self.wall_time.is_over:
            child.kill()
        return child

    async def free_port(self) -> int:
        """Return a port that nobody listens on at this moment. Raises OSError."""
        return await self._children.free_port()

    async def connect(self, port: int, host: str = LOOPBACK) -> socket.socket:
        """Return a socket connected to a port of this machine's loopback. Raises OSError."""
        return await self._children.connect(port, host)

    async def settle(self) -> Settled:
        return Settled()

    async def aclose(self) -> None:
        self.wall_time.close()
        await asyncio.gather(*(child.aclose() for child in self._running))

    def is_busy(self) -> bool:
        return any(not child.is_gone for child in self._running)

    def _kill(self) -> None:
        for child in self._running:
            child.kill()
