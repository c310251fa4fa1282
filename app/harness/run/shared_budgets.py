"""Budgets that several sessions share: those of attempts.

Owns: the one meter above the runs of a group. What it has counted before is what is stored of the sessions.
Never: what a run does when the budget is used up (`loop`).
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

from app.harness.run.limits import Limits
from app.harness.run.meter import Meter
from app.messages import Usage
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork


class SharedBudgets:
    """One per daemon. A meter lasts as long as a run below it."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._meters: WeakValueDictionary[str, Meter] = WeakValueDictionary()

    async def above(self, session: SessionRow) -> Meter | None:
        """Return the meter that the runs of a session count for as well; None for most sessions."""
        if session.workspace_id is None:
            return None  # every attempt has a workspace
        found = await self._storage.read(lambda uow: _stored(uow, session.id))
        if found is None:
            return None
        group_id, budget, usage, cost = found
        limits = Limits(tokens=budget.get("tokens"), cost_usd=budget.get("cost_usd"))
        meter = Meter(limits, used_below=usage, cost_below_usd=cost)
        return self._meters.setdefault(group_id, meter)


def _stored(uow: UnitOfWork, session_id: str) -> tuple[str, dict[str, Any], Usage, float | None] | None:
    attempt = uow.attempts.get(session_id)
    group = None if attempt is None else uow.attempt_groups.get(attempt.group_id)
    if group is None or group.budget is None:
        return None
    return (group.id, group.budget, *uow.attempts.used(group.id))
