"""Checks of edited files: what is asked of a language server, how long it is waited for, what it found.

Owns: these shapes, and the time that the edits of one step wait together. Never: asking (`edit_feedback`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.tools.after_edit.known_errors import Rows, shown
from app.tools.contract.edit_findings import IntroducedError

Stamp = tuple[int, ...] | None
"""The state of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackLimits:
    """Seconds. `before`: an edit is held up by the question what was wrong before it; of these
    `before_beside` for other files than its own. `after`: its result waits for the answer. `late`: an
    answer is waited for at all. Before and after are shared by the edits of a step."""

    before: float = 1.0
    before_beside: float = 0.3
    after: float = 2.0
    late: float = 30.0


@dataclass(frozen=True, slots=True)
class Looked:
    """What the server found: the new errors, and the state of the file that they are for."""

    new: Rows
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class FileCheck:
    """One edited file that a server is asked about. `before` are the errors that there were, None when
    that is not known. The task's result is None when there is no answer."""

    path: str
    place: Path
    before: Rows | None
    task: asyncio.Task[Looked | None]
    withheld: bool = False

    def errors(self) -> tuple[IntroducedError, ...]:
        """Return the new errors as they are shown, once the task is done."""
        looked = self.task.result()
        return () if looked is None else shown(self.path, looked.new, withheld=self.withheld)


class SharedWait:
    """Time that several wait away together: what they wait at the same moment counts once."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._waiting = 0
        self._since = 0.0

    @contextmanager
    def spend(self) -> Iterator[float]:
        """Give the seconds that are left, and count those until the `with` ends."""
        now = time.monotonic()
        if not self._waiting:
            self._since = now
        self._waiting += 1
        try:
            yield max(0.0, self._left - (now - self._since))
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._left -= time.monotonic() - self._since


@dataclass(frozen=True, slots=True)
class StepWait:
    """What the edits of one step may wait in all, before and after they are made."""

    run_id: str | None
    step: int
    before: SharedWait
    after: SharedWait
