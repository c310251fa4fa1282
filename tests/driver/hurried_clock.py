"""A clock of restarts that passes waits at once.

Owns: its time, and what was waited for. Never: a timer.
"""

from __future__ import annotations

import asyncio

from app.bridges.processes.supervisor import Clock


class HurriedClock(Clock):
    """Time passes only by sleeping, and sleeping takes no time. While not `running`, nobody wakes up."""

    def __init__(self, *, runs: bool = True) -> None:
        self.slept: list[float] = []
        self.at = 1_000.0
        self.running = asyncio.Event()
        if runs:
            self.running.set()

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await self.running.wait()
        self.at += seconds
