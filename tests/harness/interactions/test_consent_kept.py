"""Consent asked by one run and given to the next: once, for exactly what was asked, under today's rules."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.errors import StorageError
from app.harness.sessions.session_resuming import Resuming
from app.tools.contract.rules import ConsentRequest
from tests.driver.sessions import Driver, check_stream, driven, restarted, write_project
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.asking import ASKING_YAML, AskingTool
from tests.harness.asking import answer as consent
from tests.harness.asking import until_asked as until_consent
from tests.harness.interactions.asking import ASKING_YAML as QUESTIONS_YAML
from tests.harness.interactions.asking import answer, ask, read_by_model, until_asked

pytestmark = pytest.mark.requirement("interactions.permission")


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> AskingTool:
    asking = AskingTool()
    monkeypatch.setattr("app.daemon.lifespan.build_registry", asking.build_registry)
    return asking


def call(*commands: str, suggest: tuple[str, ...] = (), number: int = 1) -> ToolCall:
    return ToolCall("lab_ask", {"commands": list(commands), "suggest": list(suggest)}, f"call_{number}")


async def left_open(
    fake: FakeProvider, tmp_path: Path, settings: dict[str, Any], *calls: ToolCall
) -> tuple[str, str]:
    """Have a model ask for consent, and stop the daemon in good order; return project and session."""
    root = write_project(tmp_path / "asking", ASKING_YAML)
    fake.script(Reply(calls))
    async with asyncio.timeout(60), driven(tmp_path / "data", root, **settings) as driver:
        async with driver.watching() as watch:
            await driver.post("Push")
            await until_consent(watch, len(calls))
        return driver.project_id, driver.session_id


async def open_questions(driver: Driver) -> list[dict[str, Any]]:
    items = (await driver.session_call("GET", "/interactions?state=pending"))["items"]
    return sorted(items, key=lambda one: str(one["tool_call_id"]))


async def test_always_after_a_restart_stores_its_rules_and_the_call_is_run(
    tool: AskingTool, fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    _, session = await left_open(fake, tmp_path, settings_overrides, call("git push", suggest=("git *",)))
    fake.script(text_reply("Pushed."))
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        driver.session_id = session
        (question,) = await open_questions(driver)
        async with driver.watching() as watch:
            wrong = await consent(driver, {"interaction_id": question["id"]}, 400, answer="always", rule=3)
            assert set(wrong["error"]["details"]["fields"]) == {"rule"}
            closed = await consent(driver, {"interaction_id": question["id"]}, answer="always")
            await watch.until_state("idle")
        rules = (await driver.session_call("GET", "/permissions"))["items"]
    check_stream(watch.frames)
    assert closed["answer"]["rules"] == [{"permission": "lab.ask", "pattern": "git *", "action": "allow"}]
    assert [(rule["pattern"], rule["action"]) for rule in rules] == [("git *", "allow")]
    assert tool.done == ["git push"]


async def test_each_of_two_calls_needs_its_own_answer_and_a_refusal_runs_nothing(
    tool: AskingTool, fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    calls = (call("git push"), call("rm -r build", number=2))
    _, session = await left_open(fake, tmp_path, settings_overrides, *calls)
    fake.script(text_reply("Well."))
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        driver.session_id = session
        push, remove = await open_questions(driver)
        async with driver.watching() as watch:
            await consent(driver, {"interaction_id": push["id"]}, answer="once")
            assert (await driver.state(), tool.done) == ("paused", [])
            await consent(driver, {"interaction_id": remove["id"]}, answer="reject")
            await watch.until_state("idle")
    check_stream(watch.frames)
    assert tool.done == ["git push"]
    results = read_by_model(fake)
    assert '"answer":"once"' in results[0]
    assert results[1].startswith("Error permission_denied: The operator refused this.")


async def test_a_resume_without_the_answer_runs_nothing(
    tool: AskingTool, fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    _, session = await left_open(fake, tmp_path, settings_overrides, call("git push"))
    fake.script(text_reply("Then not."))
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        driver.session_id = session
        async with driver.watching() as watch:
            await driver.session_call("POST", "/resume", status=201)
            await watch.until_state("idle")
    check_stream(watch.frames)
    assert tool.done == []
    assert read_by_model(fake)[0].startswith("Error not_answered")
    assert watch.of("permission.answered")[-1]["payload"]["state"] == "cancelled"


async def test_what_is_another_question_by_then_is_asked_again(
    tool: AskingTool,
    fake: FakeProvider,
    tmp_path: Path,
    settings_overrides: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, session = await left_open(fake, tmp_path, settings_overrides, call("git push"))
    fake.script(text_reply("Hm."))
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        driver.session_id = session
        (question,) = await open_questions(driver)

        def changed(**values: Any) -> ConsentRequest:
            return ConsentRequest(**{**values, "subjects": ("git push --force",)})

        monkeypatch.setattr("tests.harness.asking.ConsentRequest", changed)
        async with driver.watching() as watch:
            await consent(driver, {"interaction_id": question["id"]}, answer="once")
            _, again = await until_consent(watch, 2)
            assert again["subjects"] == ["git push --force"]
            await watch.until_state("paused")
            assert tool.done == []
            await consent(driver, again, answer="reject")
            await watch.until_state("idle")
    assert tool.done == []


async def test_a_consent_that_was_given_but_not_used_is_used_by_the_next_daemon(
    tool: AskingTool,
    fake: FakeProvider,
    tmp_path: Path,
    settings_overrides: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, session = await left_open(fake, tmp_path, settings_overrides, call("git push"))
    fake.script(text_reply("Pushed."))

    async def broken(*_: Any) -> None:
        raise StorageError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Resuming, "_leave_pause", broken)
        async with restarted(tmp_path / "data", **settings_overrides) as driver:
            driver.session_id = session
            (question,) = await open_questions(driver)
            closed = await consent(driver, {"interaction_id": question["id"]}, answer="once")
            assert (closed["state"], await driver.state(), tool.done) == ("answered", "paused", [])
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        driver.session_id = session
        async with driver.watching() as watch:
            await watch.until(lambda f: f["type"] == "session.state" and f["payload"]["state"] == "idle")
    check_stream(watch.frames)
    assert tool.done == ["git push"]


@pytest.mark.requirement("interactions.restart")
async def test_an_answered_question_continues_with_the_next_daemon_when_this_one_cannot(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_project(tmp_path / "shop", QUESTIONS_YAML)
    fake.script(Reply((ask(),)), text_reply("SQLite it is."))

    async def broken(*_: Any) -> None:
        raise StorageError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Resuming, "_leave_pause", broken)
        async with driven(tmp_path / "data", root, **settings_overrides) as driver:
            async with driver.watching() as watch:
                await driver.post("Ask")
                (asked_for,) = await until_asked(watch)
                await watch.until_state("paused")
                await answer(driver, asked_for, answers={"database": ["SQLite"]})
            assert await driver.state() == "paused"
            session = driver.session_id
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        driver.session_id = session
        async with driver.watching() as watch:
            await watch.until_state("idle")
    check_stream(watch.frames)
    assert "SQLite" in read_by_model(fake)[0]


@pytest.mark.requirement("interactions.restart")
async def test_a_daemon_that_stops_in_good_order_leaves_questions_open(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_project(tmp_path / "shop", QUESTIONS_YAML)
    fake.script(Reply((ask(), ToolCall("file_read", {"path": "README.md"}, "r"))), text_reply("Good."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        async with driver.watching() as watch:
            await driver.post("Ask")
            (asked_for,) = await until_asked(watch)
        session = driver.session_id
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        driver.session_id = session
        detail = await driver.session_call("GET")
        async with driver.watching() as watch:
            await answer(driver, asked_for, answers={"database": ["PostgreSQL"]})
            await watch.until_state("idle")
    check_stream(watch.frames)
    assert (detail["state"], detail["state_reason"]) == ("paused", "interaction")
    assert "PostgreSQL" in read_by_model(fake)[0]
    assert "Shop" in read_by_model(fake)[1]
