"""When a process that has crashed may be started again.

Owns: counting crashes, the waits between restarts and the clock they go by. Never: processes.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass


class Clock:
    """The clock of restarts: seconds that only go forward."""

    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Restarts:
    """The crashes of one process. After each the wait is the next of `back_off`; when those are used
    up it is not started again. Having run for `forgive_seconds` clears the count."""

    def __init__(self, back_off: tuple[float, ...], forgive_seconds: float) -> None:
        self._back_off = back_off
        self._forgive = forgive_seconds
        self._began = 0.0
        self.crashes = 0

    @property
    def exhausted(self) -> bool:
        return self.crashes > len(self._back_off)

    @property
    def wait_seconds(self) -> float:
        return self._back_off[self.crashes - 1] if 0 < self.crashes <= len(self._back_off) else 0.0

    def started(self) -> None:
        self._began = time.monotonic()

    def crashed(self) -> None:
        if self._began and time.monotonic() - self._began >= self._forgive:
            self.crashes = 0
        self._began = 0.0
        self.crashes += 1

    def forgive(self) -> None:
        self.crashes = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureLimits:
    """After each failure the wait doubles, from `first_seconds` to `longest_seconds`; so many `failures`
    within `window_seconds` are the end. Having run for `window_seconds` makes the waits short again."""

    failures: int = 5
    window_seconds: float = 600.0
    first_seconds: float = 1.0
    longest_seconds: float = 60.0


class FailureWindow:
    """The failures of one process that is to run always. `now` is a clock in seconds."""

    def __init__(
        self,
        limits: FailureLimits = FailureLimits(),
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits
        self._now = now
        self._recent: deque[float] = deque(maxlen=limits.failures)
        self._in_a_row = 0
        self._began: float | None = None
        self.total = 0

    @property
    def exhausted(self) -> bool:
        """Whether it may not be started again until it is forgiven."""
        full = len(self._recent) == self._recent.maxlen
        return full and self._recent[-1] - self._recent[0] <= self._limits.window_seconds

    @property
    def wait_seconds(self) -> float:
        if not self._in_a_row:
            return 0.0
        doubled = self._limits.first_seconds * 2.0 ** min(self._in_a_row - 1, 32)
        return min(self._limits.longest_seconds, doubled)

    def started(self) -> None:
        self._began = self._now()

    def failed(self) -> None:
        now = self._now()
        if self._began is not None and now - self._began >= self._limits.window_seconds:
            self._in_a_row = 0
        self._began = None
        self._in_a_row += 1
        self.total += 1
        self._recent.append(now)

    def forgive(self) -> None:
        self._recent.clear()
        self._in_a_row = 0
