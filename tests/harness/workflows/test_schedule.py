"""A schedule starts one run for each of its times: never two, and none for a time that has passed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.errors import Conflict
from app.harness.workflows.schedule import MINUTE_MS, next_slot, start_due, start_on_schedule_forever
from app.ids import new_id
from app.storage.models import Project, WorkflowRun
from app.storage.repositories.workflow_runs import WorkflowRunRepository
from app.storage.storage import Storage
from tests.driver.daemon import running_daemon
from tests.driver.schedules import stop_clock
from tests.fakes.provider_server import FakeProvider
from tests.harness.laboratory import Laboratory
from tests.harness.workflows.working import WORKFLOWS_YAML, Shop, says, waits, write_shop

pytestmark = pytest.mark.requirement("workflows.schedule")

DAILY_YAML = WORKFLOWS_YAML + (
    """\
  report:
    description: Report.
    system_prompt: project:/prompts/repair.md
    inputs: { days: { type: integer, default: 7, required: true } }
    tools: [lab.wait]
    invokable_by: [guest]
    schedule: "30 7 * * *"
"""
)


def slot(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.fixture
async def daily(
    lab: Laboratory, tmp_path: Path, settings_overrides: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Shop]:
    stop_clock(monkeypatch)
    root = write_shop(tmp_path / "shop", DAILY_YAML)
    async with running_daemon(tmp_path / "data", **settings_overrides) as daemon, daemon.client() as client:
        shop = Shop(daemon, client)
        await shop.load(root)
        yield shop


async def test_a_time_starts_one_run_however_often_it_is_asked_for(daily: Shop, fake: FakeProvider) -> None:
    fake.script(says("Reported."))
    workflows = daily.daemon.services.management.workflows
    assert await start_due(workflows, slot("2026-11-22T07:29")) == []
    started = [await start_due(workflows, slot("2026-11-22T07:30")) for _ in range(3)]
    (run_id,) = [run_id for found in started for run_id in found]
    run = await daily.until(run_id, "succeeded")
    assert (run["cause"], run["inputs"]) == ("schedule", {"days": 7})
    assert run["scheduled_for"] == "2026-11-22T07:30:00.000Z"
    (row,) = await daily.audit("kaged.workflow.triggered")
    assert row["actor"] == "schedule"


async def test_a_time_is_left_out_while_an_earlier_run_still_waits(
    daily: Shop, fake: FakeProvider, lab: Laboratory
) -> None:
    fake.script(waits("a"))
    workflows = daily.daemon.services.management.workflows
    days = [f"2026-11-{day}T07:30" for day in (22, 23, 24)]
    assert [len(await start_due(workflows, slot(day))) for day in days] == [1, 1, 0]
    await lab.until_started("a")
    assert (await daily.call("GET", "/workflow-runs?state=queued"))["total"] == 1


class Clock:
    """Time that passes when somebody sleeps, and stands still after `end`."""

    def __init__(self, start: int, end: int) -> None:
        self.at, self.end = start, end
        self.over = asyncio.Event()

    def now(self) -> int:
        return self.at

    async def sleep(self, seconds: float) -> None:
        if self.at >= self.end:
            self.over.set()
            await asyncio.Event().wait()
        self.at += max(1, round(seconds * 1000))
        await asyncio.sleep(0)


async def test_the_clock_starts_what_is_due_and_makes_up_for_nothing(daily: Shop, fake: FakeProvider) -> None:
    fake.script(*[says("Reported.")] * 4)
    workflows = daily.daemon.services.management.workflows

    async def pass_time(start: str, end: str) -> None:
        clock = Clock(slot(start), slot(end))
        task = asyncio.create_task(start_on_schedule_forever(workflows, now=clock.now, sleep=clock.sleep))
        async with asyncio.timeout(60):
            await clock.over.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    await pass_time("2026-11-22T07:28", "2026-11-22T07:33")
    await pass_time("2026-11-23T07:30", "2026-11-23T07:32")  # begun behind the time: it is not made up for
    (only,) = (await daily.call("GET", "/workflow-runs"))["items"]
    assert only["scheduled_for"] == "2026-11-22T07:30:00.000Z"

    late = Clock(slot("2026-11-24T07:29"), slot("2026-11-24T07:40"))

    async def slept_through(seconds: float) -> None:
        late.at += 3 * MINUTE_MS  # the machine was asleep
        await late.sleep(0)

    task = asyncio.create_task(start_on_schedule_forever(workflows, now=late.now, sleep=slept_through))
    async with asyncio.timeout(60):
        await late.over.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (await daily.call("GET", "/workflow-runs"))["total"] == 1


async def test_a_clock_that_is_set_back_goes_on_from_there(daily: Shop, fake: FakeProvider) -> None:
    fake.script(says("Reported."))
    clock = Clock(slot("2029-01-01T00:00:30"), slot("2026-11-22T07:33"))
    back = slot("2026-11-22T07:28")

    async def sleep(seconds: float) -> None:
        if clock.at > clock.end:
            clock.at = back  # the time came from the network
        await clock.sleep(seconds)

    workflows = daily.daemon.services.management.workflows
    task = asyncio.create_task(start_on_schedule_forever(workflows, now=clock.now, sleep=sleep))
    async with asyncio.timeout(60):
        await clock.over.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    (only,) = (await daily.call("GET", "/workflow-runs"))["items"]
    assert only["scheduled_for"] == "2026-11-22T07:30:00.000Z"


async def test_the_next_time_is_shown(daily: Shop) -> None:
    found = (await daily.call("GET", f"/projects/{daily.project_id}/workflows"))["items"]
    shown = {one["name"]: one["next_at"] for one in found}
    assert shown["nap"] is None
    assert shown["report"].endswith("T07:30:00.000Z")
    assert next_slot("30 7 * * *", slot("2026-11-22T07:30")) == slot("2026-11-23T07:30")


async def test_a_schedule_with_a_required_input_does_not_compile(
    tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    yaml = DAILY_YAML.replace("default: 7, ", "")
    root = write_shop(tmp_path / "shop", yaml)
    async with running_daemon(tmp_path / "data", **settings_overrides) as daemon, daemon.client() as client:
        shop = Shop(daemon, client)
        refused = await shop.call("POST", "/projects/load", {"path": str(root)}, status=422)
    (found,) = [one for one in refused["error"]["details"]["diagnostics"] if one["severity"] == "error"]
    assert found["code"] == "schedule_input"
    assert yaml.splitlines()[found["line"] - 1].strip().startswith("inputs: { days")


def scheduled(project_id: str, at: int | None) -> WorkflowRun:
    return WorkflowRun(
        id=new_id("wfr"),
        project_id=project_id,
        workflow="report",
        cause="schedule",
        invoked_by={"type": "operator", "id": "schedule"},
        slot=at,
        timeout_seconds=1,
        created_at=1,
    )


async def test_the_database_keeps_one_run_for_each_time(storage: Storage) -> None:
    project = Project(id=new_id("prj"), root="/shop", slug="shop", created_at=1, loaded_at=1)
    await storage.write(lambda uow: uow.projects.add(project))
    for at in (60_000, 120_000, None, None):
        await storage.write(lambda uow, at=at: uow.workflow_runs.add(scheduled(project.id, at)))  # type: ignore[misc]
    with pytest.raises(Conflict):
        await storage.write(lambda uow: uow.workflow_runs.add(scheduled(project.id, 60_000)))


async def test_a_daemon_that_is_slower_than_another_starts_nothing(
    daily: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflows, at = daily.daemon.services.management.workflows, slot("2026-11-22T07:30")
    await workflows.runs.storage.write(lambda uow: uow.workflow_runs.add(scheduled(daily.project_id, at)))
    looked = iter([None])
    there = WorkflowRunRepository.of_slot

    def of_slot(self: WorkflowRunRepository, project_id: str, workflow: str, slot: int) -> WorkflowRun | None:
        """The first look comes before the other daemon's run is committed."""
        return next(looked, there(self, project_id, workflow, slot))

    monkeypatch.setattr(WorkflowRunRepository, "of_slot", of_slot)
    monkeypatch.setattr(WorkflowRunRepository, "count_in_state", lambda *_, **__: 0)
    assert await start_due(workflows, at) == []
    assert (await daily.call("GET", "/workflow-runs"))["total"] == 1
