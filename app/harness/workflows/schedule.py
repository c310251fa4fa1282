"""Schedules: a workflow with a cron expression is started at each of its times, in UTC.

Owns: the clock's task, and that each time starts one run at most, also with several daemons. Never: what a
run does. Times that pass without a daemon are not made up for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Protocol

from app.errors import Conflict, KagedError
from app.harness.dsl.compiled import CompiledWorkflow
from app.harness.dsl.cron import parse_cron
from app.harness.dsl.inputs import checked_inputs
from app.harness.issues.author import Author
from app.harness.projects.projects import ProjectRegistry
from app.harness.workflows.runs import QUEUED, WorkflowRuns, new_run
from app.harness.workflows.watch import WorkflowWatch
from app.ids import now_ms
from app.storage.unit_of_work import UnitOfWork

log = logging.getLogger("kaged.workflows")

SCHEDULE = Author("schedule")
MINUTE_MS = 60_000


def next_slot(expression: str, after: int) -> int | None:
    """Return the next time of a schedule after a time, both in milliseconds since the epoch."""
    found = parse_cron(expression).next_after(_moment(after))
    return None if found is None else round(found.timestamp() * 1000)


class Scheduled(Protocol):
    """The workflows that are started by the clock."""

    @property
    def projects(self) -> ProjectRegistry: ...

    @property
    def runs(self) -> WorkflowRuns: ...

    @property
    def watch(self) -> WorkflowWatch: ...


async def start_on_schedule_forever(
    workflows: Scheduled,
    *,
    now: Callable[[], int] = now_ms,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Start what is due at the beginning of each minute. `now` is in milliseconds since the epoch."""
    while True:
        # Waits are cut into pieces, so that a clock that is set, or a machine that slept, is noticed.
        slot = _next_minute(now())
        while (left := slot - now()) > 0:
            await sleep(min(left / 1000, 5.0))
            slot = min(slot, _next_minute(now()))  # earlier when the clock was set back
        if now() - slot >= MINUTE_MS:
            continue  # the time was slept through
        try:
            await start_due(workflows, slot)
        except KagedError as problem:
            log.error("the schedules of %s could not be looked at: %s", _moment(slot), problem.message)
        except Exception:  # one time must not end all that come after it
            log.exception("the schedules of %s could not be looked at", _moment(slot))


async def start_due(workflows: Scheduled, slot: int) -> list[str]:
    """Store a run of every workflow that is due at a minute (milliseconds since the epoch) and begin those
    whose turn it is; return their ids. Asking twice for a minute starts nothing twice."""
    moment = _moment(slot)
    started = []
    for project in workflows.projects.all():
        for name, workflow in (project.compiled.workflows if project.compiled is not None else {}).items():
            if workflow.schedule is None or not parse_cron(workflow.schedule).matches(moment):
                continue
            try:
                run_id = await _start(workflows, project.id, name, workflow, slot)
            except KagedError as problem:
                log.error("schedule of %s in %s: %s", name, project.slug, problem.message)
                continue
            if run_id is not None:
                started.append(run_id)
    if started:
        await workflows.watch.serve()
    return started


async def _start(
    workflows: Scheduled, project_id: str, name: str, workflow: CompiledWorkflow, slot: int
) -> str | None:
    run = new_run(
        project_id,
        name,
        workflow,
        checked_inputs(workflow.inputs, {}),
        cause="schedule",
        invoked_by={"type": "operator", "id": SCHEDULE.name},
        slot=slot,
    )

    def statements(uow: UnitOfWork) -> bool:
        if uow.workflow_runs.of_slot(project_id, name, slot) is not None:
            return False
        if uow.workflow_runs.count_in_state(QUEUED, project_id, name, cause="schedule"):
            log.warning("workflow %s is skipped at %s: its last run is still queued", name, _moment(slot))
            return False
        workflows.runs.add(uow, run, workflow, SCHEDULE)
        return True

    try:
        if not await workflows.runs.storage.write(statements, durable=True):
            return None
    except Conflict as problem:
        if await workflows.runs.storage.read(lambda uow: uow.workflow_runs.of_slot(project_id, name, slot)):
            return None  # another daemon on the same database was faster
        raise problem
    workflows.runs.emit_queued(run, SCHEDULE)
    return run.id


def _next_minute(at: int) -> int:
    return (at // MINUTE_MS + 1) * MINUTE_MS


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
