"""Work that several ask for at the same time, done once.

Owns: who waits for what. Never: remembering answers; a later request repeats the work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any


class _Job:
    def __init__(self, task: asyncio.Task[Any]) -> None:
        self.task = task
        self.waiting = 0


class Sharing:
    """Jobs under way, by key."""

    def __init__(self) -> None:
        self._jobs: dict[Hashable, _Job] = {}

    async def run(self, key: Hashable, work: Callable[[], Awaitable[Any]]) -> Any:
        """Do the work, or wait for the same work under way, and return its result. The work is
        cancelled when the last who waits for it is."""
        job = self._jobs.get(key)
        if job is None:
            task = asyncio.ensure_future(work())
            job = self._jobs[key] = _Job(task)
            task.add_done_callback(lambda _: self._over(key, job))
        job.waiting += 1
        try:
            return await asyncio.shield(job.task)
        finally:
            job.waiting -= 1
            if not job.waiting and not job.task.done():
                self._over(key, job)
                job.task.cancel()
                await asyncio.wait({job.task})

    def _over(self, key: Hashable, job: _Job) -> None:
        if self._jobs.get(key) is job:
            del self._jobs[key]
        if job.task.done() and not job.task.cancelled():
            job.task.exception()  # all waiters were cancelled: nobody else will look
