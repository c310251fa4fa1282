"""How many sessions may run while the daemon has more to do than its processor allows.

Owns: telling a busy moment, and a slow machine, from an overload; the number itself. Never: measuring (the
daemon's watch does), or who waits (`capacity`).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass

LOOKS = 6
"""How many looks in a row decide: with two a second, three seconds."""
FULL, CALM = 0.9, 0.75
"""Shares of one processor. The interpreter uses hardly more than one, whatever the machine has."""
LATE_SECONDS = 0.01
"""How late the event loop is on average when more is ready than it can do."""
DECREASE, INCREASE = 0.7, 1.1


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the daemon: the seconds since the one before, the processor time that its threads have used
    meanwhile, and how late the event loop was."""

    seconds: float
    cpu_seconds: float
    late_seconds: float


class Overload:
    """Fewer sessions while the daemon is overloaded, more when it is not, until the usual limits are enough.

    A machine that gives its processor to others does not count: the daemon is late there, and uses less than
    a whole processor. `at_least` sessions may always run; None turns all of it off."""

    def __init__(self, at_least: int | None) -> None:
        self._at_least = at_least
        self._looks: deque[Look] = deque(maxlen=LOOKS)
        self.ceiling: int | None = None
        """How many sessions may run; None while there is no overload."""

    def take(self, look: Look, *, running: int) -> bool:
        """Take a look into account, with how many sessions run; return whether the ceiling has changed."""
        before = self.ceiling
        self._looks.append(look)
        if self._at_least is not None and len(self._looks) >= LOOKS:
            self._decide(running, self._at_least)
        return self.ceiling != before

    def _decide(self, running: int, at_least: int) -> None:
        busy, late = _means(self._looks)
        self._looks.clear()
        if busy >= FULL and late >= LATE_SECONDS:
            if running > at_least:
                fewer = max(at_least, int(running * DECREASE))
                self.ceiling = fewer if self.ceiling is None else min(self.ceiling, fewer)
        elif busy < CALM and self.ceiling is not None:
            # Fewer than that run although they may: it is not what limits them.
            limits = running >= self.ceiling * DECREASE
            self.ceiling = math.ceil(self.ceiling * INCREASE) if limits else None


def _means(looks: Collection[Look]) -> tuple[float, float]:
    """Return the share of a processor that was used, and how late the loop was on average."""
    seconds = sum(look.seconds for look in looks)
    late = sum(look.late_seconds for look in looks) / len(looks)
    return sum(look.cpu_seconds for look in looks) / seconds, late
