"""When a process that has crashed may be started again.

Owns: counting crashes, and the waits between restarts. Never: processes.
"""

from __future__ import annotations

import time


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
        """How long to wait before the next start."""
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
