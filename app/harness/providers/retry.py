"""How long to wait before a failed model call is tried again, and when to stop trying.

Owns: the arithmetic of back-off. Never: sleeping, or choosing a provider (`router`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential back-off with full jitter; all times are seconds.

    `total_seconds` bounds the time from the first failure to the start of the last try, `rounds`
    the number of times a chain is walked. `fraction` gives numbers in [0, 1)."""

    base_seconds: float = 0.5
    longest_seconds: float = 20.0
    total_seconds: float = 60.0
    rounds: int = 8
    fraction: Callable[[], float] = random.random

    def delay(self, failed_rounds: int, *, hint: float | None, elapsed: float) -> float | None:
        """Return how long to wait after round `failed_rounds` (1 is the first), or None to give up.

        `hint` is the provider's Retry-After: never wait less. A hint beyond what is left of the
        total means giving up now, because a try before it would fail."""
        if failed_rounds >= self.rounds:
            return None
        ceiling = min(self.longest_seconds, self.base_seconds * 2 ** (failed_rounds - 1))
        wait = max(self.fraction() * ceiling, hint or 0.0)
        return wait if elapsed + wait <= self.total_seconds else None
