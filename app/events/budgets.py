"""The events of budgets: a limit of a run is near or reached, and a person has seen it.

Owns: their payloads. Never: what a limit ends (`harness.loop`).
"""

from __future__ import annotations

from typing import Literal

from app.events.payload import EventPayload


class BudgetWarning(EventPayload):
    """A limit is near (`reached` false) or reached; `limit` and `used` are in `unit`. `shared`: the limit is
    that of all attempts together. With `unpriced_model` it does not hold: what calls of that model cost is
    not known, nor in `used`."""

    TYPE = "budget.warning"
    GLOBAL = True
    unit: Literal["tokens", "usd", "seconds", "steps"]
    limit: float
    used: float
    reached: bool
    unpriced_model: str | None = None
    shared: bool = False


class BudgetSeen(EventPayload):
    """A person has seen the warnings of a run: they have left the inbox."""

    TYPE = "budget.seen"
    GLOBAL = True
    run_id: str


BUDGET_EVENTS: tuple[type[EventPayload], ...] = (BudgetWarning, BudgetSeen)
