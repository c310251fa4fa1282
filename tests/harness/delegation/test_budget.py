"""What a child uses is its parent's, and it has no more than its parent has left."""

from __future__ import annotations

from typing import Any

import pytest

from app.messages import Usage
from tests.driver.family import Cast, agent, calling, enabled
from tests.driver.sessions import check_stream
from tests.driver.small_window import runs_of
from tests.fakes.provider_script import Hold, Reply, Stall, Text, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.delegation.conftest import Drive

LIMITED = agent("primary", subagents={"coder": agent("coder", tools=enabled("file.read"))})
LONG = Usage(input_tokens=400, output_tokens=20)


@pytest.mark.requirement("delegation.budget")
async def test_a_child_has_what_its_parent_has_left(drive: Drive, cast: Cast) -> None:
    call = calling(("file_read", {"path": "README.md"}))
    cast.script("primary", calling(("agent-coder", {"task": "x"})), text_reply("Not reached."))
    cast.script("coder", *(Reply(call.parts, usage=LONG) for _ in range(9)))
    async with drive(LIMITED, project={"limits": {"tokens": 1_000}}) as driver, driver.watching() as watch:
        await driver.post("Go")
        await watch.until_state("paused")
        runs = (await driver.session_call("GET", "/runs?all=true"))["items"]
        detail = await driver.session_call("GET")

    # The root waits for its child meanwhile, and is told of as soon as 80 % of its tokens are used.
    near = [f for f in watch.of("budget.warning") if not f["payload"]["reached"]]
    assert [(f.get("agent_path"), f["payload"]["used"]) for f in near][:2] == [
        ("primary.subagents.coder", 840),
        (None, 855),
    ]
    # 15 of the root's own; the child stops before its fourth call, when 15 + 3 * 420 are used.
    assert len(cast.requests["coder"]) == 3
    assert {(r["agent_path"].rpartition(".")[2], r["state"], r["reason"]) for r in runs} == {
        ("primary", "interrupted", "budget_tokens"),
        ("coder", "interrupted", "budget_tokens"),
    }
    assert detail["state_reason"] == "budget"
    root = next(run for run in runs if run["agent_path"] == "primary")
    assert root["usage"]["input_tokens"] == 10
    check_stream(watch.frames)


@pytest.mark.requirement("delegation.budget")
async def test_children_side_by_side_share_what_is_left(drive: Drive, cast: Cast) -> None:
    call = calling(("file_read", {"path": "README.md"}))
    cast.script("primary", calling(*[("agent-coder", {"task": "x"})] * 4))
    cast.script("coder", *(Reply(call.parts, usage=LONG) for _ in range(40)))
    async with drive(LIMITED, project={"limits": {"tokens": 3_000}}) as driver, driver.watching() as watch:
        await driver.post("Go")
        await watch.until_state("paused")
    # Each of four could make eight calls by itself; together they begin none once 3,000 are used.
    assert len(cast.requests["coder"]) <= 12


@pytest.mark.requirement("delegation.budget")
async def test_time_runs_out_for_the_whole_tree(drive: Drive, cast: Cast) -> None:
    cast.script("primary", calling(("agent-coder", {"task": "x"})))
    cast.script("coder", Reply((Text("Hm"), Stall())))
    async with (
        drive(LIMITED, project={"limits": {"walltime_seconds": 600}}) as driver,
        driver.watching() as watch,
    ):
        await driver.post("Go")
        await watch.until_text("Hm")
        here = runs_of(driver)
        for run in (here.active, *here.below()):
            run.clock._deadline.reschedule(0.0)  # as when the ten minutes are over
        await watch.until_state("paused")
        runs = (await driver.session_call("GET", "/runs?all=true"))["items"]
    assert {run["state"] for run in runs} == {"interrupted"} and len(runs) == 2
    check_stream(watch.frames)


@pytest.mark.requirement("delegation.own", "durability.subagent_costs")
async def test_what_children_cost_is_separate(
    drive: Drive, cast: Cast, settings_overrides: dict[str, Any]
) -> None:
    prices = {"fake:model-a": {"input": 1.0, "output": 1.0}}
    cast.script("primary", calling(("agent-coder", {"task": "x"})), text_reply("Done."))
    async with drive(LIMITED, prices=prices) as driver:
        watch = await driver.run("Go")
        cost = (await driver.session_call("GET"))["cost_usd"]
        listed = await driver.last_run()
        run = await driver.call("GET", f"/runs/{(await driver.last_run())['id']}")

    assert cost["subagents"] == pytest.approx(15e-6) and cost["primary"] == pytest.approx(30e-6)
    assert cost["total"] == pytest.approx(45e-6)
    assert run["cost_usd"] == pytest.approx(30e-6)
    assert run["total_cost_usd"] == pytest.approx(45e-6)
    assert (run["usage"]["input_tokens"], run["total_usage"]["input_tokens"]) == (20, 30)
    assert listed["total_cost_usd"] == pytest.approx(45e-6)
    told = watch.of("run.ended")[-1]["payload"]
    assert told["cost_usd"] == pytest.approx(30e-6) and told["total_cost_usd"] == pytest.approx(45e-6)
    assert run["children"][0]["cost_usd"] == pytest.approx(15e-6)


@pytest.mark.requirement("delegation.parallel")
async def test_ten_children_of_one_step_run_at_once(drive: Drive, cast: Cast, fake: FakeProvider) -> None:
    hold = Hold()
    parts = [("agent-coder", {"task": f"part {n}"}) for n in range(10)]
    cast.script("primary", calling(*parts), text_reply("Ok"))
    cast.script("coder", *[Reply((Text("So"), hold, Text(".")))] * 10)
    async with drive(LIMITED) as driver, driver.watching() as watch:
        await driver.post("Go")
        await fake.until_requests(11)  # all ten have been asked, none is answered
        hold.gate.set()
        await watch.until_state("idle")
        runs = (await driver.session_call("GET", "/runs?all=true"))["items"]

    assert len(runs) == 11 and {run["state"] for run in runs} == {"succeeded"}
    answers = [m for m in cast.messages("primary") if m["role"] == "tool"]
    assert [m["tool_call_id"] for m in answers] == [f"call_{n}" for n in range(1, 11)]
    check_stream(watch.frames)
