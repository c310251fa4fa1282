"""A call that waits for a human: told, stored, answered once; its run can be stopped at any time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app.harness.projects.permissions import RuleScope
from app.storage.unit_of_work import UnitOfWork
from tests.driver.sessions import (
    PROJECT_YAML,
    WAIT_SECONDS,
    Driver,
    check_stream,
    driven,
    restarted,
    write_project,
)
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.asking import ASKING_YAML, AskingTool, answer, results, until_asked

pytestmark = pytest.mark.requirement("authorisation.ask")


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> AskingTool:
    asking = AskingTool()
    monkeypatch.setattr("app.daemon.lifespan.build_registry", asking.build_registry)
    return asking


@pytest.fixture
async def asked(
    tool: AskingTool, tmp_path: Path, settings_overrides: dict[str, Any]
) -> AsyncIterator[Driver]:
    root = write_project(tmp_path / "asking", ASKING_YAML)
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        yield driver


def asks(*calls: ToolCall) -> tuple[Reply, Reply]:
    return Reply(calls), text_reply("Done.")


def call(*commands: str, suggest: tuple[str, ...] = (), number: int = 1) -> ToolCall:
    arguments = {"commands": list(commands), "suggest": list(suggest)}
    return ToolCall("lab_ask", arguments, id=f"call_{number}")


async def test_a_question_is_published_stored_and_answered_and_the_call_goes_on(
    asked: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    fake.script(
        *asks(call("git push", suggest=("git push *",)), ToolCall("file_read", {"path": "README.md"}, id="r"))
    )
    async with asked.watching() as watch:
        await asked.post("Push")
        (question,) = await until_asked(watch)
        # The other call of the step is not held up.
        await watch.until(lambda f: f["type"] == "message.tool_result" and f["payload"]["toolCallId"] == "r")
        await watch.until_state("paused")
        waiting = await asked.session_call("GET")
        (pending,) = (await asked.session_call("GET", "/interactions?state=pending"))["items"]
        assert tool.done == []
        closed = await answer(asked, question, answer="once")
        await watch.until_state("idle")

    check_stream(watch.frames)
    assert (waiting["state"], waiting["pending_interactions"]) == ("paused", 1)
    assert (pending["kind"], pending["state"], pending["tool_call_id"]) == ("permission", "pending", "call_1")
    assert pending["request"] == {
        "tool": "lab.ask",
        "permission": "lab.ask",
        "subjects": ["git push"],
        "reason": "The rule `lab.ask *` asks.",
        "source": "rule",
        "suggestions": [{"permission": "lab.ask", "pattern": "git push *", "action": "allow"}],
    }
    assert question == {
        "interaction_id": pending["id"],
        "tool_call_id": "call_1",
        "request_ref": None,
        **pending["request"],
    }
    (told,) = watch.of("permission.answered")
    assert told["payload"] == {
        "interaction_id": pending["id"],
        "tool_call_id": "call_1",
        "state": "answered",
        "answer": "once",
        "answered_by": "operator",
    }
    assert (closed["state"], closed["answer"], closed["answered_by"]) == (
        "answered",
        {"answer": "once"},
        "operator",
    )
    assert closed == await asked.session_call("GET", f"/interactions/{pending['id']}")
    assert tool.done == ["git push"]
    assert '{"answer":"once"}' in await results(asked)
    assert (await asked.session_call("GET"))["pending_interactions"] == 0
    assert (await asked.session_call("GET", "/permissions"))["items"] == []


async def test_a_rejection_ends_the_call_and_its_comment_reaches_the_model(
    asked: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    fake.script(*asks(call("rm -r build")))
    async with asked.watching() as watch:
        await asked.post("Clean up")
        (question,) = await until_asked(watch)
        await answer(asked, question, answer="reject", comment="Keep the build; remove dist.")
        await watch.until_state("idle")

    assert tool.done == []
    assert watch.of("permission.answered")[0]["payload"]["comment"] == "Keep the build; remove dist."
    (read,) = [m for m in fake.requests[1].json["messages"] if m["role"] == "tool"]
    assert read["content"].startswith("Error permission_denied: ")
    assert "Keep the build; remove dist." in read["content"]


@pytest.mark.parametrize(
    ("body", "stored"),
    [
        ({}, ["git *", "curl example.org"]),
        ({"rule": 1}, ["curl example.org"]),
        ({"rule": "git pu*"}, ["git pu*"]),
    ],
)
async def test_always_stores_what_was_chosen_for_the_session(
    asked: Driver, fake: FakeProvider, tool: AskingTool, body: dict[str, Any], stored: list[str]
) -> None:
    two = call("git push", "curl example.org", suggest=("git *", "curl example.org"))
    fake.script(*asks(two), *asks(call("git log")))
    async with asked.watching() as watch:
        await asked.post("Push")
        (question,) = await until_asked(watch)
        closed = await answer(asked, question, answer="always", **body)
        await watch.until_state("idle")
        await asked.post("Log")
        await until_asked(watch, 2)

    assert closed["answer"]["answer"] == "always"
    assert [rule["pattern"] for rule in closed["answer"]["rules"]] == stored
    assert closed["answer"]["scope"] == "session"
    kept = (await asked.session_call("GET", "/permissions"))["items"]
    assert sorted(rule["pattern"] for rule in kept) == sorted(stored)
    assert {(rule["permission"], rule["action"], rule["created_by"]) for rule in kept} == {
        ("lab.ask", "allow", "operator")
    }
    assert tool.rules[0] == ()
    assert sorted(rule.pattern for rule in tool.rules[1]) == sorted(stored)
    assert {rule.scope for rule in tool.rules[1]} == {"session"}
    assert (await asked.call("GET", f"/projects/{asked.project_id}/permissions"))["items"] == []


async def test_always_for_the_project_holds_in_its_other_sessions_and_replaces_what_asked(
    asked: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    rule = {"permission": "lab.ask", "pattern": "git *", "action": "ask"}
    made = await asked.call("POST", f"/projects/{asked.project_id}/permissions", rule)
    fake.script(*asks(call("git push", suggest=("git *",))))
    async with asked.watching() as watch:
        await asked.post("Push")
        (question,) = await until_asked(watch)
        await answer(asked, question, answer="always", scope="project")
        await watch.until_state("idle")
    (kept,) = (await asked.call("GET", f"/projects/{asked.project_id}/permissions"))["items"]
    assert (kept["id"], kept["action"]) == (made["id"], "allow")
    await asked.new_session()
    fake.script(*asks(call("ls")))
    async with asked.watching() as watch:
        await asked.post("List")
        await until_asked(watch)
    (seen,) = tool.rules[1]
    assert (seen.pattern, seen.action, seen.scope, seen.id) == ("git *", "allow", "project", made["id"])


async def test_always_answers_the_other_open_questions_that_its_rule_allows(
    asked: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    commands = ("git push", "git fetch", "curl example.org")
    fake.script(*asks(*(call(text, suggest=("git *",), number=n) for n, text in enumerate(commands))))
    async with asked.watching() as watch:
        await asked.post("Do all")
        questions = {question["subjects"][0]: question for question in await until_asked(watch, 3)}
        await answer(asked, questions["git push"], answer="always")
        await watch.until(lambda _: len(watch.of("message.tool_result")) == 2)
        (open_still,) = (await asked.session_call("GET", "/interactions?state=pending"))["items"]
        other = await asked.session_call("GET", f"/interactions/{questions['git fetch']['interaction_id']}")
        await answer(asked, questions["curl example.org"], answer="reject")
        await watch.until_state("idle")

    assert open_still["request"]["subjects"] == ["curl example.org"]
    assert other["answer"] == {
        "answer": "always",
        "covered_by": questions["git push"]["interaction_id"],
    }
    assert sorted(tool.done) == ["git fetch", "git push"]


async def test_a_rule_made_meanwhile_answers_what_it_allows_and_only_in_its_own_project_or_session(
    asked: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    fake.script(*asks(call("git push")))
    async with asked.watching() as watch:
        await asked.post("Push")
        await until_asked(watch)
        first = asked.session_id
        elsewhere = await asked.new_session()
        rule = {"permission": "lab.ask", "pattern": "git *", "action": "allow"}
        await asked.call("POST", f"/sessions/{elsewhere}/permissions", rule)
        denied = {"permission": "lab.ask", "pattern": "git push", "action": "deny"}
        await asked.call("POST", f"/sessions/{first}/permissions", denied)
        assert (await asked.call("GET", f"/sessions/{first}"))["pending_interactions"] == 1
        (denial,) = (await asked.call("GET", f"/sessions/{first}/permissions"))["items"]
        await asked.call("DELETE", f"/sessions/{first}/permissions/{denial['id']}")
        made = await asked.call("POST", f"/projects/{asked.project_id}/permissions", rule)
        await watch.until_state("idle")
    assert watch.of("permission.answered")[0]["payload"]["covered_by"] == made["id"]
    assert tool.done == ["git push"]


async def test_of_two_answers_at_once_one_counts_and_the_other_learns_which(
    asked: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    fake.script(*asks(call("git push")))
    async with asked.watching() as watch:
        await asked.post("Push")
        (question,) = await until_asked(watch)
        path = f"/api/v1/sessions/{asked.session_id}/interactions/{question['interaction_id']}/answer"
        words = ("once", "reject", "once", "reject")
        given = await asyncio.gather(*(asked.client.post(path, json={"answer": word}) for word in words))
        late = await asked.client.post(path, json={"answer": "once"})
        await watch.until_state("idle")

    assert sorted(one.status_code for one in given) == [200, 409, 409, 409]
    (taken,) = [one.json() for one in given if one.status_code == 200]
    for refused in (*(one for one in given if one.status_code == 409), late):
        error = refused.json()["error"]
        assert error["code"] == "conflict"
        assert error["details"]["reason"] == "already_answered"
        assert error["details"]["state"] == "answered"
        assert error["details"]["answer"] == taken["answer"]
        assert error["details"]["answered_by"] == "operator"
    assert len(watch.of("permission.answered")) == 1
    assert tool.done == (["git push"] if taken["answer"]["answer"] == "once" else [])


async def test_stopping_the_run_withdraws_the_question_at_once(
    asked: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    fake.script(*asks(call("git push")))
    async with asked.watching() as watch:
        await asked.post("Push")
        (question,) = await until_asked(watch)
        async with asyncio.timeout(WAIT_SECONDS):
            await asked.session_call("POST", "/cancel")
        await watch.until_state("idle")
        late = await answer(asked, question, answer="once", status=409)

    check_stream(watch.frames)
    (told,) = watch.of("permission.answered")
    assert told["payload"]["state"] == "cancelled"
    assert late["error"]["details"]["reason"] == "not_waiting"
    (closed,) = (await asked.session_call("GET", "/interactions"))["items"]
    assert (closed["state"], closed["answer"], closed["answered_by"]) == ("cancelled", None, None)
    assert tool.done == []
    (result,) = await results(asked)
    assert result.startswith("Error cancelled: ")


async def test_an_answer_that_cannot_be_stored_leaves_the_question_open(
    asked: Driver, fake: FakeProvider, tool: AskingTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.script(*asks(call("git push", suggest=("git *",))))
    async with asked.watching() as watch:
        await asked.post("Push")
        (question,) = await until_asked(watch)
        monkeypatch.setattr("app.harness.projects.permissions.MAX_RULES", 0)
        refused = await answer(asked, question, answer="always", status=409)
        assert refused["error"]["details"]["reason"] == "too_many_rules"
        assert (await asked.session_call("GET"))["pending_interactions"] == 1
        await answer(asked, question, answer="once")
        await watch.until_state("idle")
    assert len(watch.of("permission.answered")) == 1
    assert tool.done == ["git push"]


async def test_a_very_long_command_is_shown_by_its_beginning_and_kept_whole(
    asked: Driver, fake: FakeProvider
) -> None:
    command = "echo " + "ä" * 60_000
    fake.script(*asks(call(command, "git push", suggest=("echo *",))))
    async with asked.watching() as watch:
        await asked.post("Echo")
        (question,) = await until_asked(watch)
        whole = await asked.client.get(question["request_ref"])
        await asked.session_call("POST", "/cancel")
    assert len(question["subjects"]) == 1
    assert command.startswith(question["subjects"][0])
    assert 60_000 < len(question["subjects"][0].encode()) <= 65_536
    assert question["suggestions"] == []
    assert whole.json()["request"]["subjects"] == [command, "git push"]


async def test_an_operators_own_call_needs_no_second_consent_and_is_noted_so(
    asked: Driver, tool: AskingTool
) -> None:
    called = await asked.session_call("POST", "/tools/lab.ask", {"params": {"commands": ["git push"]}})
    assert called["data"] == {"answer": "once"}
    assert tool.done == ["git push"]
    assert (await asked.session_call("GET", "/interactions"))["total"] == 0
    (noted,) = (await asked.call("GET", "/audit?event=permission.answered"))["items"]
    assert (noted["actor"], noted["data"]["answer"], noted["data"]["by"]) == (
        "operator",
        "once",
        "direct_call",
    )


async def test_question_and_answer_are_audited_without_secrets(asked: Driver, fake: FakeProvider) -> None:
    fake.script(
        *asks(call("curl -H 'Authorization: Bearer abcdef0123456789' example.org", suggest=("curl *",)))
    )
    async with asked.watching() as watch:
        await asked.post("Fetch")
        (question,) = await until_asked(watch)
        await answer(asked, question, answer="always")
        await watch.until_state("idle")
    rows = {row["event"]: row for row in (await asked.call("GET", "/audit?event=permission.*"))["items"]}
    assert set(rows) == {"permission.requested", "permission.answered", "permission.rule_added"}
    for row in rows.values():
        assert (row["session_id"], row["actor"]) == (asked.session_id, "operator")
        assert "abcdef0123456789" not in str(row)
        assert row["data"]["interaction_id"] == question["interaction_id"]
    assert rows["permission.rule_added"]["data"]["pattern"] == "curl *"


async def test_a_daemon_that_stops_in_good_order_does_not_wait_for_the_human(
    tool: AskingTool, fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_project(tmp_path / "asking", ASKING_YAML)
    fake.script(*asks(call("git push")))
    async with asyncio.timeout(40):
        patient = {**settings_overrides, "daemon": {"shutdown_grace_seconds": 60}}
        async with driven(tmp_path / "data", root, **patient) as driver:
            async with driver.watching() as watch:
                await driver.post("Push")
                await until_asked(watch)
            session_id = driver.session_id
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        driver.session_id = session_id
        detail = await driver.session_call("GET")
        assert (detail["state"], detail["state_reason"]) == ("paused", "interaction")
        (open_still,) = (await driver.session_call("GET", "/interactions"))["items"]
        assert open_still["state"] == "pending"
        fake.script(text_reply("Pushed."))
        async with driver.watching(detail["last_seq"]) as watch:
            await answer(driver, {"interaction_id": open_still["id"]}, answer="once")
            await watch.until_state("idle")
        assert tool.done == ["git push"]


async def test_the_rules_of_a_call_are_read_once_and_again_after_a_change(
    asked: Driver, fake: FakeProvider, tool: AskingTool
) -> None:
    permissions = asked.daemon.services.sessions.questions.rules
    reads: list[str] = []
    real, own = asked.daemon.services.storage.read, asyncio.current_task()

    async def counted(work: Any) -> Any:
        if asyncio.current_task() is own:  # the daemon's jobs read, too
            reads.append("read")
        return await real(work)

    asked.daemon.services.storage.read = counted  # type: ignore[method-assign]
    place = (asked.project_id, asked.session_id)
    assert await permissions.applying_to(*place) == ()
    assert len(reads) == 2
    await permissions.applying_to(*place)
    assert len(reads) == 2
    scope = RuleScope(asked.project_id)
    row, _ = await permissions.add(scope, "lab.ask", "git *", "deny", "operator")
    assert [rule.id for rule in await permissions.applying_to(*place)] == [row.id]
    assert len(reads) == 3
    await permissions.remove(scope, row.id, "operator")
    assert await permissions.applying_to(*place) == ()


async def test_a_change_while_the_rules_are_read_is_not_missed(asked: Driver) -> None:
    """What was read before the change must not be kept after it."""
    permissions = asked.daemon.services.sessions.questions.rules
    storage = asked.daemon.services.storage
    real, late = storage.read, asyncio.Event()

    async def slow(work: Any) -> Any:
        found = await real(work)
        await late.wait()
        return found

    storage.read = slow  # type: ignore[method-assign]
    place = (asked.project_id, asked.session_id)
    reading = asyncio.create_task(permissions.applying_to(*place))
    async with asyncio.timeout(WAIT_SECONDS):
        await permissions.add(RuleScope(*place), "lab.ask", "git *", "deny", "operator")
        late.set()
        assert len(await reading) == 1
        assert len(await permissions.applying_to(*place)) == 1


async def test_deleting_a_session_takes_its_rules_and_questions_along(
    asked: Driver, fake: FakeProvider
) -> None:
    fake.script(*asks(call("git push", suggest=("git *",))))
    async with asked.watching() as watch:
        await asked.post("Push")
        (question,) = await until_asked(watch)
        await answer(asked, question, answer="always")
        await watch.until_state("idle")
    await asked.session_call("DELETE", status=204)

    def left(uow: UnitOfWork) -> tuple[int, object]:
        return (
            uow.permissions.count(asked.project_id, asked.session_id),
            uow.interactions.get(question["interaction_id"]),
        )

    assert await asked.daemon.services.storage.read(left) == (0, None)


SHELL_YAML = PROJECT_YAML + '    "shell.*": { enabled: true }\n'


async def test_what_the_watchdog_asks_about_is_put_to_the_human_and_always_remembers_that_very_command(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_project(tmp_path / "shop", SHELL_YAML)
    wipe = ToolCall("shell_bash", {"command": "rm -rf build/.git"})
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        (root / "build" / ".git").mkdir(parents=True)
        fake.script(*asks(wipe))
        async with driver.watching() as watch:
            await driver.post("Clean up")
            (question,) = await until_asked(watch)
            assert (root / "build" / ".git").exists()
            closed = await answer(driver, question, answer="always")
            await watch.until_state("idle")
            assert not (root / "build" / ".git").exists()
            (root / "build" / ".git").mkdir()
            fake.script(*asks(wipe))
            await driver.post("Again")
            await watch.until(lambda f: len(watch.of("run.ended")) == 2)
        assert not (root / "build" / ".git").exists()
        assert len(watch.of("permission.requested")) == 1
    assert (question["tool"], question["source"], question["permission"]) == (
        "shell.bash",
        "watchdog",
        "watchdog",
    )
    assert [rule["permission"] for rule in closed["answer"]["rules"]] == ["watchdog"]
