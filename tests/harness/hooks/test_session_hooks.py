"""Hooks when a person's message arrives and when an agent stops; and which hooks there are at a moment."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import WAIT_SECONDS, Driver, driven
from tests.fakes.provider_script import Hold, Reply, Text, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.hooks.hooked import PRIMARY, ended, result_of, uncaged, write_hooked

pytestmark = pytest.mark.requirement("hooks.sessions")


def texts(fake: FakeProvider, request: int) -> list[str]:
    """Return what people and the daemon have said, as one request has it."""
    messages = fake.requests[request].json["messages"]
    return [one["content"] for one in messages if one["role"] == "user"]


async def test_a_message_that_a_hook_denies_reaches_no_model_then_or_later(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    check = "grep -q password && { echo 'no passwords, please' >&2; exit 2; }; exit 0"
    root = write_hooked(tmp_path / "shop", on_prompt=[uncaged("secrets", check)])
    fake.script(text_reply("Hello."), text_reply("Again."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        first = await driver.run("my password is swordfish")
        assert fake.request_count == 0
        second = await driver.run("Hello")
        again = await driver.run("And again")
        shown = [one["content"] for one in await driver.messages() if one["role"] == "operator"]

    (end,) = [frame["payload"] for frame in first.of("run.ended")]
    assert (end["state"], end["reason"]) == ("failed", "hook_denied")
    assert end["error"]["message"] == "The hook secrets withheld the message: no passwords, please"
    assert [one["decision"] for one in ended(first) + ended(second) + ended(again)] == [
        "deny",
        "continue",
        "continue",
    ]
    assert not any("swordfish" in json.dumps(request.json) for request in fake.requests)
    assert shown == ["Hello", "And again"]


async def test_a_withheld_message_stays_withheld_after_a_restart(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    check = "grep -q password && exit 2; exit 0"
    root = write_hooked(tmp_path / "shop", on_prompt=[uncaged("secrets", check)])
    fake.script(text_reply("Hello."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await driver.run("my password is swordfish")
        project, session = driver.project_id, driver.session_id
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        driver.project_id, driver.session_id = project, session
        await driver.run("Hello")

    assert "swordfish" not in json.dumps(fake.requests[0].json)


async def test_what_a_prompt_hook_says_follows_the_message(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_hooked(tmp_path / "shop", on_prompt=[uncaged("branch", "echo 'the branch is main'")])
    fake.script(text_reply("Hello."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        await driver.run("Hello")
        kinds = [(one["role"], one["content"]) for one in await driver.messages()]

    note = '<hook name="branch" event="on_prompt">\nthe branch is main\n</hook>'
    assert kinds[:2] == [("operator", "Hello"), ("system", note)]
    assert note in "\n".join(texts(fake, 0))


async def test_a_steering_message_that_a_hook_denies_is_left_out_and_the_run_goes_on(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    check = "grep -q password && exit 2; exit 0"
    root = write_hooked(tmp_path / "shop", on_prompt=[uncaged("secrets", check)])
    hold = Hold()
    fake.script(
        Reply((Text("Wait."), hold, ToolCall("file_read", {"path": "README.md"}, id="c1"))),
        text_reply("Done."),
    )
    async with driven(tmp_path / "data", root, **settings_overrides) as driver, driver.watching() as watch:
        await driver.post("Go")
        await watch.until_text("Wait.")
        await driver.session_call("POST", "/messages?mode=steer", {"content": "the password is swordfish"})
        hold.gate.set()
        await watch.until_state("idle")

    assert watch.of("run.ended")[0]["payload"]["state"] == "succeeded"
    assert "swordfish" not in json.dumps(fake.requests[1].json)
    assert [one["decision"] for one in ended(watch)] == ["continue", "deny"]


async def test_an_agent_is_sent_back_three_times_at_most(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_hooked(
        tmp_path / "shop",
        on_stop=[uncaged("tests", "cat >> seen; echo >> seen; echo '2 tests fail' >&2; exit 2")],
    )
    fake.script(*(text_reply(f"Done {number}.") for number in range(4)))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Work")

    assert fake.request_count == 4
    assert [one["decision"] for one in ended(watch)] == ["sent_back", "sent_back", "sent_back", "ignored"]
    assert watch.of("run.ended")[0]["payload"]["reason"] == "stop"
    note = '<hook name="tests" event="on_stop">\n2 tests fail\n</hook>'
    assert texts(fake, 3) == ["Work", note, note, note]
    seen = [json.loads(line) for line in (root / "seen").read_text().splitlines()]
    assert [(one["sent_back"], one["answer"]) for one in seen] == [
        (0, "Done 0."),
        (1, "Done 1."),
        (2, "Done 2."),
        (3, "Done 3."),
    ]


async def test_a_hook_that_is_content_lets_the_agent_stop(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_hooked(tmp_path / "shop", on_stop=[uncaged("tests", "test -f done.txt || exit 2")])
    write = ToolCall("file_write", {"path": "done.txt", "content": "x"}, id="c1")
    fake.script(text_reply("Done?"), Reply((write,)), text_reply("Done."))
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Work")

    assert [one["decision"] for one in ended(watch)] == ["sent_back", "continue"]
    assert watch.of("run.ended")[0]["payload"]["state"] == "succeeded"


async def test_hooks_bind_children_and_only_those_of_tools_by_default(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    child = {**PRIMARY, "description": "Writes."}
    root = write_hooked(
        tmp_path / "shop",
        {**PRIMARY, "subagents": {"writer": child}},
        before_tool=[uncaged("frozen", "exit 2", match=[{"permission": "fs.write"}])],
        on_stop=[uncaged("own", "true"), uncaged("every", "true", agents=["*"])],
    )
    fake.script(
        Reply((ToolCall("agent-writer", {"task": "Write it"}, id="c0"),)),
        Reply((ToolCall("file_write", {"path": "a.txt", "content": "x"}, id="c1"),)),
        text_reply("I could not."),
        text_reply("Done."),
    )
    async with driven(tmp_path / "data", root, **settings_overrides) as driver:
        watch = await driver.run("Work")

    assert "hook_denied" in result_of(watch)["content"]
    of_agents = [(f.get("agent_path", "primary"), f["payload"]["hook"]) for f in watch.of("hook.ended")]
    assert of_agents == [
        ("primary.subagents.writer", "frozen"),
        ("primary.subagents.writer", "every"),
        ("primary", "own"),
        ("primary", "every"),
    ]


async def reloaded(driver: Driver, digest: str) -> dict[str, Any]:
    """Wait until the project's newest version is another one, and return the project."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            found = await driver.call("GET", f"/projects/{driver.project_id}")
            if found["trust"]["digest"] != digest:
                return dict(found)
            await asyncio.sleep(0.02)


async def test_a_hook_holds_in_a_running_session_once_the_file_is_reloaded_and_trusted(
    fake: FakeProvider, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    root = write_hooked(tmp_path / "shop")
    write = ToolCall("file_write", {"path": "a.txt", "content": "x"}, id="c1")
    fake.script(*(reply for _ in range(3) for reply in (Reply((write,)), text_reply("Done."))))
    settings = {**settings_overrides, "projects": {"trusted": []}}
    async with driven_untrusted(tmp_path / "data", root, settings) as driver:
        before = await driver.run("Write it")
        old = (await driver.call("GET", f"/projects/{driver.project_id}"))["trust"]["digest"]
        write_hooked(root, before_tool=[uncaged("frozen", "exit 2")])
        project = await reloaded(driver, old)
        waiting = await driver.run("Write it")
        acts = [(act["kind"], act["text"], act["change"]) for act in project["trust"]["acts"]]
        assert ("hook", "before_tool: exit 2", "added") in acts
        await driver.call(
            "POST", f"/projects/{driver.project_id}/trust", {"digest": project["trust"]["digest"]}
        )
        trusted = await driver.run("Write it")
        write_hooked(root)  # without the hook again: a protection less
        weaker = await reloaded(driver, project["trust"]["digest"])

    assert ended(before) == ended(waiting) == []
    assert [one["decision"] for one in ended(trusted)] == ["deny"]
    assert weaker["trust"]["state"] == "changed"
    gone = [(act["kind"], act["text"], act["change"]) for act in weaker["trust"]["acts"]]
    assert ("hook", "before_tool: exit 2", "removed") in gone


def driven_untrusted(data_dir: Path, root: Path, settings: dict[str, Any]) -> Any:
    """As `driven`, where nothing is trusted by the settings: this version is, by the operator."""
    from contextlib import asynccontextmanager

    from tests.driver.daemon import running_daemon

    @asynccontextmanager
    async def run() -> Any:
        async with running_daemon(data_dir, **settings) as daemon, daemon.client() as client:
            driver = Driver(daemon, client)
            await driver.load(root)
            digest = (await driver.call("GET", f"/projects/{driver.project_id}"))["trust"]["digest"]
            await driver.call("POST", f"/projects/{driver.project_id}/trust", {"digest": digest})
            await driver.new_session()
            yield driver

    return run()
