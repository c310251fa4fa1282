"""Answers that would cost more than they say: long names, long texts, and those that are stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.harness.loop.turn import partial_save_pause
from app.messages import Usage
from tests.driver.sessions import Driver, driven, provider_settings
from tests.fakes.provider_script import Reply, Stall, StreamError, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider


async def test_a_call_with_an_endless_name_and_id_is_reported_and_answered_with_short_ones(
    driver: Driver, fake: FakeProvider
) -> None:
    calls = tuple(ToolCall("n" * 50_000, {}, id="i" * 50_000) for _ in range(2))
    fake.script(Reply(calls), text_reply("Done."))
    watch = await driver.run("Go")
    told = [frame["payload"] for frame in watch.of("message.tool_call")]
    assert {call["name"] for call in told} == {"n" * 200}
    assert [call["id"] for call in told] == ["i" * 200, "i" * 200 + "_2"]
    assert max(len(str(frame)) for frame in watch.frames) < 5_000
    asked, *answered = fake.requests[1].json["messages"][-3:]
    assert [call["id"] for call in asked["tool_calls"]] == [m["tool_call_id"] for m in answered]
    assert all("no tool" in m["content"] and len(m["content"]) < 1_000 for m in answered)


async def test_calls_of_a_server_that_counts_each_answers_from_zero_have_different_ids(
    driver: Driver, fake: FakeProvider
) -> None:
    calls = Reply((ToolCall("file_read", {"path": "a.txt"}, id="0"),))
    fake.script(calls, calls, text_reply("Once."), calls, text_reply("Again."))
    await driver.run("Go")
    await driver.run("On")
    messages = fake.requests[-1].json["messages"]
    asked = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    assert asked == ["0", "0_2", "0_3"]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == asked


@pytest.mark.requirement("loop.tool_errors")
@pytest.mark.parametrize(("arrived", "place"), [("", ""), ('{"path": "a.t', "character 9")])
async def test_a_call_that_the_limit_cut_off_is_not_run_and_the_model_learns_why(
    driver: Driver, fake: FakeProvider, arrived: str, place: str
) -> None:
    fake.script(Reply((ToolCall("file_read", arrived),), finish="length"), text_reply("Smaller, then."))
    watch = await driver.run("Go")
    answered = fake.requests[1].json["messages"][-1]
    assert "reached its limit of output tokens" in answered["content"]
    assert place in answered["content"]
    assert watch.of("message.tool_result")[0]["payload"]["isError"] is True


def test_what_is_saved_of_an_answer_in_flight_grows_with_the_time_and_not_with_its_square() -> None:
    def written_in(seconds: float) -> float:
        speed, at, written = 20_000, 0.0, 0.0
        while at < seconds:
            at += partial_save_pause(int(speed * at))
            written += speed * at
        return written

    assert partial_save_pause(1_000) == 0.25
    assert written_in(200) < 2.5 * written_in(100)


@pytest.fixture
async def counted(
    tmp_path: Path, fake: FakeProvider, project_root: Path, settings_overrides: dict[str, Any]
) -> Any:
    prices = {"fake:model-a": {"input": 1_000.0, "output": 1.0}}
    provider = provider_settings("anthropic", fake.base_url)
    settings = {**settings_overrides, "providers": provider, "prices": prices}
    async with driven(tmp_path / "data", project_root, **settings) as driver:
        yield driver


@pytest.mark.requirement("loop.cancel")
async def test_a_cancelled_answer_costs_what_its_provider_had_counted_until_then(
    counted: Driver, fake: FakeProvider
) -> None:
    fake.script(Reply((Text("Half an ans"), Stall()), usage=Usage(input_tokens=500, cache_read_tokens=40)))
    async with counted.watching() as watch:
        await counted.post("Go")
        await watch.until_text("Half an ans")
        await counted.session_call("POST", "/cancel")
        await watch.until_state("idle")
    run = await counted.last_run()
    assert (run["usage"]["input_tokens"], run["usage"]["cache_read_tokens"]) == (500, 40)
    assert run["cost_usd"] == pytest.approx(0.54, abs=0.01)
    assert watch.of("message.end")[0]["payload"]["usage"]["inputTokens"] == 500


async def test_counts_alone_are_no_beginning_of_an_answer_a_retry_starts_over_with_them(
    counted: Driver, fake: FakeProvider
) -> None:
    fake.script(
        Reply((StreamError("Overloaded", "overloaded_error"),), usage=Usage(input_tokens=900)),
        Reply((Text("Here."),), usage=Usage(input_tokens=7, output_tokens=3)),
    )
    watch = await counted.run("Go")
    assert len(watch.of("model.retry")) == 1
    run = await counted.last_run()
    assert (run["state"], run["usage"]["input_tokens"]) == ("succeeded", 7)
