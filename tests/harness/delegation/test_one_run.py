"""One run is cancelled alone, or tried again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.driver.family import Cast, agent, calling, enabled
from tests.driver.sessions import Driver, check_stream, driven
from tests.fakes.provider_script import Document, Hold, Reply, Stall, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.delegation.conftest import Drive

TWO = agent("primary", tools=enabled("task"), subagents={"a": agent("a"), "b": agent("b")})


async def run_of(driver: Driver, path: str) -> dict[str, Any]:
    found = (await driver.session_call("GET", "/runs?all=true"))["items"]
    return next(run for run in found if run["agent_path"].endswith(path))


@pytest.mark.requirement("operations.cancel")
async def test_one_subagent_is_cancelled_and_the_others_go_on(drive: Drive, cast: Cast) -> None:
    hold = Hold()
    cast.script(
        "primary", calling(("agent-a", {"task": "x"}), ("agent-b", {"task": "y"})), text_reply("Done.")
    )
    cast.script("a", Reply((Text("a"), Stall())))
    cast.script("b", Reply((Text("b"), hold)))
    async with drive(TWO) as driver, driver.watching() as watch:
        await driver.post("Go")
        await watch.until(lambda _: sorted(watch.text()) == ["a", "b"])
        child = await run_of(driver, ".a")
        cancelled = await driver.call("POST", f"/runs/{child['id']}/cancel", status=200)
        again = await driver.call("POST", f"/runs/{child['id']}/cancel", status=409)
        assert await driver.state() == "running"
        hold.gate.set()
        await watch.until_state("idle")
        states = {(await run_of(driver, path))["state"] for path in ("primary", ".b")}
    check_stream(watch.frames)
    assert (cancelled["id"], cancelled["state"]) == (child["id"], "cancelled")
    assert again["error"]["details"] == {"reason": "run_not_active", "state": "cancelled"}
    assert states == {"succeeded"}
    first, second = [str(m["content"]) for m in cast.messages("primary") if m["role"] == "tool"]
    assert first.startswith("Error agent_stopped") and "b" in second


@pytest.mark.requirement("operations.cancel")
async def test_a_cancelled_run_of_the_root_agent_lets_what_waits_run_next(drive: Drive, cast: Cast) -> None:
    cast.script("primary", Reply((Text("One"), Stall())), text_reply("Two."))
    async with drive(TWO) as driver, driver.watching() as watch:
        first = (await driver.post("First"))["run"]
        await watch.until_text("One")
        await driver.post("Second")
        await driver.call("POST", f"/runs/{first['id']}/cancel")
        await watch.until_state("idle")
        unknown = await driver.call("POST", "/runs/run_01JZ0000000000000000000000/cancel", status=404)
    check_stream(watch.frames)
    ended = [frame["payload"]["state"] for frame in watch.of("run.ended")]
    assert ended == ["cancelled", "succeeded"]
    assert unknown["error"]["code"] == "not_found"


@pytest.mark.requirement("operations.cancel", "durability.waiting_session")
async def test_a_subagent_that_asks_is_cancelled_and_its_caller_goes_on(drive: Drive, cast: Cast) -> None:
    asks = {
        "tools": enabled("file.*"),
        "permissions": [{"permission": "file.*", "pattern": "*", "action": "ask"}],
    }
    cast.script("primary", calling(("agent-a", {"task": "x"})), text_reply("Then not."))
    cast.script("a", calling(("file_read", {"path": "prompts/a.md"})))
    async with (
        drive(agent("primary", subagents={"a": agent("a", **asks)})) as driver,
        driver.watching() as watch,
    ):
        await driver.post("Go")
        await watch.until_state("paused")
        await driver.call("POST", f"/runs/{(await run_of(driver, '.a'))['id']}/cancel")
        await watch.until_state("idle")
    check_stream(watch.frames)
    assert watch.of("permission.answered")[0]["payload"]["state"] == "cancelled"


FAILS = Document(400, {"error": {"message": "The key has expired."}})


@pytest.mark.requirement("operations.retry")
async def test_a_failed_run_is_tried_again_with_the_same_message(driver: Driver, fake: FakeProvider) -> None:
    read = Reply((ToolCall("file_read", {"path": "README.md"}, "c1"),))
    fake.script(read, FAILS, text_reply("It sells things."))
    async with driver.watching() as watch:
        await driver.post("What is it?")
        await watch.until_type("run.ended")
        failed = await driver.last_run()
        assert (failed["state"], failed["retry_of"]) == ("failed", None)
        again = await driver.call("POST", f"/runs/{failed['id']}/retry", status=201)
        await watch.until(lambda _: len(watch.of("run.ended")) == 2)
        last = await driver.last_run()
        twice = await driver.call("POST", f"/runs/{failed['id']}/retry", status=409)
    check_stream(watch.frames)
    assert (again["retry_of"], again["trigger_message_id"]) == (failed["id"], failed["trigger_message_id"])
    assert (last["id"], last["state"]) == (again["id"], "succeeded")
    sent = [(m["role"], m["content"]) for m in fake.requests[2].json["messages"] if m["role"] != "system"]
    assert [role for role, _ in sent] == ["user", "assistant", "tool"]
    assert sent[0][1] == "What is it?"
    assert fake.requests[2].json["messages"] == fake.requests[1].json["messages"]
    assert [m["content"] for m in await driver.messages() if m["role"] == "operator"] == ["What is it?"]
    assert twice["error"]["details"]["reason"] == "cannot_retry"


@pytest.mark.requirement("operations.retry")
async def test_a_failed_run_is_tried_again_with_another_model(
    fake: FakeProvider, tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    models = {"main": ["fake:model-a"], "other": ["fake:model-b"]}
    prices = {"fake:model-a": {"input": 1.0, "output": 2.0}}
    settings = {**settings_overrides, "models": models, "prices": prices}
    async with driven(tmp_path / "data", project_root, **settings) as driver, driver.watching() as watch:
        fake.script(FAILS, text_reply("Hi."))
        await driver.run("Hello")
        failed = await driver.last_run()
        retry = f"/runs/{failed['id']}/retry"
        unknown = await driver.call("POST", retry, {"model": "nobody"}, status=400)
        await driver.call("POST", retry, {"model": "other"}, status=201)
        await watch.until(lambda _: len(watch.of("run.ended")) == 2)
        last, detail = await driver.last_run(), await driver.session_call("GET")
        listed = (await driver.call("GET", "/models"))["items"]
    assert unknown["error"]["code"] == "validation_failed"
    assert [request.json["model"] for request in fake.requests] == ["model-a", "model-b"]
    assert (last["retry_of"], last["model"], detail["overrides"]) == (failed["id"], "fake:model-b", {})
    assert {(one["alias"], one["input_usd"]) for one in listed} == {("main", 1.0), ("other", None)}


@pytest.mark.requirement("operations.retry")
async def test_only_the_newest_failed_run_is_tried_again(driver: Driver, fake: FakeProvider) -> None:
    fake.script(FAILS, text_reply("Hi."))
    await driver.run("Hello")
    failed = await driver.last_run()
    await driver.run("Again")
    succeeded = await driver.last_run()
    older = await driver.call("POST", f"/runs/{failed['id']}/retry", status=409)
    fine = await driver.call("POST", f"/runs/{succeeded['id']}/retry", status=409)
    assert "post a message" in older["error"]["message"]
    assert "only a failed run" in fine["error"]["message"]
