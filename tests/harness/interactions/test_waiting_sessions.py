"""A session in which everything waits for a person: it gives up its place, and its run goes on later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.driver.loop_clock import put_all_forward
from tests.driver.sessions import Driver, check_stream, driven, restarted, write_project
from tests.fakes.provider_script import Hold, RecordedRequest, Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.asking import ASKING_YAML, AskingTool
from tests.harness.asking import answer as consent
from tests.harness.asking import until_asked as until_consent
from tests.harness.hooks.plugged import until
from tests.harness.interactions.asking import read_by_model
from tests.harness.laboratory import Laboratory

pytestmark = pytest.mark.requirement("durability.waiting_session")

DriveAsking = Callable[..., AbstractAsyncContextManager[Driver]]


class Tools(AskingTool):
    """The tool that asks beside those that wait."""

    def __init__(self, lab: Laboratory) -> None:
        super().__init__()
        self.lab = lab

    def build_registry(self, **options: Any) -> Any:
        asking = super().build_registry(**options)
        return type(asking)((*asking.definitions(), *self.lab.definitions()), asking.groups())


@pytest.fixture
def lab() -> Laboratory:
    return Laboratory()


@pytest.fixture
def tool(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> AskingTool:
    asking = Tools(lab)
    monkeypatch.setattr("app.daemon.lifespan.build_registry", asking.build_registry)
    return asking


@pytest.fixture
def drive(tool: AskingTool, tmp_path: Path, settings_overrides: dict[str, Any]) -> DriveAsking:
    @asynccontextmanager
    async def drive(yaml: str = ASKING_YAML, **settings: Any) -> AsyncIterator[Driver]:
        root = write_project(tmp_path / "asking", yaml)
        async with driven(tmp_path / "data", root, **settings_overrides, **settings) as driver:
            yield driver

    return drive


@pytest.fixture
async def asked(drive: DriveAsking) -> AsyncIterator[Driver]:
    async with drive() as driver:
        yield driver


@pytest.fixture
async def narrow(drive: DriveAsking) -> AsyncIterator[Driver]:
    """A project with one place."""
    async with drive(limits={"sessions_per_project": 1}) as driver:
        yield driver


def call(command: str, number: int = 1) -> ToolCall:
    return ToolCall("lab_ask", {"commands": [command]}, f"call_{number}")


def wait_for(name: str) -> ToolCall:
    return ToolCall("lab_wait", {"name": name}, f"wait_{name}")


async def states(driver: Driver) -> tuple[str, str | None]:
    detail = await driver.session_call("GET")
    return detail["state"], detail["state_reason"]


async def runs(driver: Driver) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await driver.session_call("GET", "/runs"))["items"]
    return found


async def test_sessions_that_ask_leave_their_places_to_others_and_go_on_with_the_same_run(
    narrow: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    asking = []
    for number in range(4):
        fake.script(Reply((call(f"push {number}"),)))
        session = narrow.session_id if number == 0 else await narrow.new_session()
        async with narrow.watching() as watch:
            await narrow.post("Push")
            (question,) = await until_consent(watch)
            paused = await watch.until_state("paused")
        assert paused["payload"]["reason"] == "interaction"
        asking.append((session, question))
    fake.script(text_reply("Not blocked."))
    await narrow.new_session()
    async with narrow.watching() as watch:
        await narrow.post("Hello")
        await watch.until_state("idle")
    for number, (session, question) in enumerate(asking):
        narrow.session_id = session
        assert await states(narrow) == ("paused", "interaction")
        (before,) = await runs(narrow)
        assert before["state"] == "running"
        fake.script(text_reply("Done."))
        async with narrow.watching() as watch:
            await consent(narrow, question, answer="once")
            await watch.until_state("idle")
        check_stream(watch.frames)
        (after,) = await runs(narrow)
        assert (after["id"], after["state"]) == (before["id"], "succeeded")
        assert tool.done[-1] == f"push {number}"
        told = [frame["payload"]["state"] for frame in watch.of("session.state")]
        assert told == ["running", "paused", "running", "idle"]


async def holding(narrow: Driver, fake: FakeProvider) -> tuple[str, dict[str, Any], Hold]:
    """Have one session ask, and another one take the only place; return the first one's question."""
    hold = Hold()
    fake.script(Reply((call("push"),)), Reply((hold, Text("Done."))))
    first = narrow.session_id
    async with narrow.watching() as watch:
        await narrow.post("Push")
        (question,) = await until_consent(watch)
        await watch.until_state("paused")
    await narrow.new_session()
    await narrow.post("Work")
    await fake.until_requests(2)
    return first, question, hold


async def test_an_answered_session_without_a_place_is_queued_and_continues_with_its_run(
    narrow: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    first, question, hold = await holding(narrow, fake)
    narrow.session_id = first
    async with narrow.watching() as watch:
        await consent(narrow, question, answer="once")
        queued = await watch.until_state("queued")
        assert queued["payload"]["reason"] == "capacity"
        posted = await narrow.post("And then")
        assert posted["queued"] is True
        assert tool.done == []
        fake.script(text_reply("Pushed."), text_reply("Then."))
        hold.gate.set()
        await watch.until_state("idle")
    check_stream(watch.frames)
    assert tool.done == ["push"]
    assert len(await runs(narrow)) == 2  # the one that asked, and that of the queued message


async def test_a_queued_session_can_be_resumed_beyond_the_places(
    narrow: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    first, question, hold = await holding(narrow, fake)
    narrow.session_id = first
    fake.script(text_reply("Pushed."))
    async with narrow.watching() as watch:
        await consent(narrow, question, answer="once")
        await watch.until_state("queued")
        resumed = await narrow.session_call("POST", "/resume", {})
        await watch.until_state("idle")
    hold.gate.set()
    assert resumed["run"]["id"] == (await runs(narrow))[0]["id"]
    assert tool.done == ["push"]


async def test_a_queued_session_that_is_cancelled_runs_nothing(
    narrow: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    first, question, hold = await holding(narrow, fake)
    narrow.session_id = first
    async with narrow.watching() as watch:
        await consent(narrow, question, answer="once")
        await watch.until_state("queued")
        await narrow.session_call("POST", "/cancel")
        await watch.until_state("idle")
    check_stream(watch.frames)
    hold.gate.set()
    (run,) = await runs(narrow)
    assert (run["state"], tool.done) == ("cancelled", [])


async def test_a_session_runs_as_long_as_another_call_of_the_step_does(
    asked: Driver, fake: FakeProvider, lab: Laboratory
) -> None:
    fake.script(Reply((call("push"), wait_for("a"))))
    async with asked.watching() as watch:
        await asked.post("Push")
        await until_consent(watch)
        await lab.until_started("a")
        assert await states(asked) == ("running", None)
        lab.release("a")
        await watch.until_state("paused")


async def test_two_questions_are_answered_one_by_one(
    asked: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    fake.script(Reply((call("push"), call("pull", 2))), text_reply("Both."))
    async with asked.watching() as watch:
        await asked.post("Go")
        first, second = await until_consent(watch, 2)
        await watch.until_state("paused")
        seen = len(watch.frames)
        await consent(asked, first, answer="once")
        await watch.until_state("paused", start=seen)
        assert tool.done == [first["subjects"][0]]
        seen = len(watch.frames)
        await consent(asked, second, answer="reject")
        await watch.until_state("idle", start=seen)
    check_stream(watch.frames)
    assert len(tool.done) == 1
    assert len(await runs(asked)) == 1


async def test_posts_wait_and_a_steer_waits_for_the_answer(
    asked: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    fake.script(Reply((call("push"),)), text_reply("Pushed."), text_reply("Later."))
    async with asked.watching() as watch:
        await asked.post("Push")
        (question,) = await until_consent(watch)
        await watch.until_state("paused")
        path = "/messages"
        later = await asked.session_call("POST", path, {"content": "Later"}, status=202)
        steer = await asked.session_call("POST", path, {"content": "Gently", "mode": "steer"}, status=202)
        refused = await asked.session_call("POST", path, {"content": "Now", "mode": "reject"}, status=409)
        assert await states(asked) == ("paused", "interaction")
        await consent(asked, question, answer="once")
        await watch.until(lambda _: len(watch.of("run.ended")) == 2)
        await watch.until_state("idle")
    check_stream(watch.frames)
    assert (later["queued"], steer["queued"]) == (True, True)
    assert "waits" in refused["error"]["message"]
    sent = [[m["content"] for m in request.json["messages"]] for request in fake.requests]
    assert sent[1][-1] == "Gently"
    assert sent[2][-1] == "Later"


@pytest.mark.parametrize("command", ["cancel", "archive", "delete", "rollback"])
async def test_a_waiting_session_takes_every_command_of_a_paused_one(
    asked: Driver, fake: FakeProvider, tool: AskingTool, command: str
) -> None:
    fake.script(Reply((call("push"),)))
    async with asked.watching() as watch:
        posted = await asked.post("Push")
        (question,) = await until_consent(watch)
        await watch.until_state("paused")
        if command == "delete":
            await asked.session_call("DELETE", status=204)
            await asked.session_call("GET", status=404)
            return
        body = {"message_id": posted["message"]["id"]} if command == "rollback" else {}
        await asked.session_call("POST", f"/{command}", body)
        ended = await watch.until_type("run.ended")
        expected = {"cancel": "idle", "archive": "archived", "rollback": "idle"}[command]
        assert await asked.state() == expected
    assert ended["payload"]["state"] == "cancelled"
    late = await consent(asked, question, 409, answer="once")
    assert late["error"]["details"]["reason"] == "not_waiting"
    assert tool.done == []


@pytest.mark.parametrize("waits", [True, False], ids=["paused for the question", "another call at work"])
@pytest.mark.parametrize("then", ["answer", "resume"])
async def test_a_pause_keeps_the_question_and_the_next_resume_continues_with_the_answer(
    asked: Driver, fake: FakeProvider, tool: AskingTool, lab: Laboratory, waits: bool, then: str
) -> None:
    calls = (call("push"),) if waits else (call("push"), wait_for("slow"))
    fake.script(Reply(calls), text_reply("Done."))
    async with asked.watching() as watch:
        await asked.post("Push")
        (question,) = await until_consent(watch)
        if waits:
            await watch.until_state("paused")
        else:
            await lab.until_started("slow")
        assert (await asked.session_call("POST", "/pause"))["state"] == "paused"
        await watch.until_type("run.ended")
        assert await states(asked) == ("paused", "operator")
        assert (await asked.session_call("GET"))["pending_interactions"] == 1
        if then == "answer":
            assert (await consent(asked, question, answer="once"))["state"] == "answered"
            assert (await asked.state(), tool.done) == ("paused", [])
        await asked.session_call("POST", "/resume", {}, status=201)
        await watch.until_state("idle")
        if then == "resume":
            await consent(asked, question, 409, answer="once")
    check_stream(watch.frames)
    assert tool.done == (["push"] if then == "answer" else [])


async def test_a_compaction_of_a_session_that_waits_is_refused_at_once(
    asked: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    fake.script(Reply((call("push"),)), text_reply("Done."))
    async with asked.watching() as watch:
        await asked.post("Push")
        (question,) = await until_consent(watch)
        await watch.until_state("paused")
        async with asyncio.timeout(45):
            refused = await asked.session_call("POST", "/compact", {}, status=409)
        details = refused["error"]["details"]
        assert (details["reason"], details["state_reason"]) == ("run_in_progress", "interaction")
        assert "Answer its questions" in refused["error"]["message"]
        await consent(asked, question, answer="once")
        await watch.until_state("idle")
    assert tool.done == ["push"]


async def test_a_compaction_that_waits_for_a_boundary_is_refused_once_the_run_asks(
    asked: Driver, fake: FakeProvider, tool: AskingTool, lab: Laboratory
) -> None:
    fake.script(Reply((call("push"), wait_for("slow"))), text_reply("Done."))
    async with asked.watching() as watch:
        await asked.post("Push")
        (question,) = await until_consent(watch)
        await lab.until_started("slow")
        compacting = asyncio.create_task(asked.session_call("POST", "/compact", {}, status=409))
        (session,) = asked.daemon.services.sessions._live.all()
        assert session.runs.active is not None
        requests = session.runs.active.context.controls.compactions
        await until(lambda: requests._waiting)
        lab.release("slow")
        async with asyncio.timeout(45):
            refused = await compacting
        assert "Answer its questions" in refused["error"]["message"]
        await consent(asked, question, answer="once")
        await watch.until_state("idle")


async def test_a_resume_continues_with_the_same_run_without_the_answer(
    asked: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    fake.script(Reply((call("push"),)), text_reply("Then not."))
    async with asked.watching() as watch:
        await asked.post("Push")
        (question,) = await until_consent(watch)
        await watch.until_state("paused")
        await asked.session_call("POST", "/resume", {})
        await watch.until_state("idle")
        await consent(asked, question, 409, answer="once")
    check_stream(watch.frames)
    assert len(await runs(asked)) == 1
    assert read_by_model(fake)[0].startswith("Error not_answered")
    assert tool.done == []


async def test_an_answer_and_a_cancel_at_once_leave_one_of_two_ends(
    asked: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    def respond(request: RecordedRequest) -> Reply:
        answered = request.json["messages"][-1]["role"] == "tool"
        return text_reply("Pushed.") if answered else Reply((call("push"),))

    fake.respond = respond
    for number in range(12):
        await asked.new_session()
        async with asked.watching() as watch:
            await asked.post("Push")
            (question,) = await until_consent(watch)
            if number % 2:
                await watch.until_state("paused")
            path = f"/api/v1/sessions/{asked.session_id}"
            answering = asked.client.post(
                f"{path}/interactions/{question['interaction_id']}/answer", json={"answer": "once"}
            )
            cancelling = asked.client.post(f"{path}/cancel")
            order = [answering, cancelling] if number % 4 < 2 else [cancelling, answering]
            answered = await asyncio.gather(*order)
            assert {one.status_code for one in answered} <= {200, 409}
            await watch.until_state("idle")
        check_stream(watch.frames)
        (run,) = await runs(asked)
        assert run["state"] in ("cancelled", "succeeded")


async def test_the_time_of_waiting_does_not_count_against_the_run(
    drive: DriveAsking, fake: FakeProvider, tool: AskingTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = ASKING_YAML + "limits: { walltime_seconds: 60 }\n"
    fake.script(Reply((call("push"),)), text_reply("Pushed."))
    async with drive(limited) as driver, driver.watching() as watch:
        await driver.post("Push")
        (question,) = await until_consent(watch)
        await watch.until_state("paused")
        put_all_forward(monkeypatch, 61)
        assert await states(driver) == ("paused", "interaction")
        await consent(driver, question, answer="once")
        ended = await watch.until_type("run.ended")
    assert ended["payload"]["state"] == "succeeded"
    assert ended["payload"]["duration_ms"] < 60_000
    assert not watch.of("budget.warning")


@pytest.mark.parametrize("graceful", [True, False])
async def test_an_answer_without_a_place_holds_after_a_restart(
    drive: DriveAsking,
    fake: FakeProvider,
    tool: AskingTool,
    tmp_path: Path,
    settings_overrides: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    graceful: bool,
) -> None:
    async with drive(limits={"sessions_per_project": 1}) as narrow:
        first, question, _ = await holding(narrow, fake)
        narrow.session_id = first
        async with narrow.watching() as watch:
            await consent(narrow, question, answer="once")
            await watch.until_state("queued")
        assert tool.done == []
        if not graceful:  # what a kill leaves: nothing is stored of the end
            copied = tmp_path / "killed"
            await asyncio.to_thread(_copy_database, tmp_path / "data", copied)
    fake.script(text_reply("Pushed."), text_reply("Pushed."))
    data = tmp_path / ("data" if graceful else "killed")
    async with restarted(data, **settings_overrides) as driver:
        driver.session_id = first
        async with driver.watching() as watch:
            await watch.until_state("idle")
    assert tool.done == ["push"]


def _copy_database(data: Path, to: Path) -> None:
    import shutil
    import sqlite3

    to.mkdir(mode=0o700)
    for file in data.iterdir():
        if file.is_file() and not file.name.startswith("kaged.db") and file.suffix != ".lock":
            shutil.copy2(file, to / file.name)
    with sqlite3.connect(data / "kaged.db") as source, sqlite3.connect(to / "kaged.db") as target:
        source.backup(target)
