"""Tools of plugins: for the agents that declare the plugin and enable the tool, checked like all others."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.driver.sessions import Driver, driven
from tests.fakes.provider_script import Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.hooks.plugged import TOOL, PluggedProject, audited, until

pytestmark = pytest.mark.requirement("plugins.tools")


def offered(body: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the tools of plugins in a request, by wire name."""
    tools = {tool["function"]["name"]: tool["function"] for tool in body.get("tools", ())}
    return {name: tool for name, tool in tools.items() if name.startswith(("words_", "other_"))}


def results(body: dict[str, Any]) -> list[str]:
    return [message["content"] for message in body["messages"] if message["role"] == "tool"]


async def tool_messages(driver: Driver) -> list[dict[str, Any]]:
    return [message for message in await driver.messages() if message["role"] == "tool"]


@pytest.mark.needs("cages")
async def test_an_agent_has_what_its_tools_enable_and_calls_it(
    fake: FakeProvider, plugged: PluggedProject, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    answers = {"answers": {"find": {"found": ["a", None, 3]}, "say": "just\nwords"}}
    plugged.primary["plugins"] = {
        "words": plugged.recording("words", tools="find,say,hide", config=answers),
        "other": plugged.recording("other", tools="find"),
    }
    plugged.primary["tools"] |= {
        "words.*": {"enabled": True, "description": "Ours."},
        "words.hide": {"enabled": False},
        "words.find": {"enabled": True},
    }
    fake.script(
        Reply((ToolCall("words_find", {"word": "x"}, id="a"), ToolCall("words_say", {}, id="b"))),
        Reply((ToolCall("words_hide", {}, id="c"), ToolCall("other_find", {}, id="d"))),
        text_reply("Done."),
    )
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        await driver.run("Use them")
        called = await audited(driver, "tool.completed", 4)
        stored = await tool_messages(driver)
    shown = offered(fake.requests[0].json)
    assert list(shown) == ["words_find", "words_say"]
    assert shown["words_find"]["description"] == "Does something."
    assert shown["words_say"]["description"] == "Ours."
    assert shown["words_find"]["parameters"]["properties"] == TOOL["parameters_schema"]["properties"]
    found = results(fake.requests[2].json)
    assert orjson.loads(found[0]) == {"result": {"found": ["a", None, 3]}}
    assert found[1] == "{}\njust\nwords"
    assert all("tool_not_found" in text for text in found[2:])
    (call,) = plugged.calls("words", "find")
    assert call["params"] == {"word": "x"}
    assert call["context"]["session_id"] == driver.session_id
    assert call["context"]["operator_id"] == "operator"
    assert [row["data"]["success"] for row in called].count(True) == 2
    assert [message["content"] for message in stored] == found
    assert plugged.calls("other") == []


@pytest.mark.needs("cages")
async def test_parameters_are_checked_and_failures_are_errors_of_the_call(
    fake: FakeProvider, plugged: PluggedProject, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    config = {"errors": {"find": "nothing there"}}
    plugged.primary["plugins"] = {
        "words": plugged.recording("words", tools="find,say", config=config),
        "gone": {"package": "./plugins/gone"},
    }
    plugged.primary["tools"]["*.find"] = {"enabled": True}
    fake.script(
        Reply(
            (
                ToolCall("words_find", {"word": 5}, id="a"),
                ToolCall("words_find", {"wrod": "x"}, id="b"),
                ToolCall("words_find", {"word": "x"}, id="c"),
            )
        ),
        text_reply("Done."),
    )
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        project = await driver.call("GET", f"/projects/{driver.project_id}")
        missing = [one for one in project["diagnostics"] if one["code"] == "plugin_not_found"]
        assert [(one["severity"], one["path"]) for one in missing] == [("warning", "primary.plugins.gone")]
        await driver.run("Use them")
        direct = await driver.session_call("POST", "/tools/words.find", {"params": {"word": "y"}})
        refused = await driver.session_call("POST", "/tools/words.say", {"params": {}})
    found = results(fake.requests[1].json)
    assert [text.split(":")[0] for text in found] == [
        "Error invalid_params",
        "Error invalid_params",
        "Error plugin_tool_failed",
    ]
    assert "word" in found[0]
    assert "nothing there" in found[2]
    assert [call["params"] for call in plugged.calls("words")] == [{"word": "x"}, {"word": "y"}]
    assert direct["code"] == "plugin_tool_failed"
    assert refused["code"] == "tool_not_found"


@pytest.mark.needs("cages")
async def test_what_a_tool_requires_the_cage_of_its_caller_must_have(
    fake: FakeProvider, plugged: PluggedProject, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    disk, own = f"read:fs:{plugged.root}", f"write:fs:{plugged.root}/plugins/words"
    capabilities = ["net:example.org:443", "net:closed.example:443", disk, own, "kaged:storage:read"]
    requires = {
        "open": ["net:example.org:443", "kaged:storage:read"],
        "shut": ["net:closed.example:443"],
        "disk": [disk],
    }
    words = plugged.recording("words", tools="open,shut,disk", config={"answers": {"open": "in"}})
    plugged.edit_manifest(
        "words",
        capabilities=capabilities,
        tools=[{"name": name, **TOOL, "requires": needed} for name, needed in requires.items()],
    )
    plugged.primary["subagents"] = {
        "caged": {
            "model": "main",
            "system_prompt": "project:/prompts/primary.md",
            "cage": {"fs": [{"mode": "ro", "path": "."}], "net": {"allow": ["example.org:443"]}},
            "description": "In a cage.",
            "plugins": {"words": words},
            "tools": {"words.*": {"enabled": True}},
        }
    }
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        answers = {
            name: await driver.session_call(
                "POST",
                f"/tools/words.{name}",
                {"params": {}, "agent_path": "primary.subagents.caged"},
            )
            for name in requires
        }
        foreign = await driver.session_call("POST", "/tools/words.open", {"params": {}})
    assert answers["open"]["data"] == {"text": "in"}
    assert [answers[name]["code"] for name in ("shut", "disk")] == ["capability_denied"] * 2
    assert foreign["code"] == "tool_not_found"


@pytest.mark.needs("cages")
async def test_rules_and_consent_hold_for_them(
    fake: FakeProvider, plugged: PluggedProject, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    plugged.primary["plugins"] = {"words": plugged.recording("words", tools="find,say")}
    plugged.primary["tools"]["words.*"] = {"enabled": True}
    plugged.primary["permissions"] = [{"permission": "words.say", "pattern": "*", "action": "deny"}]
    calls = (ToolCall("words_say", {}, id="a"), ToolCall("words_find", {}, id="b"))
    rule = {"permission": "words.find", "pattern": "*", "action": "deny"}
    fake.script(Reply(calls), text_reply("Done."), Reply(calls[1:]), text_reply("Done."))
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        await driver.run("Use them")
        await driver.session_call("POST", "/permissions", rule, status=201)
        await driver.session_call("POST", "/permissions", {**rule, "permission": "words.fnid"}, status=400)
        await driver.run("Once more")
    denied, found = results(fake.requests[1].json)
    assert denied.startswith("Error permission_denied")
    assert not found.startswith("Error")
    assert results(fake.requests[3].json)[-1].startswith("Error permission_denied")
    assert [call["name"] for call in plugged.calls("words")] == ["find"]


@pytest.mark.needs("cages")
async def test_a_result_beyond_the_bound_goes_to_a_file(
    fake: FakeProvider, plugged: PluggedProject, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    plugged.primary["plugins"] = {
        "words": plugged.recording("words", tools="say", config={"answers": {"say": "word " * 40_000}})
    }
    plugged.primary["tools"]["words.say"] = {"enabled": True}
    fake.script(Reply((ToolCall("words_say", {}),)), text_reply("Done."))
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        await driver.run("Use it")
        (found,) = results(fake.requests[1].json)
        path = orjson.loads(found.split("\n")[0])["output_path"]
        assert Path(path).read_text() == "word " * 40_000
    assert len(found) < 101_000


@pytest.mark.needs("cages")
async def test_a_call_that_takes_long_ends_with_its_run(
    fake: FakeProvider, plugged: PluggedProject, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    slow = plugged.recording("words", tools="say", config={"sleeps": {"say": 60}}, shutdown_timeout_sec=1)
    plugged.primary["plugins"] = {"words": slow}
    plugged.primary["tools"]["words.say"] = {"enabled": True}
    fake.script(Reply((ToolCall("words_say", {}),)), text_reply("Done."))
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        await driver.post("Use it")
        await until(lambda: plugged.calls("words"))
        began = time.monotonic()
        await driver.session_call("POST", "/cancel")
        assert time.monotonic() - began < 20
        assert (await driver.last_run())["state"] == "cancelled"
        (answer,) = await tool_messages(driver)
        assert "cancelled" in answer["content"]


async def test_a_tool_that_would_be_called_like_a_child_is_left_out(
    fake: FakeProvider, plugged: PluggedProject, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    plugged.primary["plugins"] = {"agent-coder": plugged.recording("agent-coder", tools="x,y")}
    plugged.primary["tools"]["agent-coder.*"] = {"enabled": True}
    child = {"model": "main", "system_prompt": "project:/prompts/primary.md", "cage": "disabled"}
    plugged.primary["subagents"] = {"coder_x": {**child, "description": "Codes."}}
    fake.script(text_reply("Done."))
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        await driver.run("Go")
    tools = [tool["function"] for tool in fake.requests[0].json["tools"]]
    told = [(one["name"], one["description"]) for one in tools if one["name"].startswith("agent-")]
    assert sorted(told) == [("agent-coder_x", "Codes."), ("agent-coder_y", "Does something.")]
