"""An operator's stop: it reaches the model's connection and the tools at once, and nothing is lost."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import Driver, check_stream, driven, provider_settings
from tests.fakes.provider_script import Document, Reply, Stall, Text, Thinking, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.laboratory import Laboratory

pytestmark = pytest.mark.requirement("loop.cancel", "http.runs")


@pytest.mark.requirement("loop.stall")
async def test_a_cancel_closes_the_connection_and_keeps_what_was_said(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(Reply((Thinking("Hm. "), Text("Hello "), Text("wor"), Stall())))
    async with driver.watching() as watch:
        await driver.post("Say hello")
        await watch.until_text("Hello wor")
        asked = time.monotonic()
        answer = await driver.session_call("POST", "/cancel")
        left = await fake.until_disconnects()
        await watch.until_state("idle")

    assert left - asked < 20
    assert answer["state"] == "idle"
    check_stream(watch.frames)
    assert watch.of("message.end")[0]["payload"]["stopReason"] == "aborted"
    ended = watch.of("run.ended")[0]["payload"]
    assert (ended["state"], ended["reason"]) == ("cancelled", "cancelled")
    partial = (await driver.messages())[-1]
    assert (partial["role"], partial["content"], partial["complete"]) == ("primary", "Hello wor", True)
    assert partial["details"]["stopReason"] == "aborted"
    run = (await driver.session_call("GET", "/runs"))["items"][0]
    assert run["state"] == "cancelled"


async def test_the_next_run_sees_what_was_said_before_the_stop(driver: Driver, fake: FakeProvider) -> None:
    fake.script(Reply((Text("Half an ans"), Stall())), text_reply("Whole."))
    async with driver.watching() as watch:
        await driver.post("First")
        await watch.until_text("Half an ans")
        await driver.session_call("POST", "/cancel")
    await driver.run("Second")

    sent = fake.requests[1].json["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "user"]
    assert sent[2]["content"] == "Half an ans"


@pytest.mark.requirement("durability.start_marks")
async def test_a_running_tool_and_one_that_waits_for_it_are_stopped_and_both_answered(
    lab_driver: Driver, fake: FakeProvider, lab: Laboratory
) -> None:
    driver = lab_driver
    fake.script(
        Reply(
            (
                ToolCall("lab_wait", {"name": "first", "writes": "a.txt"}, id="c1"),
                ToolCall("lab_wait", {"name": "second", "writes": "a.txt"}, id="c2"),
                ToolCall("file_read", {"path": "README.md"}, id="c3"),
            )
        ),
        text_reply("Done."),
    )
    async with driver.watching() as watch:
        await driver.post("Work")
        await lab.until_started("first")
        await watch.until(lambda f: f["type"] == "message.tool_result")
        asked = time.monotonic()
        assert (await driver.session_call("POST", "/cancel"))["state"] == "idle"
        assert time.monotonic() - asked < 20
        await watch.until_state("idle")

    check_stream(watch.frames)
    assert (lab.started, lab.ended, lab.running) == (["first"], [], 0)
    results = {r["payload"]["toolCallId"]: r["payload"] for r in watch.of("message.tool_result")}
    assert not results["c3"]["isError"]
    assert "may have partly run" in results["c1"]["content"]
    assert results["c2"]["content"] == "Error cancelled: The run was stopped before this call began."
    detail = await driver.call("GET", f"/runs/{(await driver.last_run())['id']}")
    assert {c["call_id"]: c["state"] for c in detail["tool_calls"]} == {
        "c1": "cancelled",
        "c2": "cancelled",
        "c3": "succeeded",
    }
    await driver.run("Again")
    sent = [m for m in fake.requests[1].json["messages"] if m["role"] == "tool"]
    assert [m["tool_call_id"] for m in sent] == ["c1", "c2", "c3"]


async def test_a_call_of_an_answer_that_is_cut_off_is_answered_and_not_run(
    fake: FakeProvider, project_root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    settings = {**settings_overrides, "providers": provider_settings("anthropic", fake.base_url)}
    async with driven(tmp_path / "data", project_root, **settings) as driver:
        call = ToolCall("file_write", {"path": "a.txt", "content": "1"}, id="c1")
        fake.script(Reply((call, Text("and "), Stall())), text_reply("Fine."))
        async with driver.watching() as watch:
            await driver.post("Write")
            await watch.until_text("and ")
            await driver.session_call("POST", "/cancel")
            await watch.until_state("idle")

        check_stream(watch.frames)
        assert not (project_root / "a.txt").exists()
        assert watch.of("message.tool_result")[0]["payload"]["isError"]
        assert watch.of("step.ended")[0]["payload"]["stop_reason"] == "aborted"
        await driver.run("Again")
        roles = [m["role"] for m in fake.requests[1].json["messages"]]
        assert roles == ["user", "assistant", "user", "user"]
        answer, following = fake.requests[1].json["messages"][1:3]
        assert "c1" in [block.get("id") for block in answer["content"]]
        assert "c1" in [block.get("tool_use_id") for block in following["content"]]


async def test_a_run_that_waits_before_its_next_attempt_is_cancelled_at_once(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(Document(429, {"error": {"message": "slow down"}}, {"retry-after": "30"}))
    async with driver.watching() as watch:
        await driver.post("Hello")
        retry = await watch.until_type("model.retry")
        asked = time.monotonic()
        await driver.session_call("POST", "/cancel")
        took = time.monotonic() - asked
        await watch.until_type("run.ended")
        await watch.until_state("idle")

    assert retry["payload"]["delay_ms"] >= 29_000
    assert took < 20
    assert fake.request_count == 1
    check_stream(watch.frames)


async def test_a_queued_session_is_cancelled_and_its_message_goes_with_the_next_one(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], project_root: Path
) -> None:
    limits = {"sessions_per_project": 1}
    async with driven(tmp_path / "data", project_root, limits=limits, **settings_overrides) as driver:
        fake.script(Reply((Text("Busy"), Stall())), text_reply("Both."))
        first = driver.session_id
        async with driver.watching() as watch:
            await driver.post("Keep busy")
            await watch.until_text("Busy")
        second = await driver.new_session()
        assert (await driver.post("Waits"))["queued"]
        assert await driver.state() == "queued"
        assert (await driver.session_call("POST", "/cancel"))["state"] == "idle"
        driver.session_id = first
        await driver.session_call("POST", "/cancel")
        driver.session_id = second
        assert await driver.state() == "idle"
        await driver.run("Now")

        assert [m["content"] for m in fake.requests[1].json["messages"][1:]] == ["Waits", "Now"]
        assert [m["content"] for m in await driver.messages()] == ["Waits", "Now", "Both."]


async def test_two_cancels_at_once_both_succeed_or_say_that_it_is_idle(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(Reply((Text("Hm"), Stall())))
    async with driver.watching() as watch:
        await driver.post("Hello")
        await watch.until_text("Hm")
        path = f"/api/v1/sessions/{driver.session_id}/cancel"
        answers = await asyncio.gather(driver.client.post(path), driver.client.post(path))
        await watch.until_state("idle")

    assert {a.status_code for a in answers} <= {200, 409}
    assert answers[0].status_code == 200 or answers[1].status_code == 200
    assert len(watch.of("run.ended")) == 1
    check_stream(watch.frames)


@pytest.mark.requirement("bad_input.state")
async def test_a_cancel_of_an_idle_session_names_its_state_and_what_is_legal(driver: Driver) -> None:
    refused = await driver.session_call("POST", "/cancel", status=409)

    details = refused["error"]["details"]
    assert details["state"] == "idle"
    assert set(details["legal_events"]) == {"message_posted", "resume_with_work", "rollback", "archive"}
    assert details["reason"] == "invalid_transition"
    assert "continuing an unfinished answer" in refused["error"]["message"]
    assert "resuming" not in refused["error"]["message"]


async def test_messages_queued_before_a_cancel_stay_until_the_next_post_and_later_ones_run(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(Reply((Text("Working"), Stall())), text_reply("Answer."))
    async with driver.watching() as watch:
        await driver.post("One")
        await watch.until_text("Working")
        await driver.post("Two")
        await driver.post("Three", mode="steer")
        await driver.session_call("POST", "/cancel")
        await watch.until_state("idle")
        assert (await driver.session_call("GET"))["queued_messages"] == 2
        assert fake.request_count == 1

    await driver.run("Four")
    assert fake.request_count == 2
    sent = [m["content"] for m in fake.requests[1].json["messages"] if m["role"] == "user"]
    assert sent == ["One", "Three", "Two", "Four"]
    rows = await driver.messages()
    assert [m["content"] for m in rows] == ["One", "Working", "Three", "Two", "Four", "Answer."]
    positions = [m["position"] for m in rows]
    assert positions == sorted(set(positions))


async def test_a_message_posted_while_a_cancel_is_under_way_runs(driver: Driver, fake: FakeProvider) -> None:
    fake.script(Reply((Text("Working"), Stall())), text_reply("Done."))
    async with driver.watching() as watch:
        await driver.post("One")
        await watch.until_text("Working")
        sessions = driver.daemon.services.sessions
        _, posted = await asyncio.gather(
            sessions.cancel(driver.session_id, "operator"),
            sessions.post_message(driver.session_id, "Two", actor="operator"),
        )
        assert posted.queued  # the run had not ended yet
        await watch.until(lambda f: f["type"] == "run.ended" and f["payload"]["state"] == "succeeded")
        await watch.until_state("idle")
    assert fake.requests[1].json["messages"][-1]["content"] == "Two"
    check_stream(watch.frames)
