"""A database that refuses: what was promised is kept, what is owed is told later, nothing hangs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.driver.sessions import Driver, check_stream, driven
from tests.fakes.provider_script import Hold, Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.laboratory import Laboratory

REFUSE_RUNS = "CREATE TRIGGER refuse BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'no'); END"
REFUSE_ENDS = (
    "CREATE TRIGGER refuse BEFORE UPDATE ON runs WHEN NEW.ended_at IS NOT NULL "
    "BEGIN SELECT RAISE(ABORT, 'no'); END"
)
REFUSE_STARTS = (
    "CREATE TRIGGER refuse BEFORE UPDATE ON tool_calls WHEN NEW.state = 'running' "
    "BEGIN SELECT RAISE(ABORT, 'no'); END"
)
REFUSE_CALLS = (
    "CREATE TRIGGER refuse BEFORE UPDATE ON tool_calls WHEN NEW.state = 'succeeded' "
    "BEGIN SELECT RAISE(ABORT, 'no'); END"
)


async def tell_database(driver: Driver, statement: str) -> None:
    await driver.daemon.services.storage.write(lambda uow: uow.runs.connection.exec_driver_sql(statement))


async def test_a_message_whose_run_cannot_be_stored_is_refused_and_the_session_stays_usable(
    fake: FakeProvider, project_root: Path, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    limits = {"sessions_per_project": 1}
    async with driven(tmp_path / "data", project_root, limits=limits, **settings_overrides) as driver:
        await tell_database(driver, REFUSE_RUNS)
        for _ in range(2):
            refused = await driver.session_call("POST", "/messages", {"content": "Hello"}, status=503)
            assert refused["error"]["code"] == "unavailable"
        assert await driver.state() == "idle"
        assert await driver.messages() == []
        await tell_database(driver, "DROP TRIGGER refuse")
        fake.script(text_reply("Hi."))
        watch = await driver.run("Hello")  # its place was given back
        assert watch.text() == "Hi."
        assert [m["content"] for m in await driver.messages()] == ["Hello", "Hi."]


async def test_a_queued_message_whose_run_cannot_be_stored_is_not_lost(
    driver: Driver, fake: FakeProvider
) -> None:
    hold = Hold()
    fake.script(Reply((Text("One"), hold)), text_reply("Both."))
    async with driver.watching() as watch:
        await driver.post("First")
        await watch.until_text("One")
        await driver.post("Second")
        await tell_database(driver, REFUSE_RUNS)
        hold.gate.set()
        idle = await watch.until_state("idle")
        assert idle["payload"]["reason"] == "cannot_run"
        await tell_database(driver, "DROP TRIGGER refuse")
    await driver.run("Third")
    said = [m["content"] for m in fake.requests[1].json["messages"] if m["role"] == "user"]
    assert said == ["First", "Second", "Third"]


async def test_an_end_that_cannot_be_stored_frees_the_session_and_is_reported_with_the_next_move(
    driver: Driver, fake: FakeProvider
) -> None:
    hold = Hold()
    fake.script(Reply((Text("One"), hold)), text_reply("Two."))
    async with driver.watching() as watch:
        await driver.post("First")
        await watch.until_text("One")
        await tell_database(driver, REFUSE_ENDS)
        hold.gate.set()
        await watch.until_type("step.ended")
        while await driver.state() != "idle":
            await watch.until_type("step.ended")
        assert not watch.of("run.ended")
        await tell_database(driver, "DROP TRIGGER refuse")
        await driver.post("Second")
        await watch.until(lambda _: len(watch.of("run.ended")) == 2)
        await watch.until_state("idle")
    check_stream(watch.frames)
    runs = (await driver.session_call("GET", "/runs"))["items"]
    assert [run["state"] for run in runs] == ["succeeded", "succeeded"]


async def test_when_a_result_cannot_be_stored_the_other_calls_are_stopped_and_the_run_fails(
    lab_driver: Driver, fake: FakeProvider, lab: Laboratory
) -> None:
    driver = lab_driver
    calls = (
        ToolCall("lab_wait", {"name": "first", "writes": "a"}, id="c1"),
        ToolCall("lab_wait", {"name": "second", "writes": "a"}, id="c2"),
        ToolCall("lab_wait", {"name": "third"}, id="c3"),
    )
    fake.script(Reply(calls))
    async with driver.watching() as watch:
        await driver.post("Go")
        await lab.until_started("first", "third")
        await tell_database(driver, REFUSE_STARTS)
        lab.release("first")
        ended = await watch.until_type("run.ended")
        await watch.until_state("idle")
    assert (ended["payload"]["state"], ended["payload"]["reason"]) == ("failed", "unavailable")
    assert lab.running == 0
    assert lab.ended == ["first"]
    check_stream(watch.frames)
    rows = [m["details"]["toolCallId"] for m in await driver.messages() if m["role"] == "tool"]
    assert rows == ["c1", "c2", "c3"]


async def test_a_result_that_was_not_stored_fails_the_run(driver: Driver, fake: FakeProvider) -> None:
    hold = Hold()
    fake.script(
        Reply((Text("I read"), hold, ToolCall("file_read", {"path": "README.md"}, id="c1"))),
        text_reply("As if nothing had happened."),
    )
    async with driver.watching() as watch:
        await driver.post("Go")
        await watch.until_text("I read")
        await tell_database(driver, REFUSE_CALLS)
        hold.gate.set()
        ended = await watch.until_type("run.ended")
        await watch.until_state("idle")
    assert (ended["payload"]["state"], ended["payload"]["reason"]) == ("failed", "unavailable")
    assert not watch.of("message.tool_result")
