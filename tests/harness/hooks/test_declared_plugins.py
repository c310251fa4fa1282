"""What is said of plugins before any of them runs: by the compiler, by `kaged check` and `kaged doctor`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from app.bridges.plugins.manager import Manifests
from app.harness.dsl.compiled import CompiledProject
from app.harness.dsl.compiler import CompileResult, compile_project
from app.harness.hooks.plugin_catalog import ManifestCatalog
from app.harness.hooks.plugin_tools import override_of
from tests.driver.kaged import Home
from tests.driver.sessions import driven
from tests.driver.tool_registry import tool_registry
from tests.fakes.provider_script import text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.hooks.plugged import PluggedProject, until
from tests.harness.hooks.test_memory_plugin import MEMORY

pytestmark = pytest.mark.requirement("plugins.manifest")


def compiled(root: Path, data_dir: Path) -> CompileResult:
    return compile_project(root, catalog=tool_registry(), plugins=ManifestCatalog(Manifests(data_dir, ())))


def found(result: CompileResult) -> list[tuple[str, str, str]]:
    return [(one.severity, one.code, one.path) for one in result.diagnostics]


def test_what_is_wrong_with_a_plugin_is_a_warning_at_its_place(
    plugged: PluggedProject, tmp_path: Path
) -> None:
    bad_config = plugged.recording("bad-config", config={"a": 1}, config_schema=None)
    plugged.edit_manifest("bad-config", config_schema={"type": "object", "additionalProperties": False})
    wrong = plugged.recording("wrong")
    (plugged.root / "plugins" / "wrong" / "kaged-plugin.yaml").write_text("name: [")
    plugged.primary["plugins"] = {
        "bad-config": bad_config,
        "missing": {"package": "./plugins/missing"},
        "other-name": {"package": "./plugins/words"},
        "outside": {"package": "../outside"},
        "words": plugged.recording("words", tools="find"),
        "wrong": wrong,
    }
    plugged.primary["tools"] |= {"words.fnid": {"enabled": True}, "missing.x": {"enabled": True}}
    result = compiled(plugged.write(), tmp_path)
    at = "primary.plugins."
    assert sorted(found(result)) == sorted(
        [
            ("warning", "plugin_config_invalid", at + "bad-config"),
            ("warning", "plugin_not_found", at + "missing"),
            ("warning", "plugin_name_mismatch", at + "other-name"),
            ("warning", "plugin_path_refused", at + "outside"),
            ("warning", "plugin_manifest_invalid", at + "wrong"),
            ("warning", "tool_unmatched", 'primary.tools["words.fnid"]'),
        ]
    )
    (unmatched,) = [one for one in result.diagnostics if one.code == "tool_unmatched"]
    assert "words.find" in unmatched.message
    assert result.project is not None


def test_a_nested_project_brings_its_own_plugins(plugged: PluggedProject, tmp_path: Path) -> None:
    nested = PluggedProject(plugged.root / "below")
    nested.primary["plugins"] = {"words": nested.recording("words", tools="find")}
    nested.write()
    plugged.primary["subagents"] = {"below": {"path": "./below", "description": "Another project."}}
    result = compiled(plugged.write(), tmp_path)
    assert found(result) == []
    project: CompiledProject = result.require()
    child = project.agent("primary.subagents.below")
    assert child is not None
    assert child.plugins["words"].package == "./below/plugins/words"


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ({}, None),
        ({"words.*": True}, True),
        ({"*": True}, True),
        ({"words.find": True, "words.*": False}, True),
        ({"words.*": True, "*": False}, True),
        ({"w*": True, "words.f*": False}, False),
        ({"words.find": False, "*": True}, False),
        ({"other.*": True, "file.*": True}, None),
    ],
)
def test_the_most_specific_entry_wins(
    plugged: PluggedProject, tmp_path: Path, tools: dict[str, bool], expected: bool | None
) -> None:
    plugged.primary["plugins"] = {"words": plugged.recording("words", tools="find")}
    plugged.primary["tools"] = {pattern: {"enabled": on} for pattern, on in tools.items()}
    agent = compiled(plugged.write(), tmp_path).require().root
    override = override_of(agent, "words.find")
    assert (None if override is None else override.enabled) is expected


@pytest.mark.needs("cages")
async def test_an_agents_tools_are_listed_with_those_of_its_plugins_and_a_fork_keeps_what_was_said(
    fake: FakeProvider, plugged: PluggedProject, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    said = {"answers": {"on_session_start": {"inject": "Once."}}}
    words = plugged.recording("words", hooks="on_session_start", tools="find", config=said)
    plugged.primary["plugins"] = {"words": words}
    plugged.primary["tools"]["words.*"] = {"enabled": True}
    fake.script(text_reply("One."), text_reply("Two."))
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        listed = await driver.call("GET", f"/projects/{driver.project_id}/agents/primary/tools?limit=100")
        (found,) = [tool for tool in listed["items"] if tool["name"] == "words.find"]
        assert (found["enabled"], found["origin"]) == (True, "plugin")
        assert found["parameters"]["properties"] == {"word": {"type": "string"}}
        await driver.run("First")
        last = (await driver.messages())[-1]["id"]
        forked = await driver.session_call("POST", "/fork", {"message_id": last})
        driver.session_id = forked["id"]
        await driver.run("Second")
    first, second = (request.json["messages"][0] for request in fake.requests)
    assert "<plugin:words>Once.</plugin:words>" in first["content"]
    assert first == second
    assert len(plugged.calls("words")) == 1


def test_check_and_doctor_say_what_cannot_be_used(tmp_path: Path) -> None:
    home = Home(tmp_path)
    project = home.project / ".kaged" / "project.yaml"
    project.write_text(project.read_text() + "  plugins: { memory: { package: memory } }\n")
    answer = home.json("check")
    assert [one["code"] for one in answer["diagnostics"]] == ["root_uncaged", "plugin_not_found"]
    installed = home.data_dir / "plugins"
    home.data_dir.mkdir(mode=0o700)
    shutil.copytree(MEMORY, installed / "memory")
    (installed / "broken").mkdir()
    (installed / "broken" / "kaged-plugin.yaml").write_text("name: broken")
    assert [one["code"] for one in home.json("check")["diagnostics"]] == ["root_uncaged"]
    findings = {one["name"]: one for one in home.json("doctor")["findings"] if one["group"] == "plugins"}
    assert (findings["memory"]["status"], findings["broken"]["status"]) == ("ok", "absent")
    assert "version: is missing" in findings["broken"]["detail"]


@pytest.mark.needs("cages")
@pytest.mark.requirement("plugins.process")
async def test_a_plugin_that_is_taken_out_of_the_project_file_ends(
    fake: FakeProvider, plugged: PluggedProject, tmp_path: Path, settings_overrides: dict[str, Any]
) -> None:
    plugged.primary["plugins"] = {
        "gone": plugged.recording("gone", hooks="on_session_start"),
        "stays": plugged.recording("stays", hooks="on_session_start"),
    }
    fake.script(text_reply("One."))
    async with driven(tmp_path / "data", plugged.write(), **settings_overrides) as driver:
        await driver.run("First")
        at = f"/projects/{driver.project_id}"
        before = {one["name"]: one["pid"] for one in (await driver.call("GET", f"{at}/plugins"))["items"]}
        assert all(before.values())
        del plugged.primary["plugins"]["gone"]
        plugged.write()
        await driver.call("POST", f"{at}/reload")
        await until(lambda: not Path(f"/proc/{before['gone']}").exists())
        (left,) = (await driver.call("GET", f"{at}/plugins"))["items"]
        assert (left["name"], left["state"], left["pid"]) == ("stays", "ready", before["stays"])
