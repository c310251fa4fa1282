"""How long a cage may be used: from its first command on, whatever runs in it then.

Owns: the clock of one cage. Never: killing; who runs the cage does that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from app.errors import ToolError


class WallTime:
    """`seconds` from the first start, None for ever. `run_out` is called once, when they are over."""

    def __init__(self, seconds: float | None, run_out: Callable[[], None]) -> None:
        self._seconds = seconds
        self._run_out = run_out
        self._timer: asyncio.TimerHandle | None = None
        self.is_over = False

    def begin(self) -> None:
        """Note a start. Raises ToolError `walltime_exceeded` when the time is over."""
        if self.is_over:
            raise ToolError(
                "walltime_exceeded",
                f"The {self._seconds:g} seconds of the cage's wall time are over, and all in it was ended. "
                "Finish with what there is; nothing more can be started in this run.",
                detail={"walltime_seconds": self._seconds},
            )
        if self._seconds is not None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._end)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        self.is_over = True
        self._run_out()
