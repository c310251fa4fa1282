"""When a context is too full, and how far it is emptied.

Owns: the two thresholds with what is reserved for the answer. Pure arithmetic. Never: counting tokens
(`estimate`) or taking anything away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from app.harness.providers.catalog import Catalog
from app.harness.run.run_context import RunContext

FALLBACK_WINDOW = 128_000
"""Tokens taken for the window of a model that nothing is known about."""

RESERVED_OUTPUT = 4_096
"""Tokens kept free for the answer when neither the run nor the catalog names a number."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """`window` and `reserve` are tokens, `upper` and `lower` shares of the window.

    All totals include the reserve."""

    window: int
    reserve: int
    upper: float
    lower: float

    def fires(self, total: int) -> bool:
        """Tell whether a compaction must begin: at the upper threshold, not only above it."""
        return total >= self.upper * self.window

    @property
    def goal(self) -> int:
        """The largest total that is below the lower threshold."""
        return math.ceil(self.lower * self.window) - 1


def threshold_of(run: RunContext, catalog: Catalog) -> Threshold:
    """Return the thresholds of a run's agent for the model that its next call goes to first."""
    candidate, settings = run.plan.route.candidates[0], run.scope.agent.compaction
    window = catalog.context_window(candidate.provider, candidate.model) or FALLBACK_WINDOW
    output = run.meter.limits.max_output_tokens or catalog.max_output(candidate.provider, candidate.model)
    reserve = min(output or RESERVED_OUTPUT, window // 4)
    return Threshold(window, reserve, settings.upper, settings.lower)
