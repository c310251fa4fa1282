"""What adapters ask of us: to run a program in a terminal, to begin a child session.

Owns: checking and serving those requests. Never: trusting them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from app.bridges.dap.requests import DebugOwner


class TerminalProgram(Protocol):
    """A program on a terminal of its own."""

    @property
    def pid(self) -> int | None: ...

    async def aclose(self) -> None:
        """Kill it and all that it started."""
        ...


class Terminals(Protocol):
    """Runs programs on terminals; the bridge of terminals behind it is none of this one's business."""

    async def run(
        self,
        owner: DebugOwner,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        received: Callable[[str], None],
    ) -> TerminalProgram:
        """Start a program. `env` is the whole environment, `received` gets its output as plain text.
        Raises OSError or ToolError when it cannot be started."""
        ...
