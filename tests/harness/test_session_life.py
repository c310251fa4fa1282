"""From the first message to the archive: titles, models, tools called by hand, the end of a session."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from app.errors import StorageError
from app.harness.conversation.session_rows import title_from
from tests.driver.sessions import Driver, driven, restarted
from tests.fakes.provider_script import Reply, Stall, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("http.sessions")


async def test_the_first_message_gives_a_session_its_title_and_an_operators_title_stays(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(*(text_reply("Hi.") for _ in range(4)))
    watch = await driver.run("\n  Repair the till  \nIt does not open.")
    assert [f["payload"]["title"] for f in watch.of("session.updated")] == ["Repair the till"]
    watch = await driver.run("Something else")
    assert not watch.of("session.updated")
    assert (await driver.session_call("GET"))["title"] == "Repair the till"
    await driver.rename("The till")
    await driver.run("More")
    assert (await driver.session_call("GET"))["title"] == "The till"
    await driver.new_session(title="Chosen")
    await driver.run("Words")
    assert (await driver.session_call("GET"))["title"] == "Chosen"


def test_a_long_first_line_is_cut_at_a_word() -> None:
    title = title_from("word " * 40)
    assert len(title) <= 80 and title.endswith("word…")
    assert len(title_from("x" * 200)) == 80
    assert title_from(" \n\t\n") == ""


@pytest.mark.requirement("http.post", "providers.routes")
async def test_a_model_is_chosen_for_one_message_for_the_session_or_by_the_project(
    fake: FakeProvider, tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    models = {"main": ["fake:model-a"], "other": ["fake:model-b"], "third": ["fake:model-c"]}
    settings = {**settings_overrides, "models": models}
    async with driven(tmp_path / "data", project_root, **settings) as driver:
        fake.respond = lambda _: text_reply("Hi.")
        await driver.run("By the project")
        await driver.run("By the message", model="other")
        await driver.run("Directly", model="fake:model-d")
        await driver.run("By the project again")
        await driver.new_session(overrides={"model": "third"})
        watch = await driver.run("By the session")
        await driver.run("By the message", model="other")
        asked = [request.json["model"] for request in fake.requests]
        assert asked == ["model-a", "model-b", "model-d", "model-a", "model-c", "model-b"]
        assert watch.of("run.started")[0]["payload"]["model"] == "fake:model-c"


async def test_an_unknown_model_is_refused_before_anything_is_stored(driver: Driver) -> None:
    body = {"content": "Hello", "model": "nosuch"}
    refused = await driver.session_call("POST", "/messages", body, status=400)
    assert refused["error"]["code"] == "validation_failed"
    assert "main" in refused["error"]["message"]
    assert await driver.messages() == []
    assert await driver.state() == "idle"
    total = (await driver.call("GET", "/sessions"))["total"]
    body = {"project_id": driver.project_id, "overrides": {"model": "nosuch"}}
    await driver.call("POST", "/sessions", body, status=400)
    assert (await driver.call("GET", "/sessions"))["total"] == total


async def test_an_alias_of_the_project_that_is_gone_from_the_config_is_named_and_nothing_is_stored(
    fake: FakeProvider, tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        session_id = driver.session_id
    settings = {**settings_overrides, "models": {"another": ["fake:model-a"]}}
    async with restarted(tmp_path / "data", **settings) as driver:
        driver.session_id = session_id
        refused = await driver.session_call("POST", "/messages", {"content": "Hello"}, status=400)
        assert "main" in refused["error"]["message"] and "another" in refused["error"]["message"]
        assert await driver.messages() == []
        assert await driver.state() == "idle"


async def test_a_session_whose_project_has_gone_can_be_read_and_says_why_it_cannot_run(
    fake: FakeProvider, tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    async with driven(tmp_path / "data", project_root, **settings_overrides) as driver:
        session_id = driver.session_id
        fake.script(text_reply("Hi."))
        await driver.run("Hello")
    shutil.rmtree(project_root)
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        driver.session_id = session_id
        assert len(await driver.messages()) == 2
        refused = await driver.session_call("POST", "/messages", {"content": "Again"}, status=409)
        assert refused["error"]["code"] == "conflict"
        assert await driver.state() == "idle"
        assert len(await driver.messages()) == 2


@pytest.mark.requirement("http.tools", "tools.dispatch")
async def test_a_tool_called_by_hand_is_the_agents_call_in_permissions_memory_and_audit(
    driver: Driver, fake: FakeProvider, project_root: Path
) -> None:
    path = "/tools/file.read"
    answer = await driver.session_call("POST", path, {"params": {"path": "README.md"}})
    assert answer["type"] == "output"
    answer = await driver.session_call("POST", path, {"params": {"path": "nosuch"}})
    assert (answer["type"], answer["code"]) == ("error", "file_not_found")
    answer = await driver.session_call("POST", "/tools/file.nosuch", {"params": {}})
    assert answer["code"] == "tool_not_found"
    body = {"params": {"path": "README.md"}, "agent_path": "primary.subagents.nobody"}
    await driver.session_call("POST", path, body, status=404)

    rows = (await driver.call("GET", f"/audit?session_id={driver.session_id}&event=tool.*"))["items"]
    assert [row["event"] for row in reversed(rows)][:2] == ["tool.called", "tool.completed"]
    assert {row["run_id"] for row in rows} == {None}
    assert await driver.messages() == []
    # The agent may edit what was read in its name.
    edit = {"path": "README.md", "old_string": "sells", "new_string": "buys"}
    fake.script(Reply((ToolCall("edit_text", edit, id="c1"),)), text_reply("Done."))
    watch = await driver.run("Edit")
    assert not watch.of("message.tool_result")[0]["payload"]["isError"]
    assert "buys" in (project_root / "README.md").read_text()


@pytest.mark.parametrize("end", ["archive", "delete"])
async def test_what_tools_kept_for_a_session_goes_with_it(
    driver: Driver, project_root: Path, end: str
) -> None:
    (project_root / "wide.txt").write_text("x" * 1_500_000 + "\n")
    scratch = driver.daemon.services.settings.daemon.data_dir / "scratch" / driver.session_id
    await driver.session_call("POST", "/tools/file.read", {"params": {"path": "wide.txt"}})
    kept = scratch / "kept.txt"
    scratch.mkdir(parents=True, exist_ok=True)
    kept.write_text("what a tool left")
    if end == "archive":
        await driver.session_call("POST", "/archive")
    else:
        await driver.session_call("DELETE", status=204)
    assert not scratch.exists()
    assert project_root.exists()


@pytest.mark.requirement("http.resources")
async def test_the_prompts_in_force_are_shown_with_their_files(driver: Driver, project_root: Path) -> None:
    (prompt,) = (await driver.session_call("GET", "/prompts"))["items"]
    assert (prompt["agent_path"], prompt["file"]) == ("primary", "prompts/primary.md")
    assert prompt["content"] == "You keep the shop.\n"


async def test_an_archived_session_is_read_and_exported_but_takes_no_commands(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(text_reply("Hi."))
    await driver.run("Hello")
    archived = await driver.session_call("POST", "/archive")
    assert archived["state"] == "archived" and archived["archived_at"] is not None
    assert len(await driver.messages()) == 2
    export = await driver.client.get(f"/api/v1/sessions/{driver.session_id}/export")
    assert export.status_code == 200
    for command in ("cancel", "pause", "resume", "continue", "archive"):
        refused = await driver.session_call("POST", f"/{command}", status=409)
        assert refused["error"]["details"]["state"] == "archived"
    await driver.session_call("POST", "/tools/file.read", {"params": {"path": "README.md"}}, status=409)


async def test_a_deleted_session_is_gone_with_everything_and_a_running_one_is_not_deleted(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(Reply((Text("Hm"), Stall())))
    async with driver.watching() as watch:
        await driver.post("Hello")
        await watch.until_text("Hm")
        refused = await driver.session_call("DELETE", status=409)
        assert refused["error"]["details"]["reason"] == "run_in_progress"
        await driver.session_call("POST", "/cancel")
        await driver.session_call("DELETE", status=204)
    for path in ("", "/messages", "/runs", "/checkpoints", "/prompts"):
        await driver.session_call("GET", path, status=404)
    await driver.session_call("POST", "/messages", {"content": "Hello?"}, status=404)
    await driver.session_call("DELETE", status=404)


async def test_posts_and_a_delete_at_the_same_time_leave_either_a_run_or_nothing(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.respond = lambda _: text_reply("Hi.")
    for _ in range(10):
        await driver.new_session()
        path = f"/api/v1/sessions/{driver.session_id}"
        answers = await asyncio.gather(
            driver.client.delete(path),
            driver.client.post(f"{path}/messages", json={"content": "Hello"}),
            driver.client.post(f"{path}/messages", json={"content": "Hello"}),
            driver.client.delete(path),
        )
        statuses = [answer.status_code for answer in answers]
        assert set(statuses) <= {201, 202, 204, 404, 409}, [a.text for a in answers]
        exists = (await driver.client.get(path)).status_code == 200
        assert exists != (204 in statuses)


async def test_a_post_whose_client_went_away_still_runs_to_its_end(
    driver: Driver, fake: FakeProvider
) -> None:
    fake.script(text_reply("Hi."))
    sessions = driver.daemon.services.sessions
    await driver.rename("In memory now")
    async with driver.watching() as watch:
        posting = asyncio.create_task(sessions.post_message(driver.session_id, "Hello", actor="operator"))
        await asyncio.sleep(0)
        posting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await posting
        await watch.until_state("idle")
    assert [m["content"] for m in await driver.messages()] == ["Hello", "Hi."]


async def test_sessions_that_cannot_be_loaded_leave_nothing_in_memory(driver: Driver) -> None:
    sessions = driver.daemon.services.sessions
    await driver.daemon.services.storage.close()
    for number in range(5):
        with pytest.raises(StorageError):
            await sessions.change(f"ses_{number:026d}", {"title": "Title"})
    assert not sessions._live._opening
