"""How often a test of chance repeats: fewer times in `make test-all`, all of them at night."""

from __future__ import annotations

import os

NIGHT = os.environ.get("KAGED_NIGHT") == "1"
SEED = int(os.environ.get("KAGED_SEED", "7"))
"""Where the randomness of the kill tests begins; a failed test prints it."""


def rounds(by_day: int, by_night: int) -> int:
    """Return how many rounds a test runs. `REPEATED` in `tests/speeds.py` names the file of the test."""
    return by_night if NIGHT else by_day
