"""Pause, resume and continue: a checkpoint says where it stopped, one resume goes on from there."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import WAIT_SECONDS, Driver, Watch, check_stream, driven
from tests.fakes.provider_script import Document, Reply, Stall, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.hooks.plugged import until
from tests.harness.laboratory import Laboratory

pytestmark = pytest.mark.requirement("http.runs")


async def stalled(driver: Driver, fake: FakeProvider, watch: Watch, text: str = "Half") -> None:
    fake.script(Reply((Text(text), Stall())))
    await driver.post("Begin")
    await watch.until_text(text)


async def test_a_pause_keeps_the_partial_answer_and_a_checkpoint_that_points_at_it(
    driver: Driver, fake: FakeProvider
) -> None:
    async with driver.watching() as watch:
        await stalled(driver, fake, watch)
        answer = await driver.session_call("POST", "/pause", {"reason": "lunch"})
        await watch.until_state("paused")

    assert (answer["state"], answer["state_reason"]) == ("paused", "operator")
    check_stream(watch.frames)
    (checkpoint,) = (await driver.session_call("GET", "/checkpoints"))["items"]
    partial = (await driver.messages())[-1]
    assert checkpoint["message_cursor"] == partial["id"]
    assert (checkpoint["reason"], checkpoint["detail"]) == ("operator", "lunch")
    assert checkpoint["resumed_at"] is None
    created = watch.of("checkpoint.created")[0]["payload"]
    assert created["checkpoint_id"] == checkpoint["id"]
    run = await driver.last_run()
    assert (run["state"], run["reason"]) == ("interrupted", "paused")


async def test_a_resume_goes_on_where_it_stopped_and_marks_the_checkpoint(
    driver: Driver, fake: FakeProvider
) -> None:
    async with driver.watching() as watch:
        await stalled(driver, fake, watch)
        await driver.session_call("POST", "/pause")
        (checkpoint,) = (await driver.session_call("GET", "/checkpoints"))["items"]
        fake.script(text_reply(" an answer."))
        resumed = await driver.session_call(
            "POST", "/resume", {"checkpoint_id": checkpoint["id"]}, status=201
        )
        await watch.until_state("idle")

    assert resumed["run"]["checkpoint_id"] == checkpoint["id"]
    sent = fake.requests[1].json["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "user"]
    assert sent[2]["content"] == "Half"
    (after,) = (await driver.session_call("GET", "/checkpoints"))["items"]
    assert after["resumed_at"] is not None
    assert len((await driver.session_call("GET", "/runs"))["items"]) == 2


@pytest.fixture
def long_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has to happen within the grace of a pause does so on a busy machine, too."""
    monkeypatch.setattr("app.harness.sessions.session.PAUSE_GRACE_SECONDS", WAIT_SECONDS)


async def test_a_resume_after_a_pause_in_tools_needs_no_further_message(
    lab_driver: Driver, fake: FakeProvider, lab: Laboratory, long_grace: None
) -> None:
    driver = lab_driver
    fake.script(Reply((ToolCall("lab_wait", {"name": "a"}, id="c1"),)), text_reply("Done."))
    async with driver.watching() as watch:
        await driver.post("Begin")
        await lab.until_started("a")
        pausing = asyncio.create_task(driver.session_call("POST", "/pause"))
        (session,) = driver.daemon.services.sessions._live.all()
        await until(lambda: session.runs.active.context.controls.stopping)
        lab.release("a")  # within the grace: the call ends by itself
        assert (await pausing)["state"] == "paused"
        await driver.session_call("POST", "/resume", status=201)
        await watch.until_state("idle")

    check_stream(watch.frames)
    assert lab.ended == ["a"]
    assert not watch.of("message.tool_result")[0]["payload"]["isError"]
    assert [m["role"] for m in fake.requests[1].json["messages"]] == ["system", "user", "assistant", "tool"]
    assert fake.request_count == 2


async def test_a_tool_that_outlasts_the_grace_of_a_pause_is_stopped_and_answered(
    lab_driver: Driver, fake: FakeProvider, lab: Laboratory
) -> None:
    driver = lab_driver
    fake.script(Reply((ToolCall("lab_wait", {"name": "a"}, id="c1"),)), text_reply("Done."))
    async with driver.watching() as watch:
        await driver.post("Begin")
        await lab.until_started("a")
        assert (await driver.session_call("POST", "/pause"))["state"] == "paused"
        await watch.until_state("paused")
        check_stream(watch.frames)
        assert "may have partly run" in watch.of("message.tool_result")[0]["payload"]["content"]
        await driver.session_call("POST", "/resume", status=201)
        await watch.until_state("idle")
    assert (lab.running, lab.ended) == (0, [])


async def test_a_cancel_during_the_grace_of_a_pause_wins(
    lab_driver: Driver, fake: FakeProvider, lab: Laboratory, long_grace: None
) -> None:
    driver = lab_driver
    fake.script(Reply((ToolCall("lab_wait", {"name": "a"}, id="c1"),)))
    async with driver.watching() as watch:
        await driver.post("Begin")
        await lab.until_started("a")
        sessions = driver.daemon.services.sessions
        pausing = asyncio.create_task(sessions.pause(driver.session_id, "operator"))
        (session,) = sessions._live.all()
        await until(lambda: session.runs.active.context.controls.stopping)
        assert (await driver.session_call("POST", "/cancel"))["state"] == "idle"
        with pytest.raises(Exception, match="idle"):
            await pausing
        await watch.until_state("idle")
    check_stream(watch.frames)
    assert (await driver.last_run())["state"] == "cancelled"


async def test_a_resume_with_nothing_left_to_do_is_idle_without_a_run(
    fake: FakeProvider, project_root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        session_id = driver.session_id
        async with driver.watching() as watch:
            await stalled(driver, fake, watch)
            await driver.session_call("POST", "/pause")
        partial = (await driver.messages())[-1]
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        # As if the pause had come between the whole answer and the end of its run.
        whole = {**partial["details"], "stopReason": "stop"}
        storage = driver.daemon.services.storage
        await storage.write(lambda uow: uow.messages.update(partial["id"], details=whole))
        driver.session_id = session_id
        answer = await driver.session_call("POST", "/resume", status=200)
        assert answer["run"] is None
        assert await driver.state() == "idle"
        assert (await driver.session_call("GET", "/checkpoints"))["items"][0]["resumed_at"] is not None
    assert fake.request_count == 1


async def test_a_second_resume_and_one_of_an_unknown_checkpoint_are_refused(
    driver: Driver, fake: FakeProvider
) -> None:
    async with driver.watching() as watch:
        await stalled(driver, fake, watch)
        await driver.session_call("POST", "/pause")
        unknown = {"checkpoint_id": "ckp_01JZ0000000000000000000000"}
        await driver.session_call("POST", "/resume", unknown, status=404)
        assert await driver.state() == "paused"
        fake.script(Reply((Text("More"), Stall())))
        path = f"/api/v1/sessions/{driver.session_id}/resume"
        answers = await asyncio.gather(driver.client.post(path), driver.client.post(path))
        assert sorted(a.status_code for a in answers) == [201, 409]
        refused = next(a.json() for a in answers if a.status_code == 409)
        assert refused["error"]["details"]["state"] == "running"
        await watch.until_text("HalfMore")
        used = (await driver.session_call("GET", "/checkpoints"))["items"][0]["id"]
        await driver.session_call("POST", "/pause")
        await driver.session_call("POST", "/resume", {"checkpoint_id": used}, status=404)


@pytest.mark.requirement("bad_input.state")
async def test_commands_that_do_not_fit_the_state_are_refused_with_what_is_legal(
    driver: Driver, fake: FakeProvider
) -> None:
    for command in ("pause", "resume", "cancel", "continue"):
        refused = await driver.session_call("POST", f"/{command}", status=409)
        assert refused["error"]["code"] == "conflict"
        assert refused["error"]["details"]["state"] == "idle"
    async with driver.watching() as watch:
        await stalled(driver, fake, watch)
        for command in ("resume", "continue", "archive"):
            refused = await driver.session_call("POST", f"/{command}", status=409)
            assert refused["error"]["details"]["state"] == "running"
        await driver.session_call("POST", "/pause")
    for command in ("pause", "continue"):
        refused = await driver.session_call("POST", f"/{command}", status=409)
        assert "rollback" in refused["error"]["details"]["legal_events"]
    refused = await driver.session_call("POST", "/messages", {"content": "Hello?"}, status=409)
    assert refused["error"]["details"]["state"] == "paused"
    assert len(await driver.messages()) == 2
    await driver.session_call("POST", "/cancel")
    assert await driver.state() == "idle"
    await driver.session_call("POST", "/archive")
    refused = await driver.session_call("POST", "/messages", {"content": "Hello?"}, status=409)
    assert refused["error"]["details"] == {
        "state": "archived",
        "legal_events": [],
        "reason": "invalid_transition",
    }


async def test_old_checkpoints_are_removed_beyond_the_limit_and_open_ones_never(
    fake: FakeProvider, project_root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    limits = {"checkpoints_per_session": 2}
    async with driven(tmp_path / "few", project_root, limits=limits, **settings_overrides) as driver:
        made = []
        for number in range(5):
            fake.script(Reply((Text(f"Hm {number}"), Stall())))
            async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
                if number == 0:
                    await driver.post("Go")
                else:
                    await driver.session_call("POST", "/resume", status=201)
                await watch.until_text(f"Hm {number}")
                await driver.session_call("POST", "/pause")
            made.append((await driver.session_call("GET", "/checkpoints"))["items"][0]["id"])
        kept = (await driver.session_call("GET", "/checkpoints"))["items"]
        assert [row["id"] for row in kept] == [made[4], made[3]]
        # Those that were given up with a cancel are open still, and stay.
        for _ in range(3):
            await driver.session_call("POST", "/cancel")
            fake.script(Reply((Text("Again"), Stall())))
            async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
                await driver.post("Go")
                await watch.until_text("Again")
                await driver.session_call("POST", "/pause")
        kept = (await driver.session_call("GET", "/checkpoints"))["items"]
        assert len(kept) == 4
        assert kept[-1]["id"] == made[4]


async def test_messages_that_waited_at_the_pause_run_after_the_resume(
    driver: Driver, fake: FakeProvider
) -> None:
    async with driver.watching() as watch:
        await stalled(driver, fake, watch)
        await driver.post("Second")
        await driver.session_call("POST", "/pause")
        assert (await driver.session_call("GET"))["queued_messages"] == 1
        fake.script(text_reply("First done."), text_reply("Second done."))
        await driver.session_call("POST", "/resume", status=201)
        await watch.until_state("idle")
    assert fake.requests[2].json["messages"][-1]["content"] == "Second"
    check_stream(watch.frames)


async def test_continue_goes_on_after_an_answer_that_was_cut_off_by_its_length(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(Reply((Text("A long"),), finish="length"), text_reply(" story."))
    watch = await driver.run("Tell")
    assert watch.of("message.end")[0]["payload"]["stopReason"] == "length"
    assert (await driver.last_run())["reason"] == "length"

    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        await driver.session_call("POST", "/continue", status=201)
        await watch.until_state("idle")
    sent = fake.requests[1].json["messages"]
    assert [m["role"] for m in sent] == ["system", "user", "assistant", "user"]
    refused = await driver.session_call("POST", "/continue", status=409)
    assert refused["error"]["details"]["reason"] == "nothing_to_continue"


async def test_continue_after_a_failed_run_sends_the_same_conversation_again(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(Document(400, {"error": {"message": "no such parameter"}}), text_reply("Better."))
    await driver.run("Hello")
    assert (await driver.last_run())["state"] == "failed"
    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        await driver.session_call("POST", "/continue", status=201)
        await watch.until_state("idle")
    assert fake.requests[0].json["messages"] == fake.requests[1].json["messages"]
