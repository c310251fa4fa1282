"""How much of something a stranger may send in a second.

Owns: the account of it. Never: waiting.
"""

from __future__ import annotations

import time


class Allowance:
    """So much a second, and for one second ahead. `spend` says how long to wait after having spent."""

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._left = per_second
        self._at = time.monotonic()

    def spend(self, amount: float) -> float:
        """Spend, and return for how many seconds nothing more is allowed."""
        self._refill()
        self._left -= amount
        return max(0.0, -self._left / self._per_second)

    def has(self, amount: float) -> bool:
        """Spend the amount if that much is left; return whether it was."""
        self._refill()
        if self._left < amount:
            return False
        self._left -= amount
        return True

    def _refill(self) -> None:
        now = time.monotonic()
        self._left = min(self._per_second, self._left + (now - self._at) * self._per_second)
        self._at = now
