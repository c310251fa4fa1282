"""The model's own checkpoint: it says why, finishes its answer, and the session waits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import PROJECT_YAML, Driver, check_stream, driven, write_project
from tests.fakes.provider_script import Document, Hold, Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("checkpoint.model")

YAML = PROJECT_YAML + '    "kaged.checkpoint": { enabled: true }\n'
ASKS = ToolCall("kaged_checkpoint", {"reason": "Shall I delete it?"}, id="c1")


@pytest.fixture
async def asking(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> AsyncIterator[Driver]:
    root = write_project(tmp_path / "asks", YAML)
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        yield driver


async def run_and_pause(driver: Driver, text: str) -> None:
    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        await driver.post(text)
        await watch.until_state("paused")
    check_stream(watch.frames)


async def test_the_run_pauses_after_the_models_whole_answer_with_its_reason(
    asking: Driver, fake: FakeProvider
) -> None:
    driver = asking
    fake.script(Reply((Text("Careful."), ASKS)), text_reply("I wait for you."))
    await run_and_pause(driver, "Clean up")
    answer = await driver.session_call("GET")
    assert (answer["state"], answer["state_reason"]) == ("paused", "model")
    (checkpoint,) = (await driver.session_call("GET", "/checkpoints"))["items"]
    assert (checkpoint["created_by"], checkpoint["reason"]) == ("model", "model")
    assert checkpoint["detail"] == "Shall I delete it?"
    last = (await driver.messages())[-1]
    assert (last["content"], last["details"]["stopReason"]) == ("I wait for you.", "stop")
    assert checkpoint["message_cursor"] == last["id"]
    run = await driver.last_run()
    assert (run["state"], run["reason"]) == ("succeeded", "stop")
    result = fake.requests[1].json["messages"][-1]["content"]
    assert "checkpoint_taken" in result
    assert "Execution paused. Awaiting operator." in result


async def test_a_resume_lets_the_model_go_on(asking: Driver, fake: FakeProvider) -> None:
    driver = asking
    fake.script(Reply((ASKS,)), text_reply("I wait."), text_reply("Deleted."))
    await run_and_pause(driver, "Clean up")
    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        resumed = await driver.session_call("POST", "/resume", status=201)
        await watch.until_state("idle")
    assert resumed["run"]["checkpoint_id"] is not None
    assert fake.requests[2].json["messages"][-1]["content"] == "Continue where you stopped."
    # What was asked for before does not pause the run that goes on.
    assert (await driver.messages())[-1]["content"] == "Deleted."


async def test_what_waits_runs_only_after_the_operator_has_looked(asking: Driver, fake: FakeProvider) -> None:
    driver, hold = asking, Hold()
    fake.script(Reply((ASKS,)), Reply((Text("I "), hold, Text("wait."))))
    async with driver.watching() as watch:
        await driver.post("Clean up")
        await watch.until_type("message.delta")  # the last answer of the run has begun
        await driver.post("And then?", mode="steer")
        hold.gate.set()
        await watch.until_state("paused")
    requests = fake.request_count
    said = [m["content"] for m in await driver.messages() if m["role"] == "operator"]
    assert "And then?" in said
    assert (await driver.session_call("GET"))["queued_messages"] == 1
    fake.script(text_reply("Then this."))
    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        await driver.session_call("POST", "/resume", status=201)
        await watch.until_state("idle")
    assert fake.requests[requests].json["messages"][-1]["content"] == "And then?"


async def test_a_failure_after_the_request_still_pauses(asking: Driver, fake: FakeProvider) -> None:
    driver = asking
    fake.script(Reply((ASKS,)), Document(400, {"error": {"message": "no"}}))
    await run_and_pause(driver, "Clean up")
    assert (await driver.last_run())["state"] == "failed"
    (checkpoint,) = (await driver.session_call("GET", "/checkpoints"))["items"]
    assert checkpoint["created_by"] == "model"


async def test_the_root_agent_has_the_tool_by_its_place(driver: Driver) -> None:
    tools = await driver.call("GET", f"/projects/{driver.project_id}/agents/primary/tools?limit=100")
    (own,) = (tool for tool in tools["items"] if tool["name"] == "kaged.checkpoint")
    assert own["enabled"] and own["origin"] == "role"


async def test_an_operators_own_call_has_no_run_to_pause(asking: Driver) -> None:
    answer = await asking.session_call("POST", "/tools/kaged.checkpoint", {"params": {}})
    assert answer["code"] == "no_run"
    assert await asking.state() == "idle"
