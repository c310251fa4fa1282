"""Budgets of a run: steps, tokens, cost, wall time. Pure: numbers in, verdict out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeVar

from app.messages import Usage

WARN_AT = 0.80

Unit = Literal["tokens", "usd", "seconds", "steps"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use; None is unlimited."""

    max_steps: int | None = None
    max_output_tokens: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    walltime_seconds: float | None = None

    def tightened(self, other: Limits) -> Limits:
        """Return the smaller of each limit."""
        return Limits(
            max_steps=_smaller(self.max_steps, other.max_steps),
            max_output_tokens=_smaller(self.max_output_tokens, other.max_output_tokens),
            tokens=_smaller(self.tokens, other.tokens),
            cost_usd=_smaller(self.cost_usd, other.cost_usd),
            walltime_seconds=_smaller(self.walltime_seconds, other.walltime_seconds),
        )

    def remainder(self, spent: Spent) -> Limits:
        """Return what is left of the budgets of tokens, cost and time; steps and the length of one
        answer are each agent's own."""
        return Limits(
            tokens=None if self.tokens is None else max(0, self.tokens - spent.usage.total),
            cost_usd=None if self.cost_usd is None else max(0.0, self.cost_usd - (spent.cost_usd or 0.0)),
            walltime_seconds=None
            if self.walltime_seconds is None
            else max(0.0, self.walltime_seconds - spent.seconds),
        )


N = TypeVar("N", int, float)


def _smaller(first: N | None, second: N | None) -> N | None:
    if first is None or second is None:
        return second if first is None else first
    return min(first, second)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has used; `cost_usd` None when no price is known."""

    steps: int
    usage: Usage
    cost_usd: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """One limit that is near or reached."""

    unit: Unit
    limit: float
    used: float
    reached: bool


def judge(limits: Limits, spent: Spent) -> list[Verdict]:
    """Return every budget that is at 80 % or more; steps are judged by the loop itself."""
    pairs: tuple[tuple[Unit, float | None, float], ...] = (
        ("tokens", limits.tokens, spent.usage.total),
        ("usd", limits.cost_usd, spent.cost_usd or 0.0),
        ("seconds", limits.walltime_seconds, spent.seconds),
    )
    return [
        Verdict(unit=unit, limit=limit, used=used, reached=used >= limit)
        for unit, limit, used in pairs
        if limit is not None and used >= WARN_AT * limit
    ]
