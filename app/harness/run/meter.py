"""What a run has used so far, and what it may use.

Owns: counts of steps, tokens, cost and time, of the run and of all below it. Never: what happens when a
limit is reached (`loop`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from app.harness.run.limits import Limits, Spent
from app.messages import Cost, Usage


@dataclass(slots=True, weakref_slot=True)
class Meter:
    """The counts of one run. `above` is the meter of the parent's run, or of what sessions share.

    `used_below` is what counts against the limits beside the run's own use, and `subagents_usage` what all
    runs below it have used. `compactor_cost` is published with the next step. `started` is in seconds of
    `time.monotonic`."""

    limits: Limits
    above: Meter | None = None
    step: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    context_tokens: int = 0
    context_window: int | None = None
    used_below: Usage = field(default_factory=Usage)
    cost_below_usd: float | None = None
    subagents_usage: Usage = field(default_factory=Usage)
    subagents_cost_usd: float | None = None
    compactor_cost: Cost | None = None
    warned: set[str] = field(default_factory=set)
    tool_uses: dict[str, int] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def spend(self, usage: Usage, cost: Cost | None) -> None:
        """Add one model call to the run's totals, and to what those above have used below them."""
        self.usage = self.usage + usage
        if cost is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost.total
        for meter in self._lineage(self.above):
            meter.used_below = meter.used_below + usage
            meter.subagents_usage = meter.subagents_usage + usage
            if cost is not None:
                meter.cost_below_usd = (meter.cost_below_usd or 0.0) + cost.total
                meter.subagents_cost_usd = (meter.subagents_cost_usd or 0.0) + cost.total

    def spend_on_compaction(self, usage: Usage, cost: Cost | None) -> None:
        """Count a compactor's model call against the limits; it is not the run's own use."""
        if cost is not None:
            self.compactor_cost = cost if self.compactor_cost is None else self.compactor_cost + cost
        for meter in self._lineage(self):
            meter.used_below = meter.used_below + usage
            if cost is not None:
                meter.cost_below_usd = (meter.cost_below_usd or 0.0) + cost.total

    def all_above(self) -> Iterator[Meter]:
        """Yield the meters that count this run, too: of the runs above it, and of what these share."""
        return self._lineage(self.above)

    def totals(self) -> dict[str, Any]:
        """Return what the run and all below it have used until now, as `run.ended` has it."""
        costs = [cost for cost in (self.cost_usd, self.subagents_cost_usd) if cost is not None]
        return {
            "total_usage": self.usage + self.subagents_usage,
            "total_cost_usd": sum(costs) if costs else None,
        }

    def spent(self) -> Spent:
        """Return what counts against the run's limits: its own use and that of all below it."""
        costs = [cost for cost in (self.cost_usd, self.cost_below_usd) if cost is not None]
        return Spent(
            steps=self.step,
            usage=self.usage + self.used_below,
            cost_usd=sum(costs) if costs else None,
            seconds=time.monotonic() - self.started,
        )

    @staticmethod
    def _lineage(meter: Meter | None) -> Iterator[Meter]:
        while meter is not None:
            yield meter
            meter = meter.above
