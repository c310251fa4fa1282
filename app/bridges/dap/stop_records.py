"""Stops are recorded when they come, whether somebody waits for them or not.

Owns: the task that has each of them looked at, and what is left to record when the session ends. Never:
what a stop is; that is for its report.
"""

from __future__ import annotations

import asyncio

from app.bridges.dap.links import Link
from app.bridges.dap.stop_report import StopReports
from app.bridges.dap.stops import MAX_EVENTS, Standing

MAX_WAITING = 64
_LAST_LOOK_SECONDS = 0.5
"""How long the end of a session waits for the place of a stop that has just come."""


class StopRecords:
    """The records of one session."""

    def __init__(self, reports: StopReports) -> None:
        self._reports = reports
        self._waiting: list[tuple[Link, Standing]] = []
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def came(self, link: Link, standing: Standing) -> None:
        """A stop has come, or a further event of it."""
        if self._closed or standing.count > MAX_EVENTS or any(one is standing for _, one in self._waiting):
            return
        if len(self._waiting) >= MAX_WAITING:
            self._reports.missed(link, standing)
            return
        self._waiting.append((link, standing))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look(), name="record the stops of a program")

    async def aclose(self) -> None:
        """Record what is left; nothing is recorded any more."""
        if self._task is not None and not self._task.done():
            await asyncio.wait({self._task}, timeout=_LAST_LOOK_SECONDS)
            self._task.cancel()
            await asyncio.wait({self._task})
        self._closed = True
        for link, standing in self._waiting:
            self._reports.missed(link, standing)
        self._waiting.clear()

    async def _look(self) -> None:
        while self._waiting:
            link, standing = self._waiting[0]
            seen = None
            while seen is None or (seen.count != standing.count and standing.count <= MAX_EVENTS):
                seen = await self._reports.seen(link, standing)
            del self._waiting[0]
