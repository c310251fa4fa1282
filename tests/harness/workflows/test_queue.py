"""Runs that wait for their turn: how many go on at once, in which order, and over a restart."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.harness.issues.author import Author
from app.harness.workflows.runs import MAX_QUEUED, oldest_first
from app.storage.repositories.workflow_runs import WaitingRun
from tests.driver.daemon import running_daemon
from tests.driver.sessions import WAIT_SECONDS
from tests.fakes.provider_server import FakeProvider
from tests.harness.laboratory import Laboratory
from tests.harness.workflows.working import WORKFLOWS_YAML, Shop, says, waits, write_shop

pytestmark = pytest.mark.requirement("workflows.queue")


async def test_as_many_runs_go_on_as_the_workflow_says_and_the_oldest_is_next(
    shop: Shop, fake: FakeProvider, lab: Laboratory
) -> None:
    fake.script(waits("a"), waits("b"))
    first, second = await shop.invoke("nap"), await shop.invoke("nap")
    third, fourth = await shop.invoke("nap"), await shop.invoke("nap")
    await lab.until_started("a", "b")
    assert [run["state"] for run in (first, second, third, fourth)] == ["running"] * 2 + ["queued"] * 2
    assert third["session_id"] is None
    # Two more answers: what the first to end says, then what the third one does.
    fake.script(says("Done."), waits("c"))
    lab.release("a")
    await lab.until_started("c")
    assert (await shop.run_of(third["id"]))["state"] == "running"
    assert (await shop.run_of(fourth["id"]))["state"] == "queued"
    cancelled = await shop.call("POST", f"/workflow-runs/{fourth['id']}/cancel")
    assert (cancelled["state"], cancelled["session_id"]) == ("cancelled", None)


def test_no_workflow_waits_behind_all_runs_of_another() -> None:
    def run(number: int, workflow: str) -> WaitingRun:
        return WaitingRun(str(number), "p", workflow, number)

    queued = [run(1, "a"), run(2, "a"), run(3, "a"), run(4, "b"), run(5, "c"), run(6, "b")]
    free = {("p", "a"): 2, ("p", "b"): 5, ("p", "c"): 0}
    assert [one.id for one in oldest_first(queued, free)] == ["1", "4", "2", "6"]


async def test_a_run_begins_though_who_asked_for_it_is_gone(
    shop: Shop, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.script(says("Done."))
    workflows, loop = shop.daemon.services.management.workflows, asyncio.get_running_loop()
    add = workflows.runs.add

    def add_and_cancel(*values: Any) -> Any:
        """As when the agent that calls the tool is stopped while the run is being stored."""
        loop.call_soon_threadsafe(asking.cancel)
        return add(*values)

    monkeypatch.setattr(workflows.runs, "add", add_and_cancel)
    asking = asyncio.create_task(workflows.invoke(shop.project_id, "nap", {}, Author("operator:ada")))
    with pytest.raises(asyncio.CancelledError):
        await asking
    async with asyncio.timeout(WAIT_SECONDS):
        while not (page := await shop.call("GET", "/workflow-runs"))["items"]:  # noqa: ASYNC110 - over HTTP
            await asyncio.sleep(0.02)
    await shop.until(page["items"][0]["id"], "succeeded")


async def test_a_run_waits_for_capacity_like_any_session(
    lab: Laboratory, fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    fake.script(waits("a"), says("Rested."), says("Done."))
    root = write_shop(tmp_path / "shop")
    settings = {**settings_overrides, "limits": {"sessions_per_project": 1}}
    async with running_daemon(tmp_path / "data", **settings) as daemon, daemon.client() as client:
        shop = Shop(daemon, client)
        await shop.load(root)
        await shop.new_session()
        await shop.post("Wait")
        await lab.until_started("a")
        run = await shop.invoke("nap")
        assert (run["state"], run["started_at"]) == ("running", None)
        assert (await shop.until_session(run["id"], "queued"))["state_reason"] == "capacity"
        lab.release("a")
        ended = await shop.until(run["id"], "succeeded")
        assert ended["started_at"] is not None


async def test_too_many_waiting_runs_are_refused(shop: Shop, fake: FakeProvider, lab: Laboratory) -> None:
    fake.script(waits("a"), waits("b"))
    for _ in range(2):
        await shop.invoke("nap")
    await lab.until_started("a", "b")
    for _ in range(MAX_QUEUED):
        await shop.invoke("nap")
    refused = await shop.invoke("nap", status=429)
    assert refused["error"]["details"]["reason"] == "queue_full"


async def test_runs_that_wait_and_that_work_are_taken_up_after_a_restart(
    lab: Laboratory, fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root, data = write_shop(tmp_path / "shop"), tmp_path / "data"
    fake.script(waits("a"), waits("b"))
    settings = {**settings_overrides, "daemon": {"shutdown_grace_seconds": 0}}
    async with running_daemon(data, **settings) as daemon, daemon.client() as client:
        shop = Shop(daemon, client)
        await shop.load(root)
        runs = [await shop.invoke("nap")]
        await lab.until_started("a")
        runs += [await shop.invoke("nap")]
        await lab.until_started("b")
        paused = (await shop.run_of(runs[1]["id"]))["session_id"]
        await shop.call("POST", f"/sessions/{paused}/pause")
        runs += [await shop.invoke("nap")]
        assert [(await shop.run_of(run["id"]))["state"] for run in runs] == ["running", "running", "queued"]
    fake.script(says("One."), says("Three."))
    async with running_daemon(data, **settings) as daemon, daemon.client() as client:
        shop = Shop(daemon, client)
        first = await shop.until(runs[0]["id"], "succeeded")
        third = await shop.until(runs[2]["id"], "succeeded")
        assert {first["output"], third["output"]} == {"One.", "Three."}
        # What an operator has paused is not let go on by a restart.
        assert (await shop.run_of(runs[1]["id"]))["state"] == "running"
        session = await shop.call("GET", f"/sessions/{paused}")
        assert (session["state"], session["state_reason"]) == ("paused", "operator")
        fake.script(says("Two."))
        await shop.call("POST", f"/sessions/{paused}/resume", {})
        assert (await shop.until(runs[1]["id"], "succeeded"))["output"] == "Two."


@pytest.mark.requirement("workflows.durable")
async def test_a_queued_run_of_a_workflow_that_is_gone_fails_with_the_reason(
    lab: Laboratory, fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root, data = write_shop(tmp_path / "shop"), tmp_path / "data"
    fake.script(waits("a"), says("Done."))
    settings = {**settings_overrides, "daemon": {"shutdown_grace_seconds": 0}}
    async with running_daemon(data, **settings) as daemon, daemon.client() as client:
        shop = Shop(daemon, client)
        await shop.load(root)
        works = await shop.invoke("repair", {"area": "ui"})
        await lab.until_started("a")
        waiting = await shop.invoke("repair", {"area": "ui"})
    (root / ".kaged" / "project.yaml").write_text(WORKFLOWS_YAML.replace("  repair:", "  mend:"))
    async with running_daemon(data, **settings) as daemon, daemon.client() as client:
        shop = Shop(daemon, client)
        failed = await shop.until(waiting["id"], "failed")
        assert failed["error"]["code"] == "workflow_not_found"
        assert "repair" in failed["error"]["message"]
        # The one that was at work goes on with the workflow as it was.
        assert (await shop.until(works["id"], "succeeded"))["output"] == "Done."
