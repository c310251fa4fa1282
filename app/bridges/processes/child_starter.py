"""What starts child processes for somebody: the daemon itself, or a cage.

Owns: the shape that both have, running to the end, and the shape of what keeps cages. Never: starting.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Protocol, Unpack

from app.bridges.processes.child import Child, Finished, run_to_end
from app.bridges.processes.loopback import LOOPBACK
from app.bridges.processes.pipes import Input, StartOptions
from app.cages.cage import Cage


class ChildStarter(Protocol):
    """`ChildProcesses` starts with the daemon's rights, a cage's starter inside the cage."""

    apart: ClassVar[bool]
    """Whether what it starts has process ids and a loopback of its own: then the daemon's mean nothing
    there, and `free_port` and `connect` are the only ways to a port."""

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the environment that a process has for which `start` is given this one."""
        return dict(given)

    async def start(
        self,
        argv: Sequence[str | bytes],
        *,
        owner: str,
        cwd: int | Path,
        env: Mapping[str, str],
        **options: Unpack[StartOptions],
    ) -> Child:
        """Start a program in a session of its own. `owner` is the name in the log, `cwd` a path or the
        descriptor of a folder, `env` the whole environment. Raises SpawnFailed, and ToolError when there is
        no cage."""

    async def run(
        self,
        argv: Sequence[str | bytes],
        *,
        owner: str,
        cwd: int | Path,
        env: Mapping[str, str],
        input: bytes = b"",  # noqa: A002  (the name that subprocess.run gives it)
        seconds: float,
        max_output: int,
        max_memory: int | None = None,
    ) -> Finished:
        """Run a small program to its end and return its output. It is killed after `seconds`, or when its
        stdout or stderr exceeds `max_output` bytes; it can allocate `max_memory` bytes. Raises what `start`
        raises."""
        stdin: Input = "pipe" if input else "null"
        starting = self.start(argv, owner=owner, cwd=cwd, env=env, stdin=stdin)
        return await run_to_end(starting, input, seconds, max_output, max_memory)

    async def free_port(self) -> int:
        """Return a port that nobody listens on at this moment, where it starts processes. Raises OSError."""

    async def connect(self, port: int, host: str = LOOPBACK) -> socket.socket:
        """Return a socket that does not block, connected to a port of the loopback where it starts
        processes. `host` is an address of the loopback or `localhost`. Raises OSError."""


class CageKeeper(Protocol):
    """Keeps cages, each by its key. `sandbox.manager.Cages` is the one."""

    async def children(
        self, key: str, cage: Cage, root: Path, *, about: Mapping[str, str] | None = None
    ) -> ChildStarter:
        """Return the starter of the cage `key`, which is made when it is missing. `root` is the project's
        folder, `about` the owner for the audit. Raises ToolError `cage_unavailable`."""

    async def end(self, key: str) -> None:
        """Kill everything in the cage `key` and forget it; state that is kept stays."""
