"""How the tasks of sessions end: no failure goes unnoticed, whether or not anybody waits for it.

Owns: taking note of it. Never: what a task does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

from app.errors import KagedError

COMMAND = "command"
"""The name of a task whose caller gets what it raised."""

log = logging.getLogger("kaged.session")

T = TypeVar("T")


class Spawn(Protocol):
    """Starts a task that the session manager owns and waits for."""

    def __call__(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]: ...


def note_failure(task: asyncio.Task[Any]) -> None:
    """Log what a task raised, unless its caller gets it."""
    problem = None if task.cancelled() else task.exception()
    if problem is not None and not isinstance(problem, KagedError):
        log.error("the task `%s` failed", task.get_name(), exc_info=problem)
    elif problem is not None and task.get_name() != COMMAND:
        log.warning("the task `%s` failed: %s", task.get_name(), problem)
