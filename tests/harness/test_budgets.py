"""What ends a run before the model does: steps, output tokens, tokens, cost, time, going in circles."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.harness.run.limits import Limits, Spent, judge
from app.messages import Usage
from tests.driver.loop_clock import put_all_forward
from tests.driver.sessions import (
    DRIVERS,
    PROJECT_YAML,
    Driver,
    check_stream,
    driven,
    provider_settings,
    write_project,
)
from tests.fakes.provider_script import Reply, Stall, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.laboratory import LAB_YAML, Laboratory


@pytest.fixture
def driven_with(tmp_path: Path, settings_overrides: dict[str, Any]) -> Any:
    """Return what drives a daemon over a project with a piece of YAML added to it."""

    @asynccontextmanager
    async def drive(yaml: str = "", *, base: str = PROJECT_YAML, **settings: Any) -> AsyncIterator[Driver]:
        root = write_project(tmp_path / "limited", base + yaml)
        async with driven(tmp_path / "data", root, **{**settings_overrides, **settings}) as driver:
            yield driver

    return drive


def read(number: int, usage: Usage | None = None) -> Reply:
    call = ToolCall("file_read", {"path": "README.md", "limit": number + 1}, id=f"c{number}")
    return Reply((call,), usage=usage or Usage(input_tokens=10, output_tokens=5))


@pytest.mark.requirement("loop.stops")
async def test_a_run_ends_after_max_steps_and_continue_gives_it_as_many_again(
    fake: FakeProvider, driven_with: Any
) -> None:
    async with driven_with("limits: { max_steps: 2 }\n") as driver:
        fake.script(read(1), read(2), read(3), text_reply("Done."))
        watch = await driver.run("Go")
        run = await driver.last_run()
        assert (run["state"], run["reason"], run["step_count"]) == ("succeeded", "max_steps", 2)
        assert fake.request_count == 2
        assert len(watch.of("message.tool_result")) == 2
        async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
            await driver.session_call("POST", "/continue", status=201)
            await watch.until_state("idle")
        assert fake.request_count == 4
        assert [m["role"] for m in fake.requests[2].json["messages"]][-1] == "tool"
        assert (await driver.last_run())["reason"] == "stop"


@pytest.mark.requirement("loop.stops")
async def test_an_agents_own_max_steps_come_before_the_projects_and_the_daemons_bound_holds(
    fake: FakeProvider, driven_with: Any
) -> None:
    yaml = "  max_steps: 3\nlimits: { max_steps: 1 }\n"
    async with driven_with(yaml, limits={"max_steps": 2}) as driver:
        fake.script(read(1), read(2), read(3), read(4))
        await driver.run("Go")
        assert (await driver.last_run())["step_count"] == 2


@pytest.mark.requirement("loop.stops")
@pytest.mark.parametrize("wire", DRIVERS)
async def test_max_output_tokens_reach_the_wire_and_the_stop_reason_length_comes_back(
    fake: FakeProvider, driven_with: Any, wire: str
) -> None:
    providers = provider_settings(wire, fake.base_url)
    async with driven_with("limits: { max_output_tokens: 77 }\n", providers=providers) as driver:
        fake.script(Reply((Text("Cut o"),), finish="length"))
        watch = await driver.run("Go")
        body = fake.requests[0].json
        sent = {
            "openai": body.get("max_tokens", body.get("max_completion_tokens")),
            "openai-responses": body.get("max_output_tokens"),
            "anthropic": body.get("max_tokens"),
            "google": body.get("generationConfig", {}).get("maxOutputTokens"),
        }
        assert sent[wire] == 77
        assert watch.of("message.end")[0]["payload"]["stopReason"] == "length"
        assert (await driver.last_run())["reason"] == "length"


@pytest.mark.requirement("loop.stops")
async def test_without_a_limit_none_is_sent(fake: FakeProvider, driven_with: Any) -> None:
    async with driven_with() as driver:
        fake.script(text_reply("Hi"))
        await driver.run("Go")
        assert not {"max_tokens", "max_completion_tokens"} & fake.requests[0].json.keys()


@pytest.mark.requirement("loop.stops")
async def test_a_sessions_overrides_come_before_the_projects_limits(
    fake: FakeProvider, driven_with: Any
) -> None:
    async with driven_with("limits: { max_steps: 5, max_output_tokens: 77 }\n") as driver:
        await driver.new_session(overrides={"max_steps": 1, "max_output_tokens": 33})
        fake.script(read(1), read(2))
        await driver.run("Go")
        assert (await driver.last_run())["reason"] == "max_steps"
        body = fake.requests[0].json
        assert body.get("max_tokens", body.get("max_completion_tokens")) == 33


@pytest.mark.requirement("loop.budgets")
async def test_a_token_budget_warns_at_80_percent_and_pauses_the_session_when_reached(
    fake: FakeProvider, driven_with: Any
) -> None:
    async with driven_with("limits: { tokens: 100 }\n") as driver:
        usage = Usage(input_tokens=30, output_tokens=10, cache_read_tokens=2)
        fake.script(read(1, usage), read(2, usage), read(3, usage), text_reply("Done."))
        async with driver.watching() as watch:
            await driver.post("Go")
            await watch.until_state("paused")
            check_stream(watch.frames)
            warnings = [f["payload"] for f in watch.of("budget.warning")]
            assert [(w["unit"], w["used"], w["reached"]) for w in warnings] == [
                ("tokens", 84, False),
                ("tokens", 126, True),
            ]
            detail = await driver.session_call("GET")
            assert (detail["state"], detail["state_reason"]) == ("paused", "budget")
            run = await driver.last_run()
            assert (run["state"], run["reason"]) == ("interrupted", "budget_tokens")
            (checkpoint,) = (await driver.session_call("GET", "/checkpoints"))["items"]
            assert (checkpoint["reason"], checkpoint["created_by"]) == ("budget", "daemon")
            assert checkpoint["message_cursor"] == (await driver.messages())[-1]["id"]
            await driver.session_call("POST", "/resume", status=201)
            await watch.until_state("idle")
        assert fake.request_count == 4


@pytest.mark.requirement("loop.budgets", "providers.prices")
async def test_a_cost_budget_that_cannot_hold_is_reported_once_and_the_sums_say_what_is_not_in_them(
    fake: FakeProvider, driven_with: Any
) -> None:
    yaml = "limits: { cost_usd: 5 }\n"
    prices = {"fake:model-b": {"input": 1.0, "output": 1.0}}
    models = {"main": ["fake:model-a"], "known": ["fake:model-b"]}
    async with driven_with(yaml, prices=prices, models=models) as driver:
        fake.script(text_reply("Cheap."), read(1), read(2), text_reply("Done."))
        watch = await driver.run("Go", model="known")
        assert not watch.of("budget.warning")
        assert not (await driver.session_call("GET"))["cost_usd"]["incomplete"]
        watch = await driver.run("Go")
        (warning,) = watch.of("budget.warning")
        assert warning["payload"]["unpriced_model"] == "fake:model-a"
        assert (warning["payload"]["limit"], warning["payload"]["reached"]) == (5, False)
        last, first = (await driver.session_call("GET", "/runs"))["items"]
        assert (await driver.call("GET", f"/runs/{last['id']}"))["cost_incomplete"]
        assert not (await driver.call("GET", f"/runs/{first['id']}"))["cost_incomplete"]
        assert (await driver.session_call("GET"))["cost_usd"]["incomplete"]


@pytest.mark.requirement("loop.budgets", "providers.prices")
async def test_a_cost_budget_counts_by_the_price_table(fake: FakeProvider, driven_with: Any) -> None:
    prices = {"fake:model-a": {"input": 1000.0, "output": 2000.0}}
    async with driven_with("limits: { cost_usd: 0.049 }\n", prices=prices) as driver:
        fake.script(*(read(n, Usage(input_tokens=10, output_tokens=5)) for n in range(4)))
        async with driver.watching() as watch:
            await driver.post("Go")
            await watch.until_state("paused")
        assert [f["payload"]["unit"] for f in watch.of("budget.warning")] == ["usd", "usd"]
        run = await driver.last_run()
        assert run["reason"] == "budget_usd"
        assert run["cost_usd"] == pytest.approx(0.06)
        assert (await driver.session_call("GET"))["cost_usd"]["primary"] == pytest.approx(0.06)
        assert watch.of("message.end")[0]["payload"]["stats"]["cost"]["total"] == pytest.approx(0.02)


@pytest.mark.requirement("loop.budgets")
async def test_a_cost_budget_does_not_stop_a_model_whose_price_is_not_known(
    fake: FakeProvider, driven_with: Any
) -> None:
    async with driven_with("limits: { cost_usd: 0.000001 }\n") as driver:
        fake.script(read(1), text_reply("Done."))
        watch = await driver.run("Go")
        assert (await driver.last_run())["reason"] == "stop"
        assert watch.of("message.end")[0]["payload"]["stats"]["cost"] is None


@pytest.mark.requirement("loop.budgets")
async def test_the_time_of_a_run_ends_also_in_the_middle_of_a_stalled_stream(
    fake: FakeProvider, driven_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven_with("limits: { walltime_seconds: 60 }\n") as driver:
        fake.script(Reply((Text("Half"), Stall())))
        async with driver.watching() as watch:
            await driver.post("Go")
            await watch.until_text("Half")
            put_all_forward(monkeypatch, 60)
            await watch.until_state("paused")
        check_stream(watch.frames)
        await fake.until_disconnects()
        assert watch.of("message.end")[0]["payload"]["stopReason"] == "aborted"
        assert watch.of("budget.warning")[-1]["payload"]["unit"] == "seconds"
        assert watch.of("budget.warning")[-1]["payload"]["reached"]
        run = await driver.last_run()
        assert (run["state"], run["reason"]) == ("interrupted", "budget_seconds")
        assert (await driver.messages())[-1]["content"] == "Half"
        (checkpoint,) = (await driver.session_call("GET", "/checkpoints"))["items"]
        assert checkpoint["reason"] == "budget"


@pytest.mark.requirement("loop.budgets")
async def test_the_time_of_a_run_ends_also_while_a_tool_runs(
    fake: FakeProvider, lab: Laboratory, driven_with: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with driven_with("limits: { walltime_seconds: 60 }\n", base=LAB_YAML) as driver:
        fake.script(Reply((ToolCall("lab_wait", {"name": "a"}, id="c1"),)))
        async with driver.watching() as watch:
            await driver.post("Go")
            await lab.until_started("a")
            put_all_forward(monkeypatch, 50)
            await watch.until_type("budget.warning")
            put_all_forward(monkeypatch, 60)
            await watch.until_state("paused")
        check_stream(watch.frames)
        assert lab.running == 0
        assert (await driver.last_run())["reason"] == "budget_seconds"
        warnings = [frame["payload"] for frame in watch.of("budget.warning")]
        # While the tool still ran.
        assert [(w["unit"], w["reached"]) for w in warnings] == [("seconds", False), ("seconds", True)]
        assert 48 <= warnings[0]["used"] < 60


@pytest.mark.requirement("loop.stops", "durability.stuck_run")
async def test_a_model_that_asks_for_the_same_thing_again_and_again_is_stopped(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.respond = lambda _: Reply((ToolCall("file_read", {"path": "missing.txt"}, id="c1"),))
    await driver.run("Go")
    run = await driver.last_run()
    assert (run["state"], run["reason"]) == ("interrupted", "stuck")
    assert fake.request_count < 10
    fake.respond = lambda _: text_reply("I see.")
    assert await driver.state() == "idle"
    goes_on = await driver.session_call("POST", "/continue", status=201)
    async with driver.watching() as watch:
        await watch.until(
            lambda f: f["payload"].get("run_id") == goes_on["run"]["id"] and f["type"] == "run.ended"
        )
    assert (await driver.last_run())["state"] == "succeeded"


@pytest.mark.requirement("loop.budgets")
def test_the_smaller_of_two_limits_holds_and_nothing_is_judged_before_80_percent() -> None:
    mine, theirs = Limits(tokens=100, max_steps=3), Limits(tokens=50, cost_usd=1.0)
    both = mine.tightened(theirs)
    assert (both.tokens, both.max_steps, both.cost_usd) == (50, 3, 1.0)
    spent = Spent(steps=1, usage=Usage(input_tokens=39), cost_usd=None, seconds=1e9)
    assert judge(both, spent) == []
    (near,) = judge(both, Spent(steps=1, usage=Usage(input_tokens=40), cost_usd=0.1, seconds=0))
    assert (near.unit, near.reached) == ("tokens", False)
