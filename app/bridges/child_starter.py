"""What starts child processes for somebody: the daemon itself, or a cage.

Owns: the shape that both have. Never: starting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from app.bridges.pipes import Errors, Input, Output
from app.bridges.process import Child, Finished


class ChildStarter(Protocol):
    """`ChildProcesses` starts with the daemon's rights, a cage's starter inside the cage."""

    async def start(
        self,
        argv: Sequence[str | bytes],
        *,
        owner: str,
        cwd: int | Path,
        env: Mapping[str, str],
        stdin: Input = "null",
        stdout: Output = "pipe",
        stderr: Errors = "pipe",
        terminal: int | None = None,
        lingers: bool = False,
    ) -> Child:
        """Start a program in a session of its own, as `ChildProcesses.start` says. Raises SpawnFailed."""
        ...

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
    ) -> Finished:
        """Run a small program to its end, as `ChildProcesses.run` says. Raises SpawnFailed."""
        ...
