"""The tasks of all sessions: runs, commands, and what goes on beside them.

Owns: that each is known until it ends, that no failure goes unnoticed, and whether the daemon stops. Never:
what a task does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from app.errors import Unavailable
from app.harness.run.task_ends import COMMAND, note_failure

T = TypeVar("T")


class SessionTasks:
    """One for all sessions."""

    def __init__(self) -> None:
        self.stopping = False
        """The daemon stops: nothing new begins."""
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Start a task; `finished` waits for it."""
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(note_failure)
        return task

    async def shielded(self, command: Coroutine[Any, Any, T]) -> T:
        """Carry a command out to its end, also when the client that gave it goes away."""
        return await asyncio.shield(self.spawn(command, name=COMMAND))

    async def finished(self) -> None:
        """Wait until no task is left."""
        while self._tasks:
            await asyncio.gather(*list(self._tasks), return_exceptions=True)

    def refuse_when_stopping(self) -> None:
        """Raise `Unavailable` once the daemon stops."""
        if self.stopping:
            raise Unavailable("The daemon is stopping; try again after the restart.", reason="stopping")
