"""How long the sessions of workflow runs have worked, without the time in which they waited.

Owns: the times of the runs that work now, and telling when one has worked too long. Never: storing them
(`runs` does), or stopping a run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from app.storage.models import WorkflowRun


@dataclass(slots=True)
class _Working:
    before_ms: int
    since: float
    timer: asyncio.TimerHandle


class WorkClock:
    """The runs that work now. `overdue` is called once with the id of one that has used its time."""

    def __init__(self, overdue: Callable[[str], None]) -> None:
        self._overdue = overdue
        self._working: dict[str, _Working] = {}

    def start(self, run: WorkflowRun) -> None:
        """Count from now on; nothing happens when the run works already."""
        if run.id in self._working:
            return
        loop = asyncio.get_running_loop()
        left = max(0.0, run.timeout_seconds - run.elapsed_ms / 1000)
        timer = loop.call_later(left, self._overdue, run.id)
        self._working[run.id] = _Working(run.elapsed_ms, loop.time(), timer)

    def stop(self, run_id: str) -> int | None:
        """Return how long the run has worked in all, in milliseconds, and count no more; None when it did
        not work."""
        elapsed = self.elapsed(run_id)
        working = self._working.pop(run_id, None)
        if working is not None:
            working.timer.cancel()
        return elapsed

    def elapsed(self, run_id: str) -> int | None:
        """Return how long the run has worked until now, in milliseconds; None when it does not work."""
        working = self._working.get(run_id)
        if working is None:
            return None
        return working.before_ms + round((asyncio.get_running_loop().time() - working.since) * 1000)

    def all(self) -> dict[str, int]:
        """Return the milliseconds of every run that works now, by its id."""
        return {run_id: self.elapsed(run_id) or 0 for run_id in self._working}

    def close(self) -> None:
        """Stop all timers."""
        for working in self._working.values():
            working.timer.cancel()
        self._working.clear()
