"""A project acts only after an operator trusts it, and only as the version that was trusted."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from app.harness.workflows.schedule import start_due
from app.ids import now_ms
from app.storage.storage import Storage
from tests.driver.daemon import running_daemon
from tests.driver.sessions import PROJECT_YAML, Driver, restarted, write_project
from tests.fakes.provider_script import Hold, Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider

pytestmark = pytest.mark.requirement("security.trust")

ACTING_YAML = (
    PROJECT_YAML
    + """\
    shell.bash: { enabled: true }
  plugins:
    notes: { package: ./notes }
lsp:
  servers:
    - { lang: python, command: [./server] }
dap:
  adapters:
    - { runtime: python, adapter: [./adapter] }
workflows:
  steal:
    description: Runs every minute.
    system_prompt: project:/prompts/primary.md
    schedule: "* * * * *"
"""
)
MORE_YAML = PROJECT_YAML + "    shell.bash: { enabled: true }\n"
NO_TRUST: dict[str, Any] = {"trusted": []}


@pytest.fixture
async def stranger(
    tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> AsyncIterator[Driver]:
    """A daemon that trusts nobody by its settings, with a project that was only loaded."""
    async with (
        running_daemon(tmp_path / "data", projects=NO_TRUST, **settings_overrides) as daemon,
        daemon.client() as client,
    ):
        driver = Driver(daemon, client)
        await driver.load(project_root)
        yield driver


async def project(driver: Driver) -> dict[str, Any]:
    found: dict[str, Any] = await driver.call("GET", f"/projects/{driver.project_id}")
    return found


async def trust(driver: Driver, **more: Any) -> dict[str, Any]:
    body = {"digest": (await project(driver))["trust"]["digest"], **more}
    answer: dict[str, Any] = await driver.call("POST", f"/projects/{driver.project_id}/trust", body)
    return answer


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(1000):
        if await condition():
            return
        await asyncio.sleep(0.02)
    pytest.fail("the condition did not come true")


async def until_trust_is(driver: Driver, state: str) -> dict[str, Any]:
    async def there() -> bool:
        return bool((await project(driver))["trust"]["state"] == state)

    await until(there)
    found: dict[str, Any] = (await project(driver))["trust"]
    return found


def refused(answer: Any) -> None:
    assert answer["error"]["code"] == "project_untrusted", answer
    assert answer["error"]["details"]["reason"] == "project_untrusted", answer
    assert "kaged trust" in answer["error"]["message"]


async def test_an_untrusted_project_is_parsed_and_shown_and_nothing_of_it_runs(
    stranger: Driver, project_root: Path
) -> None:
    (project_root / ".kaged" / "project.yaml").write_text(ACTING_YAML)
    found = await stranger.call("POST", f"/projects/{stranger.project_id}/reload")
    assert found["trust"]["state"] == "untrusted"
    told = {(act["kind"], act["text"]): act for act in found["trust"]["acts"]}
    for expected in (
        ("schedule", "* * * * *"),
        ("tool", "shell.bash"),
        ("plugin", "notes: ./notes (agent)"),
        ("program", "./server"),
        ("program", "./adapter"),
        ("grant", "it is not caged at all"),
    ):
        assert told[expected]["file"] == ".kaged/project.yaml"
        line = ACTING_YAML.splitlines()[told[expected]["line"] - 1]
        assert expected[1].split(":")[0].removeprefix("it is not caged at all") in line
    listed = (await stranger.call("GET", "/projects"))["items"][0]
    assert listed["trust"] == found["trust"]
    shown = await stranger.call("GET", f"/projects/{stranger.project_id}/dsl/synthesized")
    assert shown["workflows"]["steal"]["schedule"] == "* * * * *"

    at = f"/projects/{stranger.project_id}"
    refused(await stranger.call("POST", "/sessions", {"project_id": stranger.project_id}, status=409))
    refused(await stranger.call("POST", f"{at}/workflows/steal/invoke", {}, status=409))
    refused(await stranger.call("GET", f"{at}/plugins", status=409))
    refused(await stranger.call("GET", f"{at}/agents/primary/tools", status=409))
    services = stranger.daemon.services
    assert await start_due(services.management.workflows, now_ms() // 60_000 * 60_000) == []
    assert await services.hooks.plugins.status() == []


async def test_trust_lets_it_act_and_taking_it_back_ends_what_runs(
    stranger: Driver, fake: FakeProvider
) -> None:
    fake.script(Reply((Text("Working "), Hold())))
    granted = await trust(stranger)
    assert (granted["trust"]["state"], granted["trust"]["by"]) == ("trusted", "operator")
    await stranger.new_session()
    async with stranger.watching() as watch:
        await stranger.post("Go")
        await watch.until_text("Working ")
        taken = await stranger.call("DELETE", f"/projects/{stranger.project_id}/trust")
        assert taken["trust"]["state"] == "untrusted"
        await watch.until_type("run.ended")
    at = f"/sessions/{stranger.session_id}"
    refused(await stranger.call("POST", f"{at}/messages", {"content": "More"}, status=409))
    refused(await stranger.call("POST", f"{at}/continue", {}, status=409))
    body = {"params": {"path": "README.md"}}
    refused(await stranger.call("POST", f"{at}/tools/file.read", body, status=409))
    assert (await stranger.messages())[0]["content"]  # nothing is deleted
    events = [row["event"] for row in (await stranger.call("GET", "/audit?event=trust.*"))["items"]]
    assert events == ["trust.withdrawn", "trust.granted"]


async def test_more_than_is_trusted_waits_and_the_trusted_version_stays_for_old_and_new_sessions(
    stranger: Driver, project_root: Path, fake: FakeProvider
) -> None:
    await trust(stranger)
    old = await stranger.new_session()
    (project_root / ".kaged" / "project.yaml").write_text(MORE_YAML)
    waiting = await until_trust_is(stranger, "changed")
    assert [act["text"] for act in waiting["acts"] if act["change"] == "added"] == ["shell.bash"]
    new = await stranger.new_session()
    fake.script(text_reply("One."), text_reply("Two."), text_reply("Three."))
    for session in (old, new):
        stranger.session_id = session
        await stranger.run("Go")
    offered = [{tool["function"]["name"] for tool in request.json["tools"]} for request in fake.requests]
    assert not any("shell_bash" in names for names in offered)

    stale = {"digest": "0" * 32}
    answer = await stranger.call("POST", f"/projects/{stranger.project_id}/trust", stale, status=409)
    assert answer["error"]["details"]["reason"] == "project_changed"
    assert (await trust(stranger))["trust"]["state"] == "trusted"
    await stranger.new_session()
    await stranger.run("Go")
    assert "shell_bash" in {tool["function"]["name"] for tool in fake.requests[-1].json["tools"]}


async def test_less_than_is_trusted_is_taken_up_without_a_question(
    stranger: Driver, project_root: Path
) -> None:
    before = (await trust(stranger))["trust"]["digest"]
    text = PROJECT_YAML.replace('    "edit.*": { enabled: true }\n', "") + "  max_steps: 7\n"
    (project_root / ".kaged" / "project.yaml").write_text(text)
    answer = await stranger.call("POST", f"/projects/{stranger.project_id}/reload")
    assert answer["trust"]["state"] == "trusted"
    assert answer["compiled_digest"] == answer["trust"]["digest"] != before
    # What was given up is more than is trusted now.
    (project_root / ".kaged" / "project.yaml").write_text(PROJECT_YAML)
    answer = await stranger.call("POST", f"/projects/{stranger.project_id}/reload")
    assert answer["trust"]["state"] == "changed"


async def test_always_needs_no_question_for_later_versions(stranger: Driver, project_root: Path) -> None:
    await trust(stranger, always=True)
    (project_root / ".kaged" / "project.yaml").write_text(MORE_YAML)
    answer = await stranger.call("POST", f"/projects/{stranger.project_id}/reload")
    assert (answer["trust"]["state"], answer["trust"]["by"]) == ("trusted", "always")
    assert (await stranger.call("GET", f"/projects/{stranger.project_id}/dsl/synthesized"))["primary"][
        "tools"
    ]["shell.bash"]["enabled"]


async def test_what_waits_or_is_untrusted_is_so_after_a_restart(
    tmp_path: Path, project_root: Path, settings_overrides: dict[str, Any]
) -> None:
    settings = {"projects": NO_TRUST, **settings_overrides}
    async with restarted(tmp_path / "data", **settings) as driver:
        await driver.load(project_root)
        number = driver.project_id
    async with restarted(tmp_path / "data", **settings) as driver:
        driver.project_id = number
        assert (await project(driver))["trust"]["state"] == "untrusted"
        active = (await trust(driver))["compiled_digest"]
        (project_root / ".kaged" / "project.yaml").write_text(MORE_YAML)
        await until_trust_is(driver, "changed")
    async with restarted(tmp_path / "data", **settings) as driver:
        driver.project_id = number
        found = await project(driver)
        assert (found["trust"]["state"], found["compiled_digest"]) == ("changed", active)
        (project_root / ".kaged" / "project.yaml").write_text(MORE_YAML + "nonsense: 1\n")
        await until_trust_is(driver, "trusted")  # what is broken asks for nothing
        await driver.new_session()


async def test_only_the_token_of_an_operator_may_trust(stranger: Driver) -> None:
    await trust(stranger)
    await stranger.new_session()
    digest = (await project(stranger))["trust"]["digest"]
    for more in (
        {"scope": "read-only"},
        {"scope": "agent", "session_id": stranger.session_id, "agent_path": "primary"},
        {"scope": "plugin", "project_id": stranger.project_id, "plugin": "notes"},
    ):
        made = await stranger.call("POST", "/tokens", {"name": "narrow", **more})
        async with stranger.daemon.client(made["token"]) as client:
            at = f"/api/v1/projects/{stranger.project_id}/trust"
            assert (await client.post(at, json={"digest": digest})).status_code == 403
            assert (await client.delete(at)).status_code == 403


async def test_the_settings_trust_what_lies_in_their_folders(
    tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    inside = write_project(tmp_path / "mine" / "shop")
    outside = write_project(tmp_path / "mine-not" / "shop")
    trusted = {"trusted": [str(tmp_path / "mine")]}
    async with restarted(tmp_path / "data", projects=trusted, **settings_overrides) as driver:
        await driver.load(outside)
        assert (await project(driver))["trust"]["state"] == "untrusted"
        await driver.load(inside)
        assert (await project(driver))["trust"]["by"] == "settings"
        answer = await driver.call("DELETE", f"/projects/{driver.project_id}/trust", status=409)
        assert answer["error"]["details"]["reason"] == "trusted_by_settings"
        await driver.new_session()


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.requirement("in_use.pull")
async def test_a_pull_that_changes_the_project_file_changes_nothing_for_a_session_that_runs(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    origin, clone = write_project(tmp_path / "origin"), tmp_path / "clone"
    git(origin, "init", "-q", "-b", "main")
    git(origin, "add", ".")
    git(origin, "commit", "-qm", "first")
    git(tmp_path, "clone", "-q", str(origin), str(clone))
    hold = Hold()
    fake.script(Reply((Text("Let me see."), hold)), text_reply("Done."), text_reply("Done."))
    async with restarted(tmp_path / "data", projects=NO_TRUST, **settings_overrides) as driver:
        await driver.load(clone)
        active = (await trust(driver))["compiled_digest"]
        await driver.new_session()
        async with driver.watching() as watch:
            await driver.post("Go")
            await watch.until_text("Let me see.")
            schedule = MORE_YAML + (
                "workflows:\n  steal:\n    description: Steals.\n"
                '    system_prompt: project:/prompts/primary.md\n    schedule: "* * * * *"\n'
            )
            (origin / ".kaged" / "project.yaml").write_text(schedule)
            git(origin, "commit", "-qam", "second")
            git(clone, "pull", "-q")
            waiting = await until_trust_is(driver, "changed")
            hold.gate.set()
            await watch.until_state("idle")
        added = {(act["kind"], act["text"]) for act in waiting["acts"] if act["change"] == "added"}
        assert {("tool", "shell.bash"), ("schedule", "* * * * *")} <= added
        workflows = driver.daemon.services.management.workflows
        assert await start_due(workflows, now_ms() // 60_000 * 60_000) == []
        await driver.run("Again")
        await driver.new_session()
        await driver.run("New")
        offered = [{tool["function"]["name"] for tool in request.json["tools"]} for request in fake.requests]
        assert len(offered) == 3 and not any("shell_bash" in names for names in offered)
        assert (await project(driver))["compiled_digest"] == active


async def test_what_waits_in_a_session_waits_on_when_trust_was_taken_back_without_a_daemon(
    tmp_path: Path, project_root: Path, fake: FakeProvider, settings_overrides: dict[str, Any]
) -> None:
    settings = {"projects": NO_TRUST, **settings_overrides}
    question = {"summary": "x", "questions": [{"id": "a", "title": "Which?", "options": [{"label": "b"}]}]}
    fake.script(Reply((ToolCall("kaged_ask", question, id="c1"),)))
    async with restarted(tmp_path / "data", **settings) as driver:
        await driver.load(project_root)
        await trust(driver)
        number, session = driver.project_id, await driver.new_session()
        async with driver.watching() as watch:
            await driver.post("Go")
            asked = (await watch.until_type("interaction.requested"))["payload"]["interaction_id"]
            await watch.until_state("paused")
    storage = await Storage.open(None, tmp_path / "data")
    assert await storage.write(lambda uow: uow.trust.remove(str(project_root)), durable=True)
    await storage.close()
    async with restarted(tmp_path / "data", **settings) as driver:
        driver.project_id, driver.session_id = number, session
        at = f"/sessions/{session}"
        answer = {"answers": {"a": ["b"]}}
        refused(await driver.call("POST", f"{at}/interactions/{asked}/answer", answer, status=409))
        refused(await driver.call("POST", f"{at}/resume", {}, status=409))
        refused(await driver.call("POST", f"{at}/compact", {}, status=409))
        assert fake.request_count == 1
        fake.script(text_reply("Thank you."))
        await trust(driver)
        await driver.call("POST", f"{at}/interactions/{asked}/answer", answer)

        async def answered() -> bool:
            return fake.request_count == 2

        await until(answered)


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_session_of_a_version_whose_trust_was_taken_back_continues_with_the_one_that_is_trusted(
    tmp_path: Path, fake: FakeProvider, settings_overrides: dict[str, Any], restarts: bool
) -> None:
    settings = {"projects": NO_TRUST, **settings_overrides}
    root = write_project(tmp_path / "shop", MORE_YAML)
    fake.script(text_reply("One."), text_reply("Two."))
    async with restarted(tmp_path / "data", **settings) as driver:
        await driver.load(root)
        await trust(driver)
        number, session = driver.project_id, await driver.new_session()
        await driver.run("Go")
        await driver.call("DELETE", f"/projects/{number}/trust")
        (root / ".kaged" / "project.yaml").write_text(PROJECT_YAML)
        if not restarts:
            await driver.call("POST", f"/projects/{number}/reload")
            await trust(driver)
            await driver.run("Again")
    if restarts:
        async with restarted(tmp_path / "data", **settings) as driver:
            driver.project_id, driver.session_id = number, session
            await trust(driver)
            await driver.run("Again")
    offered = [{tool["function"]["name"] for tool in request.json["tools"]} for request in fake.requests]
    assert ["shell_bash" in names for names in offered] == [True, False]
