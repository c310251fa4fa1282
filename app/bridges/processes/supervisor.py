"""When a process that has crashed may be started again.

Owns: counting crashes, and the waits between restarts. Never: processes.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable


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


class FailureWindow:
    """The failures of one process that is to run always. After each the wait doubles, from
    `first_seconds` to `longest_seconds`; `most` of them within `window_seconds` are the end. Having run
    for `window_seconds` makes the waits short again. `now` is a clock in seconds."""

    def __init__(
        self,
        *,
        most: int = 5,
        window_seconds: float = 600.0,
        first_seconds: float = 1.0,
        longest_seconds: float = 60.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._window = window_seconds
        self._first = first_seconds
        self._longest = longest_seconds
        self._now = now
        self._recent: deque[float] = deque(maxlen=most)
        self._in_a_row = 0
        self._began: float | None = None
        self.total = 0

    @property
    def exhausted(self) -> bool:
        """Whether it may not be started again until it is forgiven."""
        full = len(self._recent) == self._recent.maxlen
        return full and self._recent[-1] - self._recent[0] <= self._window

    @property
    def wait_seconds(self) -> float:
        return min(self._longest, self._first * 2.0 ** min(self._in_a_row - 1, 32)) if self._in_a_row else 0.0

    def started(self) -> None:
        self._began = self._now()

    def failed(self) -> None:
        now = self._now()
        if self._began is not None and now - self._began >= self._window:
            self._in_a_row = 0
        self._began = None
        self._in_a_row += 1
        self.total += 1
        self._recent.append(now)

    def forgive(self) -> None:
        self._recent.clear()
        self._in_a_row = 0
