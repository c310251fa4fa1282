"""The warnings about the budgets of a run: one for each limit that is near, and one when it is reached.

Owns: the warning as an event and, while nobody has seen it, in the row of the run. Never: counting (`meter`),
or how a run ends (`loop`).
"""

from __future__ import annotations

from collections.abc import Iterator

from app.events.budgets import BudgetWarning
from app.harness.run.limits import Unit, Verdict, judge
from app.harness.run.meter import Meter
from app.harness.run.run_context import RunContext
from app.ids import now_ms
from app.storage.unit_of_work import UnitOfWork


def used_up(run: RunContext) -> Unit | None:
    """Return the unit of a limit that lets the run make no further model call: its own, or one above it. Say
    before which limits are near, also of the runs above it: they wait for it, and do not look."""
    for verdict in judge(run.meter.limits, run.meter.spent()):
        _tell(run, run.meter, verdict)
        if verdict.reached:
            return verdict.unit
    holders = {id(one.meter): one for one in _runs_above(run)}
    root = next(reversed(holders.values()), run)
    for meter in run.meter.all_above():
        for verdict in judge(meter.limits, meter.spent()):
            if verdict.reached:
                return verdict.unit
            _tell(holders.get(id(meter), root), meter, verdict)
    return None


def tell_of_time(run: RunContext) -> None:
    """Say that the time of a run is nearly used up, while it is at work on something long."""
    for verdict in judge(run.meter.limits, run.meter.spent()):
        if verdict.unit == "seconds" and not verdict.reached:
            _tell(run, run.meter, verdict)


def _runs_above(run: RunContext) -> Iterator[RunContext]:
    above = run.parent
    while above is not None:
        yield above
        above = above.parent


def _tell(run: RunContext, meter: Meter, verdict: Verdict) -> None:
    """Say something of a limit in the name of `run`; `meter` is its own, or what sessions share."""
    key = f"{verdict.unit}:{verdict.reached}"
    if key in meter.warned:
        return
    meter.warned.add(key)
    warning = BudgetWarning(
        unit=verdict.unit,
        limit=verdict.limit,
        used=verdict.used,
        reached=verdict.reached,
        shared=meter is not run.meter,
    )
    run_id, at = run.scope.run_id, now_ms()
    stored = warning.model_dump(include={"unit", "limit", "used", "shared"})

    def store(uow: UnitOfWork) -> None:
        # A run that has reached its limit ends, and its session says so.
        if not warning.reached:
            uow.runs.warn_of_budget(run_id, stored, at)

    run.journal.record(warning, statements=store, kept=True)
