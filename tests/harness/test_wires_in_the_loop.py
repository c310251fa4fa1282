"""Every wire protocol through the whole loop: what the model says and how it fails, as it is shown,
stored and sent back."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.messages import Usage
from tests.driver.sessions import DRIVERS, Driver, check_stream, driven, provider_settings, write_project
from tests.fakes.provider_script import (
    Disconnect,
    Document,
    Reply,
    Stall,
    StreamError,
    Text,
    Thinking,
    ToolCall,
    text_reply,
)
from tests.fakes.provider_server import FakeProvider
from tests.harness.laboratory import LAB_YAML, Laboratory

pytestmark = pytest.mark.parametrize("wire", DRIVERS)


@pytest.fixture
async def driver(wire: str, fake: FakeProvider, lab: Laboratory, tmp_path: Path) -> AsyncIterator[Driver]:
    root = write_project(tmp_path / "lab", LAB_YAML)
    (root / "a.txt").write_text("alpha\n")
    (root / "b.txt").write_text("beta\n")
    settings = {
        "providers": provider_settings(wire, fake.base_url),
        "models": {"main": ["fake:model-a"]},
        "prices": {"fake:model-a": {"input": 1.0, "output": 2.0, "cache_read": 0.5}},
    }
    async with driven(tmp_path / "data", root, **settings) as driven_here:
        yield driven_here


@pytest.mark.requirement(
    "providers.openai",
    "providers.responses",
    "providers.anthropic",
    "providers.google",
    "providers.streams",
    "loop.messages",
    "providers.usage",
)
async def test_thinking_and_text_are_streamed_with_all_statistics(driver: Driver, fake: FakeProvider) -> None:
    usage = Usage(input_tokens=100, output_tokens=20, cache_read_tokens=30, reasoning_tokens=8)
    parts = (Thinking("Let me ", None), Text("Hello "), Text("there."))
    fake.script(Reply(parts, usage=usage))
    watch = await driver.run("Say hello")

    kinds = [f["payload"]["kind"] for f in watch.of("message.delta")]
    assert kinds == sorted(kinds, reverse=True)  # thinking first
    assert watch.text() == "Hello there."
    end = watch.of("message.end")[0]["payload"]
    assert end["stopReason"] == "stop"
    assert (end["usage"]["inputTokens"], end["usage"]["outputTokens"]) == (100, 20)
    assert end["usage"]["cacheReadTokens"] == 30
    assert end["usage"]["totalTokens"] == 150
    stats = end["stats"]
    assert 0 <= stats["ttft"] <= stats["duration"]
    assert stats["tps"] > 0
    assert stats["cost"]["total"] == pytest.approx((100 * 1.0 + 20 * 2.0 + 30 * 0.5) / 1e6)
    stored = (await driver.messages())[-1]
    assert stored["content"] == "Hello there."
    assert stored["details"]["usage"] == end["usage"]
    blocks = stored["details"]["contentBlocks"]
    assert [b["type"] for b in blocks] == ["thinking", "text"]


@pytest.mark.requirement("providers.streams", "loop.steps")
async def test_parallel_calls_run_and_their_results_go_back_in_the_order_asked(
    driver: Driver, fake: FakeProvider, lab: Laboratory
) -> None:
    calls = (
        ToolCall("lab_wait", {"name": "one"}, id="call_1"),
        ToolCall("lab_wait", {"name": "two"}, id="call_2"),
        ToolCall("file_read", {"path": "a.txt"}, id="call_3"),
    )
    fake.script(Reply((Text("I look."), *calls)), text_reply("Done."))
    async with driver.watching() as watch:
        await driver.post("Go")
        await lab.until_started("one", "two")
        lab.release("two")
        await watch.until(lambda _: len(watch.of("message.tool_result")) == 2)
        lab.release("one")
        await watch.until_state("idle")

    check_stream(watch.frames)
    assert lab.ended == ["two", "one"]
    shown = [f["payload"]["toolCallId"] for f in watch.of("message.tool_result")]
    assert shown[-1] == watch.of("message.tool_call")[0]["payload"]["id"]
    rows = [m for m in await driver.messages() if m["role"] == "tool"]
    asked = [f["payload"]["id"] for f in watch.of("message.tool_call")]
    assert [m["details"]["toolCallId"] for m in rows] == asked
    body = fake.requests[1].body.decode()
    assert body.index('\\"one\\"') < body.rindex('\\"two\\"') < body.rindex("alpha")


@pytest.mark.requirement("loop.tool_errors")
async def test_malformed_arguments_unknown_tools_and_broken_tools_are_errors_the_model_reads(
    driver: Driver, fake: FakeProvider, wire: str
) -> None:
    calls = [
        ToolCall("file_reed", {"path": "x"}, id="call_1"),
        ToolCall("lab_break", {}, id="call_2"),
        ToolCall("file_read", {"file": "a.txt"}, id="call_3"),
    ]
    codes = ["tool_not_found", "internal_error", "invalid_params"]
    if wire != "google":  # there a malformed call is a finish reason of its own
        calls.append(ToolCall("file_read", '{"path": "a.txt', id="call_4"))
        codes.append("invalid_params")
    fake.script(Reply(tuple(calls)), text_reply("Sorry."))
    watch = await driver.run("Go")

    rows = [m for m in await driver.messages() if m["role"] == "tool"]
    assert [m["details"]["code"] for m in rows] == codes
    assert all(f["payload"]["isError"] for f in watch.of("message.tool_result"))
    detail = await driver.call("GET", f"/runs/{(await driver.last_run())['id']}")
    assert {c["state"] for c in detail["tool_calls"]} == {"failed"}
    body = fake.requests[1].body.decode()
    for code in codes:
        assert code in body
    assert "file.read" in body or "file_read" in body
    assert (await driver.last_run())["state"] == "succeeded"


def broken_off(ending: str) -> Reply:
    if ending == "disconnect":
        return Reply((Text("Half an "), Text("answer"), Disconnect()))
    return Reply((Text("Half an "), Text("answer")), finish=None)


@pytest.mark.requirement("providers.disconnect", "durability.broken_stream")
@pytest.mark.parametrize("ending", ["disconnect", "no finish reason"])
async def test_a_stream_that_breaks_off_is_tried_again_as_the_next_attempt_of_the_same_message(
    driver: Driver, fake: FakeProvider, ending: str
) -> None:
    fake.script(broken_off(ending), text_reply("Whole."))
    watch = await driver.run("Go")

    assert (await driver.last_run())["state"] == "succeeded"
    assert [f["payload"]["attempt"] for f in watch.of("message.start")] == [1]
    assert {(f["payload"]["attempt"], f["payload"]["messageId"]) for f in watch.of("message.delta")} == {
        (attempt, watch.of("message.start")[0]["payload"]["messageId"]) for attempt in (1, 2)
    }
    (retry,) = watch.of("model.retry")
    assert (retry["payload"]["attempt"], retry["payload"]["fallback_to"]) == (1, None)
    assert [m["content"] for m in await driver.messages()] == ["Go", "Whole."]
    assert "Half" not in fake.requests[1].body.decode()


@pytest.mark.requirement("durability.broken_stream")
@pytest.mark.parametrize("ending", ["disconnect", "no finish reason"])
async def test_a_stream_that_breaks_off_and_cannot_be_tried_again_keeps_what_was_said(
    driver: Driver, fake: FakeProvider, ending: str
) -> None:
    fake.script(broken_off(ending), Document(401, {"error": {"message": "no"}}), text_reply("Whole."))
    watch = await driver.run("Go")

    run = await driver.last_run()
    assert (run["state"], run["reason"], run["error"]["code"]) == ("failed", "auth", "auth")
    end = watch.of("message.end")[0]["payload"]
    assert (end["stopReason"], bool(end["errorMessage"])) == ("error", True)
    stored = (await driver.messages())[-1]
    assert stored["content"] == "Half an answer" == watch.text()
    assert stored["details"]["errorKind"] == run["reason"]
    await driver.run("Again")
    assert "Half an answer" in fake.requests[2].body.decode()


@pytest.mark.requirement("durability.broken_stream")
async def test_a_call_of_an_attempt_that_broke_off_is_closed_and_not_run(
    driver: Driver, fake: FakeProvider
) -> None:
    call = ToolCall("file_read", {"path": "README.md"}, id="c1")
    fake.script(
        Reply((Text("I read"), call, Disconnect())), Reply((Text("Again"), call)), text_reply("It sells.")
    )
    watch = await driver.run("Go")  # checks that each call has exactly one result

    run = await driver.last_run()
    calls = (await driver.call("GET", f"/runs/{run['id']}"))["tool_calls"]
    whole = len(watch.of("message.tool_call")) == 2  # not where a call is known to be whole at the end only
    states = ["cancelled", "succeeded"] if whole else ["succeeded"]
    assert (run["state"], sorted(one["state"] for one in calls)) == ("succeeded", states)
    results = [f["payload"] for f in watch.of("message.tool_result")]
    assert [bool(one.get("isError")) for one in results] == ([True, False] if whole else [False])
    assert ("broke off" in results[0]["content"]) is whole
    assert [m["content"] for m in await driver.messages() if m["role"] == "primary"] == ["Again", "It sells."]
    assert "I read" not in fake.requests[2].body.decode()


async def test_an_error_inside_a_stream_is_an_error_of_the_run(driver: Driver, fake: FakeProvider) -> None:
    again = Document(400, {"error": {"message": "it broke for good"}})
    fake.script(Reply((Text("Half"), StreamError("it broke"))), again)
    watch = await driver.run("Go")

    run = await driver.last_run()
    assert run["state"] == "failed"
    assert "it broke" in run["error"]["message"]
    assert watch.of("message.end")[0]["payload"]["stopReason"] == "error"
    assert (await driver.messages())[-1]["content"] == "Half"


@pytest.mark.requirement("loop.rate_limit", "providers.retry")
async def test_a_429_with_retry_after_is_waited_for_and_reported_and_the_message_starts_once(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(
        Document(429, {"error": {"message": "slow down", "type": "rate_limit_error"}}, {"retry-after": "1"}),
        text_reply("Now."),
    )
    started = time.monotonic()
    watch = await driver.run("Go")

    assert fake.requests[1].at - fake.requests[0].at >= 0.99
    assert time.monotonic() - started < 20
    retry = watch.of("model.retry")[0]["payload"]
    assert (retry["error"], retry["attempt"], retry["provider"]) == ("rate_limited", 1, "fake")
    assert retry["delay_ms"] >= 999
    (start,) = watch.of("message.start")
    assert start["payload"]["attempt"] == 2
    assert watch.text() == "Now."
    step = (await driver.call("GET", f"/runs/{(await driver.last_run())['id']}"))["steps"][0]
    assert step["stats"]["attempts"] == 2
    assert fake.requests[0].body == fake.requests[1].body


@pytest.mark.requirement("loop.rate_limit")
async def test_a_500_and_then_success_is_one_message(driver: Driver, fake: FakeProvider) -> None:
    fake.script(Document(500, {"error": {"message": "oops"}}), text_reply("Now."))
    watch = await driver.run("Go")

    assert len(watch.of("message.start")) == 1
    assert len(watch.of("model.retry")) == 1
    assert (await driver.last_run())["state"] == "succeeded"


@pytest.mark.requirement("providers.errors")
@pytest.mark.parametrize("status", [400, 401, 404])
async def test_an_error_that_no_second_try_can_mend_fails_at_once(
    driver: Driver, fake: FakeProvider, status: int
) -> None:
    fake.script(Document(status, {"error": {"message": "not like this", "type": "invalid_request_error"}}))
    watch = await driver.run("Go")

    run = await driver.last_run()
    assert run["state"] == "failed"
    assert run["reason"] == ("auth" if status == 401 else "bad_request")
    assert run["error"]["status"] == status
    assert "not like this" in run["error"]["message"]
    assert fake.request_count == 1
    assert not watch.of("model.retry")


@pytest.mark.requirement("loop.stall")
async def test_a_stalled_stream_is_cancelled_at_once(driver: Driver, fake: FakeProvider) -> None:
    fake.script(Reply((Text("Hm"), Stall())))
    async with driver.watching() as watch:
        await driver.post("Go")
        await watch.until_text("Hm")
        asked = time.monotonic()
        await driver.session_call("POST", "/cancel")
        assert await fake.until_disconnects() - asked < 20
        await watch.until_state("idle")
    check_stream(watch.frames)
    assert (await driver.messages())[-1]["content"] == "Hm"


async def test_calls_with_the_same_id_are_distinguished(driver: Driver, fake: FakeProvider) -> None:
    twice = (
        ToolCall("file_read", {"path": "a.txt"}, id="same"),
        ToolCall("file_read", {"path": "b.txt"}, id="same"),
    )
    fake.script(Reply(twice), text_reply("Done."))
    watch = await driver.run("Go")

    ids = [f["payload"]["id"] for f in watch.of("message.tool_call")]
    assert len(set(ids)) == 2
    rows = [m for m in await driver.messages() if m["role"] == "tool"]
    assert [m["details"]["toolCallId"] for m in rows] == ids
    assert "alpha" in rows[0]["content"] and "beta" in rows[1]["content"]
