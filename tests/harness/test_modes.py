"""Modes of a session over a whole daemon: what a model may do in each, and how the mode changes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import PROJECT_YAML, Driver, check_stream, driven, restarted, write_project
from tests.fakes.provider_script import Hold, Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.asking import answer, results, until_asked

pytestmark = pytest.mark.requirement("modes.plan")

SHELL = '    "shell.*": { enabled: true }\n'
YAML = PROJECT_YAML + SHELL + '    "search.*": { enabled: true }\n    "@locked": { enabled: true }\n'
ASKS = YAML + "permissions:\n  - { permission: file.write, pattern: '**', action: ask }\n"
PINNED = ASKS.replace("action: ask }", "action: ask, pinned: true }")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_project(tmp_path / "shop", YAML)


@pytest.fixture
async def planning(root: Path, tmp_path: Path, settings_overrides: dict[str, Any]) -> AsyncIterator[Driver]:
    async with driven(tmp_path / "data", root, session={"mode": "plan"}, **settings_overrides) as driver:
        yield driver


def write(path: str = "note.txt", call_id: str = "w") -> ToolCall:
    return ToolCall("file_write", {"path": path, "content": "x\n"}, call_id)


def run(command: str, call_id: str = "s", **more: Any) -> ToolCall:
    return ToolCall("shell_bash", {"command": command, **more}, call_id)


async def refusals(driver: Driver) -> list[str]:
    """Return the codes of the errors that the model has read, in order."""
    return [text.split(":")[0].removeprefix("Error ") for text in await results(driver) if "Error " in text]


async def test_plan_mode_reads_and_searches_and_refuses_every_way_to_write(
    planning: Driver, fake: FakeProvider, root: Path
) -> None:
    before = sorted(path for path in root.rglob("*") if path.is_file())
    hostile = (
        write(),
        ToolCall("file_create", {"path": "new.txt", "content": "x"}, "c"),
        ToolCall("edit_text", {"path": "README.md", "old_string": "Shop", "new_string": "Den"}, "e"),
        ToolCall("write", {"path": "other.txt", "content": "x"}, "l"),
        run("echo x > note.txt", "1"),
        run("sh -c 'echo x > note.txt'", "2"),
        run("cat README.md | tee note.txt", "3"),
        run("find . -name '*.md' -delete", "4"),
        run("cp README.md note.txt", "5"),
        run("git log", "6", env={"GIT_PAGER": "tee note.txt"}),
        run("$(echo touch) note.txt", "7"),
        ToolCall("bash", {"command": "touch note.txt"}, "8"),
    )
    reading = (
        ToolCall("file_read", {"path": "README.md"}, "r"),
        ToolCall("search_grep", {"pattern": "sells"}, "g"),
        run("cat README.md | grep -c sells", "b"),
    )
    fake.script(Reply(hostile), Reply(reading), text_reply("Here is what I found."))
    await planning.run("Have a look")
    texts = await results(planning)
    assert [text.split(":")[0] for text in texts[: len(hostile)]] == ["Error permission_denied"] * len(
        hostile
    )
    assert all("mode `plan`" in text for text in texts[: len(hostile)])
    assert "It sells things." in texts[-3] and "README.md" in texts[-2] and "\n1" in texts[-1]
    assert sorted(path for path in root.rglob("*") if path.is_file()) == before


async def test_each_request_in_plan_mode_says_so_last_and_has_the_same_tools_as_any_other(
    planning: Driver, fake: FakeProvider
) -> None:
    fake.script(text_reply("Planned."), text_reply("Done."))
    await planning.run("Plan it")
    await planning.session_call("PATCH", "", {"mode": "full"})
    await planning.run("Do it")
    first, second = (request.json for request in fake.requests)
    assert first["tools"] == second["tools"]
    assert "kaged_plan" in [tool["function"]["name"] for tool in first["tools"]]
    assert "this session is in plan mode" in first["messages"][-1]["content"]
    assert "plan mode" not in str(second["messages"])


@pytest.mark.requirement("modes.change")
async def test_the_mode_is_shown_and_changed_and_kept_with_who_changed_it(
    planning: Driver, fake: FakeProvider
) -> None:
    async with planning.watching() as watch:
        changed = await planning.session_call("PATCH", "", {"mode": "edits"})
        told = await watch.until_type("session.updated")
    assert (changed["mode"], told["payload"]["mode"]) == ("edits", "edits")
    (listed,) = (await planning.call("GET", "/sessions"))["items"]
    assert listed["mode"] == "edits"
    audit = await planning.call("GET", f"/audit?session_id={planning.session_id}&event=session.mode_changed")
    (row,) = audit["items"]
    assert (row["actor"], row["data"]) == ("operator", {"mode": "edits", "previous": "plan"})
    for body in ({"mode": "yolo"}, {"mode": None}, {"mode": ["plan"]}, {}):
        refused = await planning.session_call("PATCH", "", body, status=400)
        assert refused["error"]["code"] == "validation_failed"
    await planning.call("POST", "/sessions", {"project_id": planning.project_id, "mode": "all"}, status=400)
    await planning.session_call("POST", "/archive")
    await planning.session_call("PATCH", "", {"mode": "full"}, status=409)
    modes = (await planning.call("GET", "/modes"))["items"]
    assert [mode["name"] for mode in modes] == ["plan", "ask", "edits", "full"]
    assert {"permission": "fs.write", "pattern": "*", "action": "deny"} in modes[0]["rules"]


@pytest.mark.requirement("modes.change")
async def test_a_mode_holds_from_the_next_call_of_a_running_turn_on(
    planning: Driver, fake: FakeProvider, root: Path
) -> None:
    hold = Hold()
    fake.script(Reply((write(),)), Reply((hold, write(call_id="again"))), text_reply("Done."))
    async with planning.watching() as watch:
        await planning.post("Write it")
        await watch.until_type("message.tool_result")
        assert not (root / "note.txt").exists()
        await planning.session_call("PATCH", "", {"mode": "edits"})
        hold.gate.set()
        await watch.until_state("idle")
    check_stream(watch.frames)
    assert (root / "note.txt").read_text() == "x\n"
    assert await refusals(planning) == ["permission_denied"]


@pytest.mark.requirement("modes.change")
@pytest.mark.parametrize(("mode", "written"), [("edits", True), ("plan", False)])
async def test_a_new_mode_settles_the_request_that_is_open(
    mode: str, written: bool, tmp_path: Path, settings_overrides: dict[str, Any], fake: FakeProvider
) -> None:
    root = write_project(tmp_path / "shop", ASKS)
    fake.script(Reply((write(),)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        async with driver.watching() as watch:
            await driver.post("Write it")
            (question,) = await until_asked(watch)
            await watch.until_state("paused")
            await driver.session_call("PATCH", "", {"mode": mode})
            told = await watch.until_type("permission.answered")
            await watch.until_state("idle")
        check_stream(watch.frames)
        assert (root / "note.txt").exists() is written
        state = "answered" if written else "cancelled"
        assert (told["payload"]["interaction_id"], told["payload"]["state"]) == (
            question["interaction_id"],
            state,
        )
        assert told["payload"].get("covered_by") == ("mode:edits" if written else None)
        assert await refusals(driver) == ([] if written else ["permission_denied"])
        late = await answer(driver, question, status=409, answer="once")
        assert late["error"]["details"]["reason"] == ("already_answered" if written else "not_waiting")


@pytest.mark.requirement("modes.rules")
async def test_no_mode_overrides_what_the_project_file_pins(
    tmp_path: Path, settings_overrides: dict[str, Any], fake: FakeProvider
) -> None:
    root = write_project(tmp_path / "shop", PINNED)
    fake.script(Reply((write(),)), text_reply("Done."))
    async with driven(tmp_path / "data", root, session={"mode": "full"}, **settings_overrides) as driver:
        async with driver.watching() as watch:
            await driver.post("Write it")
            (question,) = await until_asked(watch)
            await answer(driver, question, answer="reject")
            await watch.until_state("idle")
        assert question["reason"] == "A rule of the project file asks before `file.write` on any file."
        assert not (root / "note.txt").exists()


@pytest.mark.requirement("modes.rules")
async def test_a_command_asks_in_edits_and_runs_in_full_also_when_headless(
    root: Path, tmp_path: Path, settings_overrides: dict[str, Any], fake: FakeProvider
) -> None:
    session = {"mode": "edits", "headless": True}
    calls = (write(), run("touch made.txt"))
    fake.script(Reply(calls), text_reply("Hm."), Reply((run("touch made.txt", "t"),)), text_reply("Done."))
    async with driven(tmp_path / "data", root, session=session, **settings_overrides) as driver:
        await driver.run("Go")
        assert (root / "note.txt").exists() and not (root / "made.txt").exists()
        assert await refusals(driver) == ["permission_denied"]
        await driver.session_call("PATCH", "", {"mode": "full"})
        await driver.run("Go on")
        assert (root / "made.txt").exists()


@pytest.mark.requirement("modes.change")
async def test_the_mode_survives_a_restart_a_fork_and_an_export(
    root: Path, tmp_path: Path, settings_overrides: dict[str, Any], fake: FakeProvider
) -> None:
    fake.script(text_reply("Planned."))
    async with driven(tmp_path / "data", root, session={"mode": "plan"}, **settings_overrides) as driver:
        await driver.run("Plan it")
        session_id, project_id = driver.session_id, driver.project_id
    fake.script(Reply((write(),)), text_reply("I must not."))
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        driver.session_id, driver.project_id = session_id, project_id
        await driver.run("Write it")
        assert await refusals(driver) == ["permission_denied"]
        last = (await driver.messages())[0]["id"]
        fork = await driver.session_call("POST", "/fork", {"message_id": last})
        assert fork["mode"] == "plan"
        exported = (await driver.client.get(f"/api/v1/sessions/{session_id}/export")).content
        await driver.session_call("DELETE", "")
        taken = await driver.client.post("/api/v1/sessions/import", content=exported)
        assert (taken.status_code, taken.json()["mode"]) == (201, "plan")
        await driver.session_call("DELETE", "")
        wider = exported.replace(b'"mode":"plan"', b'"mode":"root"', 1)
        refused = await driver.client.post("/api/v1/sessions/import", content=wider)
        assert (refused.status_code, "mode 'root'" in refused.text) == (400, True)
    assert not (root / "note.txt").exists()
