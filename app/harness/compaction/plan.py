"""What a strategy is given, and what it proposes.

Owns: these two shapes and the arithmetic between them. Pure. Never: rows, or carrying a plan out
(`compactor`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.errors import Failure
from app.harness.compaction.units import Unit
from app.harness.run.compaction_requests import StrategyName
from app.messages import Cost, Usage


class StrategyFailed(Failure):
    """A strategy cannot do it; `reason` is for the operator, its beginning a stable code."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What a compactor's model calls have used; `cost` is null when a price is not known."""

    provider: str
    model: str
    usage: Usage
    cost: Cost | None
    calls: int


@dataclass(frozen=True, slots=True)
class Summary:
    """The text that stands for what goes; `facts` are those it keeps word for word."""

    text: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Window:
    """A conversation that is to be compacted. `goal` is how many uncalibrated tokens may be left;
    `measure` gives the total of a request with so many."""

    units: Sequence[Unit]
    kept: frozenset[int]
    goal: int
    measure: Callable[[int], int]

    @property
    def tokens(self) -> int:
        return sum(unit.tokens for unit in self.units)

    def candidates(self) -> list[Unit]:
        """Return the units that may go, the oldest first."""
        return [unit for index, unit in enumerate(self.units) if index not in self.kept]

    def oldest(self, room: int = 0, *, keep_summaries: bool = False) -> list[Unit]:
        """Return the oldest units that must go so that `room` tokens are free below the goal.

        With `keep_summaries` no summary is among them; notes about dropped messages are. Nothing goes
        where only what stands for earlier messages would go."""
        left, gone = self.tokens, []
        for unit in self.candidates():
            if left + room <= self.goal:
                break
            if keep_summaries and unit.is_summary and unit.dropped is None:
                continue
            gone.append(unit)
            left -= unit.tokens
        return [] if all(unit.is_summary for unit in gone) else gone


@dataclass(slots=True)
class Plan:
    """What is to go and what comes in its place. `method` is what was really done."""

    method: StrategyName
    gone: list[Unit]
    summary: Summary | None = None
    spending: Spending | None = None
    fallback_reason: str | None = None
    fired: list[dict[str, Any]] = field(default_factory=list)
    inject: list[tuple[str, str]] = field(default_factory=list)
    """What plugins want said, by name; it stands in the summary message."""
