"""The checkpoint and prompt tests of the harness's source notes, by their names."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.harness.conversation.history import History
from app.storage.models import Message
from tests.driver.sessions import WAIT_SECONDS, Driver, check_stream, driven, write_project
from tests.driver.small_window import runs_of
from tests.fakes.provider_script import Hold, Reply, Stall, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.checkpoints.test_prompt_edits import prompt, resume, system_of
from tests.harness.checkpoints.test_rollback import everything, paused, say, sent
from tests.harness.hooks.plugged import until
from tests.harness.laboratory import LAB_YAML, Laboratory


@pytest.mark.requirement("checkpoint.operator")
async def test_operator_pause_checkpoint_created(driver: Driver, fake: FakeProvider) -> None:
    checkpoint = await paused(driver, fake, "One", "Half an ans")
    partial = (await driver.messages())[-1]
    assert (partial["content"], partial["details"]["stopReason"]) == ("Half an ans", "aborted")
    assert (checkpoint["created_by"], checkpoint["message_cursor"]) == ("operator", partial["id"])


@pytest.mark.requirement("checkpoint.resume")
async def test_resume_reconstructs_messages(driver: Driver, fake: FakeProvider) -> None:
    await say(driver, fake, "Gone", "Taken back.")
    await say(driver, fake, "One", "First.")
    gone = (await driver.messages())[0]["id"]
    await driver.session_call("POST", "/rollback", {"message_id": gone}, status=201)
    checkpoint = await paused(driver, fake, "Two", "Half")
    before = (await driver.last_run())["id"]
    await resume(driver, fake)
    run = await driver.last_run()
    assert run["id"] != before
    assert run["checkpoint_id"] == checkpoint["id"]
    assert sent(fake) == ["Gone", "Two", "Half", "Continue where you stopped."]
    shown = await driver.session_call("GET", f"/checkpoints/{checkpoint['id']}")
    assert shown["resumed_at"] is not None


@pytest.mark.requirement("checkpoint.prompts")
async def test_resume_with_edited_prompts(driver: Driver, fake: FakeProvider) -> None:
    checkpoint = await paused(driver, fake, "One", "Half")
    path = f"/checkpoints/{checkpoint['id']}/prompts/primary"
    await driver.session_call("PUT", path, {"content": "You sell hats.\n"})
    storage = driver.daemon.services.storage
    (edit,) = await storage.read(lambda uow: uow.prompt_edits.of_checkpoint(checkpoint["id"]))
    assert edit.applied_at is None
    await resume(driver, fake)
    run = await storage.read(lambda uow: uow.runs.list(driver.session_id).items[0])
    (edit,) = await storage.read(lambda uow: uow.prompt_edits.of_checkpoint(checkpoint["id"]))
    assert edit.applied_at is not None
    assert edit.applied_at <= (run.ended_at or 0)
    assert "You sell hats." in system_of(fake)


@pytest.mark.requirement("checkpoint.rollback")
async def test_rollback_supersedes_messages(driver: Driver, fake: FakeProvider) -> None:
    await say(driver, fake, "1", "2")
    await say(driver, fake, "3", "4")
    checkpoint = await paused(driver, fake, "5", "6")  # the cursor is the partial answer
    await resume(driver, fake, "8")
    await say(driver, fake, "9", "10")
    body = {"checkpoint_id": checkpoint["id"]}
    await driver.session_call("POST", "/rollback", body, status=201)
    superseded = [row["content"] for row in await everything(driver) if row["superseded"]]
    assert superseded == ["Continue where you stopped.", "8", "9", "10"]
    shown = await driver.session_call("GET", f"/checkpoints/{checkpoint['id']}")
    assert shown["rolled_back"] is True
    assert await driver.state() == "idle"


@pytest.mark.requirement("checkpoint.rollback")
async def test_rollback_preserves_checkpoint(driver: Driver, fake: FakeProvider) -> None:
    checkpoint = await paused(driver, fake, "One", "Half")
    body = {"checkpoint_id": checkpoint["id"]}
    await driver.session_call("POST", "/rollback", body, status=201)
    (kept,) = (await driver.session_call("GET", "/checkpoints"))["items"]
    assert kept["id"] == checkpoint["id"]
    await say(driver, fake, "Two", "Second.")
    await driver.session_call("POST", "/rollback", body, status=201)
    assert [row["content"] for row in await driver.messages()] == ["One", "Half"]


@pytest.mark.requirement("checkpoint.states")
async def test_session_state_transitions(driver: Driver, fake: FakeProvider) -> None:
    checkpoint = await paused(driver, fake, "One", "Half")
    assert await driver.state() == "paused"
    fake.script(Reply((Text("More"), Stall())))
    async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
        await driver.session_call("POST", "/resume", status=201)
        assert await driver.state() == "running"
        await watch.until_text("More")
        await driver.session_call("POST", "/pause")
    second = (await driver.session_call("GET", "/checkpoints"))["items"][0]
    assert second["id"] != checkpoint["id"]
    await driver.session_call("POST", "/rollback", {"checkpoint_id": second["id"]}, status=201)
    assert await driver.state() == "idle"
    refused = await driver.session_call("POST", "/resume", status=409)
    assert "rollback" in refused["error"]["details"]["legal_events"]
    await driver.session_call("POST", "/archive")
    body = {"checkpoint_id": checkpoint["id"]}
    refused = await driver.session_call("POST", "/rollback", body, status=409)
    assert refused["error"]["details"]["state"] == "archived"


@pytest.mark.requirement("checkpoint.inspect")
async def test_serialization_helpers_round_trip(driver: Driver, fake: FakeProvider) -> None:
    """A conversation is rebuilt from its stored rows alone, also from their JSON."""
    fake.script(
        Reply((Text("Look."), ToolCall("file_read", {"path": "README.md"}))), text_reply("Seen. \u2603")
    )
    await driver.run("Look")
    storage = driver.daemon.services.storage
    rows = await storage.read(lambda uow: uow.messages.history(driver.session_id, "primary"))
    snapshot = orjson.dumps([row.model_dump() for row in rows])
    again = [Message.model_validate(row) for row in orjson.loads(snapshot)]
    assert [row.model_dump() for row in again] == [row.model_dump() for row in rows]
    assert History(again).messages == History(rows).messages


@pytest.mark.requirement("prompts.shown")
async def test_prompt_visibility(driver: Driver, fake: FakeProvider, project_root: Path) -> None:
    shown = await prompt(driver)
    file = project_root / "prompts" / "primary.md"
    assert (shown["content"], shown["file"]) == (file.read_text(), "prompts/primary.md")
    assert shown["sent"] is None
    await say(driver, fake, "One", "First.")
    answer = (await driver.messages())[-1]
    shown = (await prompt(driver))["sent"]
    assert shown["digest"] == answer["details"]["systemDigest"]
    whole = "".join(block["text"] for block in shown["blocks"])
    for block in shown["blocks"]:
        assert block["text"].strip() in system_of(fake)
    assert whole.startswith("You keep the shop.")


# -- beyond the notes -----------------------------------------------------------------------


@pytest.mark.requirement("checkpoint.grace")
async def test_a_write_that_outlasts_the_grace_is_whole_and_its_call_is_answered_as_stopped(
    driver: Driver, fake: FakeProvider, project_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a disk that keeps a file only after the grace is over."""
    monkeypatch.setattr("app.harness.sessions.session.PAUSE_GRACE_SECONDS", 0.2)
    file, old, new = project_root / "big.txt", "old\n" * 100_000, "new\n" * 200_000
    file.write_text(old)
    begun, cut_off, fsync = asyncio.Event(), threading.Event(), os.fsync
    loop = asyncio.get_running_loop()

    def slow(descriptor: int) -> None:
        loop.call_soon_threadsafe(begun.set)
        cut_off.wait(WAIT_SECONDS)
        fsync(descriptor)

    read = ToolCall("file_read", {"path": "big.txt"}, id="r")
    write = ToolCall("file_write", {"path": "big.txt", "content": new}, id="w")
    hold = Hold()
    fake.script(Reply((read,)), Reply((hold, write)), text_reply("Done."))
    async with driver.watching() as watch:
        await driver.post("Write")
        await watch.until_type("message.tool_result")
        monkeypatch.setattr("app.workspace.new_file.os.fsync", slow)
        hold.gate.set()
        async with asyncio.timeout(WAIT_SECONDS):
            await begun.wait()
        pausing = asyncio.create_task(driver.session_call("POST", "/pause"))
        await until(lambda: runs_of(driver).active.context.controls.stopping)
        await asyncio.sleep(0.3)  # longer than the grace, which has begun before
        for _ in range(50):
            await asyncio.sleep(0)  # and its end has had its turn
        cut_off.set()
        assert (await pausing)["state"] == "paused"
        monkeypatch.setattr("app.workspace.new_file.os.fsync", fsync)
        await watch.until_state("paused")
        check_stream(watch.frames)
        answered = watch.of("message.tool_result")[-1]["payload"]
    assert answered["isError"] is True
    assert "may have partly run" in answered["content"]
    # Whole, and nothing goes on writing behind the pause.
    after = file.read_text()
    assert after in (old, new)
    assert not [name for name in os.listdir(project_root) if name.startswith(".kaged-")]
    await resume(driver, fake)
    assert file.read_text() == after


@pytest.mark.requirement("checkpoint.states")
async def test_an_explicit_stop_beats_an_older_start_that_comes_late(
    fake: FakeProvider, project_root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    limits = {"sessions_per_project": 1}
    async with driven(tmp_path / "data", project_root, limits=limits, **settings_overrides) as driver:
        first = driver.session_id
        fake.script(Reply((Text("Busy"), Stall())))
        async with driver.watching() as watch:
            await driver.post("Takes the place")
            await watch.until_text("Busy")
        await driver.new_session()
        await driver.post("Waits")
        assert await driver.state() == "queued"
        services = driver.daemon.services.sessions
        # The start that was arranged for the waiting session, as it comes when a place is free.
        _claim, late_start = services.capacity._waiting[driver.session_id]
        await driver.session_call("POST", "/cancel")
        await driver.post("Waits again")
        assert await driver.state() == "queued"
        late_start()
        await driver.rename("after it")
        assert await driver.state() == "queued"
        assert fake.request_count == 1
        fake.script(text_reply("At last."))
        async with driver.watching((await driver.session_call("GET"))["last_seq"]) as watch:
            waiting, driver.session_id = driver.session_id, first
            await driver.session_call("POST", "/cancel")
            driver.session_id = waiting
            await watch.until_state("idle")
        assert sent(fake) == ["Waits", "Waits again"]


@pytest.mark.requirement("checkpoint.operator")
async def test_what_was_sent_is_still_proved_after_a_rollback_and_its_undoing(
    lab: Laboratory, fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_project(tmp_path / "lab", LAB_YAML)
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await say(driver, fake, "One", "First.")
        one = (await driver.messages())[0]["id"]
        await say(driver, fake, "Two", "Second.")
        early = (await driver.last_run())["id"]
        rollback = await driver.session_call("POST", "/rollback", {"message_id": one}, status=201)

        async def proved(run: str, at: int) -> None:
            request = await driver.call("GET", f"/runs/{run}/steps/1/request")
            assert request["verified"] is True, at
            assert request["body"] == fake.requests[at].json

        await proved(early, 1)
        await driver.session_call("POST", f"/rollbacks/{rollback['id']}/undo")
        await proved(early, 1)
        await driver.session_call("POST", "/rollback", {"message_id": one}, status=201)
        await say(driver, fake, "Else", "Other.")
        await proved((await driver.last_run())["id"], 2)
        await proved(early, 1)
