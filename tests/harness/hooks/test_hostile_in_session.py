"""A hostile plugin in a session: the run's outcome and what the provider gets are as without it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from tests.driver.sessions import driven
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.hooks.plugged import PluggedProject

pytestmark = pytest.mark.requirement("plugins.hostile")
TIMEOUT = 3
START = ("--at", "kaged.hook.on_session_start")
LATE = {"hook_timeout_sec": TIMEOUT}
SHAPED = "ghp_" + "abcdEFGH0123" * 3


@pytest.mark.parametrize(
    "behaviour",
    [
        (*START, "--hang"),
        (*START, "--silent"),
        (*START, "--late", "120"),
        (*START, "--die"),
        (*START, "--die", "--half"),
        (*START, "--raw", "no json at all"),
        (*START, "--bytes", "50000000"),
        (*START, "--endless"),
        (*START, "--deep", "100000"),
        (*START, "--error", '{"code": 1, "message": "no"}'),
        (*START, "--answer", '{"inject": {"a": 1}}'),
        (*START, "--answer", "5"),
        ("--at", "initialize", "--hang"),
        ("--at", "initialize", "--die"),
        ("--at", "initialize", "--lie", 'capabilities_used=["net:*"]'),
        (*START, "--flood-stdout", "--silent"),
        (*START, "--flood-stderr", "--silent"),
        (*START, "--flood-requests", "5000", "--silent"),
        (*START, "--deaf", "--hang"),
    ],
    ids=" ".join,
)
async def test_the_run_and_the_requests_are_as_without_it(
    fake: FakeProvider,
    plugged: PluggedProject,
    tmp_path: Path,
    settings_overrides: dict[str, Any],
    behaviour: tuple[str, ...],
) -> None:
    script = (Reply((ToolCall("file_read", {"path": "README.md"}),)), text_reply("Done."))
    fake.script(*script)
    async with driven(tmp_path / "without", plugged.write(), **settings_overrides) as driver:
        await driver.run("Read it")
    without = [request.body for request in fake.requests]
    plugged.primary["plugins"] = {"hostile": plugged.hostile("hostile", *behaviour, **LATE)}
    fake.script(*script)
    async with driven(tmp_path / "with", plugged.write(), **settings_overrides) as driver:
        began = time.monotonic()
        watch = await driver.run("Read it")
        assert time.monotonic() - began < TIMEOUT + 40
        assert (await driver.last_run())["state"] == "succeeded"
        assert watch.text() == "Done."
    assert [request.body for request in fake.requests][2:] == without


@pytest.mark.needs("cages")
async def test_others_do_not_notice(
    fake: FakeProvider, plugged: PluggedProject, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    said = {"answers": {"on_session_start": {"inject": "Here."}, "say": "words"}}
    plugged.primary["plugins"] = {
        "hostile": plugged.hostile("hostile", "--at", "hostile.harm", "--die", "--flood-stderr"),
        "words": plugged.recording("words", hooks="on_session_start", tools="say", config=said),
    }
    plugged.primary["tools"] |= {"words.*": {"enabled": True}, "hostile.*": {"enabled": True}}
    calls = (ToolCall("hostile_harm", {}, id="a"), ToolCall("words_say", {}, id="b"))
    fake.script(Reply(calls), text_reply("Done."))
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        async with asyncio.timeout(60):
            await driver.run("Use both")
        listed = (await driver.call("GET", f"/projects/{driver.project_id}/plugins"))["items"]
    messages = fake.requests[1].json["messages"]
    assert "<plugin:words>Here.</plugin:words>" in messages[0]["content"]
    results = [message["content"] for message in messages if message["role"] == "tool"]
    assert results[0].startswith("Error plugin_unavailable")
    assert results[1] == "{}\nwords"
    states = {one["name"]: one["state"] for one in listed}
    assert states["words"] == "ready"


@pytest.mark.needs("cages")
async def test_one_that_keeps_failing_is_disabled_said_so_and_enabled_again(
    fake: FakeProvider, plugged: PluggedProject, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    lie = ("--at", "initialize", "--lie", 'capabilities_used=["net:*"]', "--times", "1")
    plugged.primary["plugins"] = {
        "hostile": plugged.hostile("hostile", *lie),
        "missing": {"package": "./plugins/missing"},
    }
    fake.script(*(text_reply("Yes.") for _ in range(3)))
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        await driver.run("One")
        path = f"/projects/{driver.project_id}/plugins"
        hostile, missing = (await driver.call("GET", path))["items"]
        assert hostile["state"] == "disabled"
        assert "net:*" in hostile["reason"]
        assert hostile["hooks"] == ["on_session_start", "pre_compact"]
        assert hostile["tools"] == ["hostile.harm"]
        assert (missing["state"], missing["version"]) == ("unusable", None)
        assert "./plugins/missing" in missing["reason"]
        assert (await driver.call("POST", f"{path}/hostile/enable"))["enabled"] == 1
        assert (await driver.call("POST", f"{path}/hostile/enable"))["enabled"] == 0
        refused = await driver.call("POST", f"{path}/other/enable", status=404)
        assert refused["error"]["details"]["plugins"] == ["hostile", "missing"]
        await driver.new_session()
        await driver.run("Two")
        assert (await driver.call("GET", path))["items"][0]["state"] == "ready"
    assert "<plugin:hostile>good</plugin:hostile>" in fake.requests[1].json["messages"][0]["content"]


@pytest.mark.needs("cages")
async def test_one_that_runs_again_has_no_reason_why_it_does_not(
    fake: FakeProvider, plugged: PluggedProject, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    plugged.primary["plugins"] = {"hostile": plugged.hostile("hostile", *START, "--die", "--times", "1")}
    fake.script(text_reply("Yes."))
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        await driver.run("One")
        async with asyncio.timeout(60):
            while True:
                (listed,) = (await driver.call("GET", f"/projects/{driver.project_id}/plugins"))["items"]
                if listed["failures"] and listed["state"] == "ready":
                    break
                if listed["state"] == "restarting":
                    assert listed["reason"]
                await asyncio.sleep(0.05)
    assert (listed["failures"], listed["reason"]) == (1, None)


@pytest.mark.needs("cages")
@pytest.mark.requirement("daemon.redaction")
async def test_what_one_says_is_listed_without_secrets(
    fake: FakeProvider, plugged: PluggedProject, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    told = (
        "import sys\n"
        "from app.plugins.sdk import Plugin\n"
        f"print('before {SHAPED} after', file=sys.stderr, flush=True)\n"
        "plugin = Plugin('talks', '1.0.0')\n"
        "@plugin.hook('on_session_start')\n"
        "def start(call):\n"
        "    return None\n"
    )
    lie = ("--at", "initialize", "--lie", f'capabilities_used=["net:{SHAPED}"]')
    plugged.primary["plugins"] = {
        "talks": plugged.script("talks", told, hooks=["on_session_start"]),
        "hostile": plugged.hostile("hostile", *lie),
    }
    fake.script(text_reply("Yes."))
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        await driver.run("One")
        found = (await driver.call("GET", f"/projects/{driver.project_id}/plugins"))["items"]
    listed = {one["name"]: one for one in found}
    assert "stderr: before ******** after" in listed["talks"]["log"]
    assert "net:********" in listed["hostile"]["reason"]
    assert SHAPED not in str(found)
