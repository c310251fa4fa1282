"""`on_session_idle`: after each plugin's own debounce, not while anything happens, not after a restart."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.driver.loop_clock import put_all_forward
from tests.driver.sessions import Driver, driven, restarted
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.hooks.plugged import PluggedProject, audited, until

pytestmark = [pytest.mark.requirement("plugins.session_idle"), pytest.mark.needs("cages")]
IDLE = "on_session_idle"


def sessions_told(plugged: PluggedProject, name: str = "notes") -> list[str]:
    return [call["context"]["session_id"] for call in plugged.calls(name, IDLE)]


async def pass_time(driver: Driver, monkeypatch: pytest.MonkeyPatch, *, seconds: float = 60.0) -> None:
    """Put the clock forward once somebody waits for the session to stay idle."""
    waits = driver.daemon.services.hooks.idle._waits
    await until(lambda: driver.session_id in waits)
    await asyncio.sleep(0)  # what was just set going looks at the clock first
    put_all_forward(monkeypatch, seconds)


async def test_each_plugin_hears_after_its_own_debounce_what_was_said(
    fake: FakeProvider, plugged: PluggedProject, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    plugged.primary["plugins"] = {
        "later": plugged.recording("later", hooks=IDLE, idle_debounce_sec=1.0),
        "sooner": plugged.recording("sooner", hooks=IDLE, idle_debounce_sec=0.2),
    }
    fake.script(Reply((ToolCall("file_read", {"path": "README.md"}),)), text_reply("It sells things."))
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        await driver.run("What is this?")
        await until(lambda: plugged.calls("later"))
        fired = await audited(driver, "plugin.hook.fired", 2)
        assert [row["data"]["plugin"] for row in fired] == ["sooner", "later"]
        row = await driver.daemon.services.sessions.get(driver.session_id)
        assert row.idle_fired_at is not None
        messages = await driver.messages()
    (call,) = plugged.calls("sooner")
    assert call["context"]["agent_path"] == "primary"
    told = call["params"]["transcript"]
    assert [one["id"] for one in told] == [one["id"] for one in messages]
    assert [(one["role"], one["tool"]) for one in told] == [
        ("operator", None),
        ("primary", None),
        ("tool", "file.read"),
        ("primary", None),
    ]
    assert told[0]["content"] == "What is this?"
    assert told[-1]["content"] == "It sells things."
    assert call["params"]["omitted"] == 0


async def test_a_new_run_begins_the_wait_again(
    fake: FakeProvider,
    plugged: PluggedProject,
    tmp_path: Path,
    settings_overrides: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plugged.primary["plugins"] = {"notes": plugged.recording("notes", hooks=IDLE, idle_debounce_sec=60.0)}
    fake.script(*(text_reply(f"Answer {number}.") for number in range(4)))
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        for number in range(3):
            await driver.run(f"Question {number}")
        await pass_time(driver, monkeypatch)
        await until(lambda: plugged.calls("notes"))
        (call,) = plugged.calls("notes")
        assert len(call["params"]["transcript"]) == 6
        await driver.run("Another")
        await pass_time(driver, monkeypatch, seconds=120.0)
        await until(lambda: len(plugged.calls("notes")) == 2)
        assert len(plugged.calls("notes")[1]["params"]["transcript"]) == 8


async def test_a_session_that_is_closed_or_was_idle_before_a_restart_is_not_reported(
    fake: FakeProvider,
    plugged: PluggedProject,
    tmp_path: Path,
    settings_overrides: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plugged.primary["plugins"] = {"notes": plugged.recording("notes", hooks=IDLE, idle_debounce_sec=60.0)}
    fake.script(*(text_reply("Yes.") for _ in range(4)))
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        await driver.run("One")
        archived = driver.session_id
        await driver.session_call("POST", "/archive")
        deleted = await driver.new_session()
        await driver.run("Two")
        await driver.session_call("DELETE", "")
        told = await driver.new_session()
        await driver.run("Three")
        await pass_time(driver, monkeypatch)
        await until(lambda: plugged.calls("notes"))
        assert sessions_told(plugged) == [told]  # the others would be due, too
        assert archived != deleted != told
        forgotten = await driver.new_session()
        await driver.run("Four")
    fake.script(text_reply("Yes."))
    async with restarted(tmp_path / "data", **settings_overrides) as driver:
        driver.project_id = (await driver.call("GET", "/projects"))["items"][0]["id"]
        after = await driver.new_session()
        await driver.run("Five")
        await pass_time(driver, monkeypatch, seconds=120.0)
        await until(lambda: len(plugged.calls("notes")) == 2)
        assert sessions_told(plugged) == [told, after]
    assert forgotten not in sessions_told(plugged)


async def test_a_plugin_that_does_not_answer_keeps_nobody(
    fake: FakeProvider, plugged: PluggedProject, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    slow = {"idle_debounce_sec": 0.1, "hook_timeout_sec": 10, "shutdown_timeout_sec": 1}
    plugged.primary["plugins"] = {
        "stuck": plugged.recording("stuck", hooks=IDLE, config={"sleeps": {IDLE: 60}}, **slow),
        "notes": plugged.recording("notes", hooks=IDLE, idle_debounce_sec=0.2),
    }
    fake.script(text_reply("Yes."), text_reply("Yes."))
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        await driver.run("One")
        await until(lambda: plugged.calls("stuck"))
        async with asyncio.timeout(40):
            await driver.run("Two")  # while the plugin is being told
        timeouts = await audited(driver, "plugin.hook.timeout")
        assert timeouts[0]["data"]["plugin"] == "stuck"
        await until(lambda: plugged.calls("notes"))
