"""Changed prompts and project files under sessions: taken at a message boundary, never in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.driver.sessions import PROJECT_YAML, Driver, check_stream
from tests.fakes.provider_script import Hold, Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.laboratory import Laboratory

pytestmark = pytest.mark.requirement("project_file.reload")


def system_of(fake: FakeProvider, request: int) -> str:
    first = fake.requests[request].json["messages"][0]
    assert first["role"] == "system"
    content: str = first["content"]
    return content


async def test_a_changed_prompt_is_used_from_the_next_message_boundary_of_the_running_turn(
    lab_driver: Driver, fake: FakeProvider, lab: Laboratory
) -> None:
    driver = lab_driver
    prompt = driver.daemon.services.projects.root_of(driver.project_id) / "prompts" / "primary.md"
    hold = Hold()
    fake.script(
        Reply((Text("Let me see."), hold, ToolCall("lab_wait", {"name": "a"}, id="c1"))),
        text_reply("Done."),
    )
    lab.release("a")
    async with driver.watching() as watch:
        await driver.post("Go")
        await watch.until_text("Let me see.")
        prompt.write_text("You keep the farm.\n")
        reloaded = await watch.until_type("prompt.reloaded")
        assert fake.request_count == 1  # generation goes on with the old one
        hold.gate.set()
        await watch.until_state("idle")

    check_stream(watch.frames)
    assert reloaded["payload"] == {"agents": ["primary"]}
    assert "You keep the shop." in system_of(fake, 0)
    assert "You keep the farm." in system_of(fake, 1)
    assert "shop" not in system_of(fake, 1)
    rows = (await driver.call("GET", f"/audit?event=prompt.reloaded&session_id={driver.session_id}"))["items"]
    assert [row["data"] for row in rows] == [{"agents": ["primary"]}]
    steps = (await driver.call("GET", "/audit?event=agent.pre_generation_step"))["items"]
    assert len({row["data"]["system"] for row in steps}) == 2
    shown = (await driver.session_call("GET", "/prompts"))["items"]
    assert shown[0]["content"] == "You keep the farm.\n"


async def test_a_prompt_that_becomes_unreadable_keeps_its_last_good_text(
    driver: Driver, fake: FakeProvider, project_root: Path
) -> None:
    fake.script(text_reply("One."), text_reply("Two."))
    await driver.run("One")
    (project_root / "prompts" / "primary.md").write_bytes(b"\xff\xfe not text")
    (project_root / "prompts" / "primary.md").unlink()
    await driver.run("Two")
    assert "You keep the shop." in system_of(fake, 1)


async def test_a_changed_project_file_is_for_new_sessions_and_running_ones_keep_theirs(
    driver: Driver, fake: FakeProvider, project_root: Path
) -> None:
    fake.script(*(text_reply(str(n)) for n in range(4)))
    await driver.run("Before")
    old = driver.session_id
    (project_root / "prompts" / "other.md").write_text("You keep the barn.\n")
    text = PROJECT_YAML.replace("primary.md", "other.md")
    text = text.replace('"edit.*": { enabled: true }', '"edit.*": { enabled: false }')
    (project_root / ".kaged" / "project.yaml").write_text(text)
    await driver.call("POST", f"/projects/{driver.project_id}/reload")
    await driver.run("After")
    new = await driver.new_session()
    await driver.run("New")

    def tools(request: int) -> list[str]:
        return [tool["function"]["name"] for tool in fake.requests[request].json["tools"]]

    assert "edit_text" in tools(0) and "edit_text" in tools(1)
    assert "shop" in system_of(fake, 1)
    assert "edit_text" not in tools(2)
    assert "barn" in system_of(fake, 2)
    assert old != new


async def test_a_file_that_no_longer_compiles_leaves_the_last_good_version_also_for_new_sessions(
    driver: Driver, fake: FakeProvider, project_root: Path
) -> None:
    fake.script(text_reply("One."), text_reply("Two."))
    (project_root / ".kaged" / "project.yaml").write_text("version: 1\nprimary: [\n")
    refused = await driver.call("POST", f"/projects/{driver.project_id}/reload", status=422)
    assert refused["error"]["code"] == "dsl_invalid"
    await driver.run("Still there?")
    await driver.new_session()
    await driver.run("And for me?")
    assert "shop" in system_of(fake, 1)
    shown = await driver.call("GET", f"/projects/{driver.project_id}")
    assert shown["diagnostics"]


@pytest.mark.requirement("durability.prompt_events")
async def test_a_prompt_that_changes_with_the_project_file_is_reported_to_the_session(
    driver: Driver, fake: FakeProvider, project_root: Path
) -> None:
    fake.script(text_reply("One."), text_reply("Two."))
    await driver.run("One")
    async with driver.watching() as watch:
        (project_root / ".kaged" / "project.yaml").write_text(PROJECT_YAML + "# a remark\n")
        (project_root / "prompts" / "primary.md").write_text("You keep the farm.\n")
        reloaded = await watch.until_type("prompt.reloaded")
        assert reloaded["payload"] == {"agents": ["primary"]}
        await driver.run("Two")
        assert len(watch.of("prompt.reloaded")) == 1
    assert "farm" in system_of(fake, 1)


@pytest.mark.requirement("durability.prompt_events")
async def test_a_reload_by_request_reports_prompts_with_a_new_text_to_the_session(
    driver: Driver, fake: FakeProvider, project_root: Path
) -> None:
    fake.script(text_reply("One."))
    await driver.run("One")
    async with driver.watching() as watch:
        (project_root / "prompts" / "primary.md").write_text("You keep the farm.\n")
        await driver.call("POST", f"/projects/{driver.project_id}/reload")
        assert (await watch.until_type("prompt.reloaded"))["payload"] == {"agents": ["primary"]}


@pytest.mark.requirement("durability.prompt_events")
@pytest.mark.parametrize("gone", [False, True], ids=["emptied", "missing"])
async def test_a_prompt_that_cannot_be_used_is_reported_once_and_so_is_its_end(
    driver: Driver, fake: FakeProvider, project_root: Path, *, gone: bool
) -> None:
    fake.script(text_reply("One."), text_reply("Two."))
    await driver.run("One")
    prompt = project_root / "prompts" / "primary.md"
    async with driver.watching() as watch:
        if gone:
            prompt.unlink()
        else:
            prompt.write_text("\n")
        (told,) = (await watch.until_type("prompt.failed"))["payload"]["prompts"]
        assert (told["agent_path"], told["file"]) == ("primary", "prompts/primary.md")
        assert ("no such file" if gone else "empty") in told["message"]
        await driver.call("POST", f"/projects/{driver.project_id}/reload", status=422)
        await driver.run("Two")
        assert "You keep the shop." in system_of(fake, 1)
        prompt.write_text("You keep the shop.\n")
        assert (await watch.until_type("prompt.reloaded"))["payload"] == {"agents": ["primary"]}
        assert len(watch.of("prompt.failed")) == 1
    rows = (await driver.call("GET", f"/audit?event=prompt.failed&session_id={driver.session_id}"))["items"]
    assert [row["data"]["prompts"][0]["file"] for row in rows] == ["prompts/primary.md"]
