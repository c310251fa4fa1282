"""Manifests: what is taken, what is refused with all its problems, and where packages are found."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from app.bridges.plugins.capabilities import covered, parse_capability
from app.bridges.plugins.manifest import RESERVED, PluginManifest, parse_manifest
from app.bridges.plugins.problems import PluginProblem
from app.harness.dsl.spec_types import PLUGIN_PATTERN, reserved_plugin_name
from tests.bridges.plugins.conftest import Open

GOOD = """\
name: memory
version: "1.0.0-rc.1+build.5"
kaged_api: 1
description: Remembers notes.
command: [python, plugin.py]
capabilities: ["kaged:storage:read"]
hooks: [on_session_start, pre_compact]
roles: [observer, compactor]
methods: [memory.recall, kaged.hook.pre_compact]
tools:
  - name: recall
    description: Recall notes.
    parameters_schema: {type: object}
"""


def problems(text: str | bytes) -> tuple[str, ...]:
    with pytest.raises(PluginProblem) as caught:
        parse_manifest(text.encode() if isinstance(text, str) else text)
    assert caught.value.code == "plugin_manifest_invalid"
    assert all(one in caught.value.message for one in caught.value.problems)
    return caught.value.problems


@pytest.mark.requirement("plugins.manifest")
def test_a_manifest_has_defaults() -> None:
    manifest = parse_manifest(GOOD.encode())
    assert isinstance(manifest, PluginManifest)
    assert manifest.idle_debounce_sec == 30
    assert manifest.hook_timeout_sec == 10
    assert manifest.shutdown_timeout_sec == 5
    assert manifest.health_interval_sec == 30
    assert manifest.env == {}
    assert manifest.promised == {
        "kaged.hook.on_session_start",
        "kaged.hook.pre_compact",
        "memory.recall",
    }


@pytest.mark.requirement("plugins.manifest")
def test_all_problems_are_reported_at_once_each_with_what_to_write() -> None:
    found = problems("""\
name: Memory
version: 1.0
kaged_api: 2
command: python
capabilities: ["kaged:storage:red", "net:[]", 5, "read:fs:../x"]
hooks: [on_start]
tools:
  - name: Recall
    parameters_schema: {type: objec}
colour: red
health_interval_sec: 1
shutdown_timeout_sec: 31
idle_debounce_sec: .nan
env: {"A=": x}
roles: []
""")
    places = {one.partition(":")[0] for one in found}
    assert places == {
        "name", "version", "kaged_api", "description", "command", "capabilities.0", "capabilities.2",
        "capabilities.3", "hooks.0", "tools.0.name", "tools.0.description", "colour", "health_interval_sec",
        "shutdown_timeout_sec", "idle_debounce_sec", "env.A=", "roles",
    }  # fmt: skip
    assert all("write" in one or "take it out" in one for one in found)


@pytest.mark.requirement("plugins.manifest")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("name: memory", "name: shell"), "namespace of built-in tools"),
        (("methods: [memory.recall", "methods: [other.recall"), "not the plugin's own"),
        (("kaged.hook.pre_compact]", "kaged.hook.post_compact]"), "`hooks` does not have"),
        (("hooks: [on_session_start, pre_compact]", "hooks: [on_session_start]"), "compactor"),
        (("[observer, compactor]", "[observer, observer]"), "twice"),
        (('["kaged:storage:read"]', '["net:[]", "net:*"]'), "no network at all"),
        (("{type: object}", "{type: object}\n    requires: ['net:*']"), "under `capabilities`"),
        (("{type: object}", "{type: string}"), "no object"),
        (("{type: object}", "{type: object, properties: {_context: {}}}"), "the daemon's own"),
        (("{type: object}", "{type: object, $ref: 'http://example.org/x'}"), "refers to"),
        (("{type: object}", "{type: object, minProperties: many}"), "no valid JSON Schema"),
        (("{type: object}", "{type: object, x: " + "[" * 35 + "]" * 35 + "}"), "deep"),
        (("{type: object}", "{type: object, description: " + "x" * 40_000 + "}"), "bytes"),
        (("command:", "env: {KAGED_X: y}\ncommand:"), "the daemon's own"),
        (("command: [python", "command: ['', python"), "command.0"),
        (("hooks:", "name: other\nhooks:"), "duplicate"),
        (("command:", "extra: &a [1]\nother: *a\ncommand:"), "aliases"),
        (("command:", "extra: !!python/name:os.system x\ncommand:"), "tags"),
        (("command:", "extra: {a: [}\ncommand:"), "line"),
        (("command:", "1: x\ncommand:"), "names as keys"),
        (("capabilities:", "capabilites:"), "did you mean `capabilities`?"),
        (("parameters_schema:", "parameters:"), "did you mean `parameters_schema`?"),
        (("command:", "x: " + "[" * 100 + "]" * 100 + "\ncommand:"), "nested too deeply"),
        (("command:", "x: " + "y" * 70_000 + "\ncommand:"), "too long"),
    ],
)
def test_what_does_not_agree_is_refused(change: tuple[str, str], said: str) -> None:
    assert change[0] in GOOD
    assert said in " ".join(problems(GOOD.replace(*change)))


@pytest.mark.requirement("plugins.manifest")
@pytest.mark.parametrize("content", [b"", b"- a", b"text", b"\xff\xfe\x00", b"{" * 5_000, b"a: " * 20_000])
def test_what_is_no_manifest_is_refused_soon(content: bytes) -> None:
    began = time.process_time()
    problems(content)
    assert time.process_time() - began < 3


@pytest.mark.requirement("plugins.manifest")
def test_reserved_names_are_those_of_the_project_file() -> None:
    assert all(reserved_plugin_name(name) for name in RESERVED)
    assert not reserved_plugin_name("memory")
    assert PluginManifest.model_fields["name"].metadata[0].pattern == PLUGIN_PATTERN


@pytest.mark.requirement("plugins.manifest")
def test_capabilities_contain_each_other_as_they_should() -> None:
    granted = [
        parse_capability(one)
        for one in ("read:fs:/srv/data", "net:Example.org:443", "net:cdn.example.org:*", "exec:/usr/bin/git")
    ]
    for text, contained in {
        "read:fs:/srv/data": True,
        "read:fs:/srv/data/": True,
        "read:fs:/srv/data/a/b": True,
        "read:fs:/srv/database": False,
        "read:fs:/srv": False,
        "write:fs:/srv/data": False,
        "net:example.org:443": True,
        "net:example.org:*": False,
        "net:cdn.example.org:8080": True,
        "net:*": False,
        "net:[]": True,
        "exec:/usr/bin/git": True,
        "exec:/usr/bin/git/x": False,
        "kaged:storage:read": False,
    }.items():
        assert covered(granted, parse_capability(text)) is contained, text
    assert covered([parse_capability("net:*")], parse_capability("net:[::1]:80"))
    assert covered([parse_capability("read:fs:/")], parse_capability("read:fs:/etc"))
    for wrong in (
        "", "net:", "net:host", "net:host:0", "net:host:65536", "net:host:x", "net:a b:1", "net:*:80",
        "read:fs:", "read:fs:relative", "read:fs:/a/../b", "read:fs://a", "exec:git", "kaged:storage:all",
        "kaged:storage:read\n", "net:host:²", "NET:*",
    ):  # fmt: skip
        with pytest.raises(ValueError, match="write"):
            parse_capability(wrong)


@pytest.mark.requirement("plugins.manifest")
async def test_packages_are_found_where_they_are_installed_or_named(bench: Open, tmp_path: Path) -> None:
    places = {
        "data/plugins/one": "one",
        "installed/two": "two",
        "elsewhere/three": "three",
        "project/four": "four",
    }
    async with bench() as it:
        for folder, name in places.items():
            (tmp_path / folder).mkdir(parents=True)
            manifest = GOOD.replace("name: memory", f"name: {name}").replace("memory.", f"{name}.")
            (tmp_path / folder / "kaged-plugin.yaml").write_text(manifest)
        for name, package in {
            "one": "one",
            "two": "two",
            "three": str(tmp_path / "elsewhere/three"),
            "four": "./four",
        }.items():
            found = await it.plugins.manifest(it.declaration(name, package=package))
            assert found.name == name
        absolute = it.declaration("four", package=str(it.root / "four"))
        assert (await it.plugins.manifest(absolute)).name == "four"

        async def problem(name: str, package: str) -> PluginProblem:
            with pytest.raises(PluginProblem) as caught:
                await it.plugins.manifest(it.declaration(name, package=package))
            return caught.value

        assert (await problem("x", "nowhere")).code == "plugin_not_found"
        assert str(tmp_path / "data/plugins/nowhere") in (await problem("x", "nowhere")).message
        assert (await problem("x", "./nowhere")).code == "plugin_not_found"
        assert (await problem("x", "/nowhere/at/all")).code == "plugin_not_found"
        assert (await problem("x", "../elsewhere/three")).code == "plugin_path_refused"
        assert (await problem("x", "~/three")).code == "plugin_path_refused"
        mismatch = await problem("five", "./four")
        assert mismatch.code == "plugin_name_mismatch"
        assert "`four:`" in mismatch.message


@pytest.mark.requirement("plugins.manifest")
async def test_no_link_leads_out_of_the_project(bench: Open, tmp_path: Path) -> None:
    async with bench() as it:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "kaged-plugin.yaml").write_text(GOOD)
        os.symlink(outside, it.root / "linked")
        (it.root / "own").mkdir()
        os.symlink(outside / "kaged-plugin.yaml", it.root / "own" / "kaged-plugin.yaml")
        (it.root / "pipe").mkdir()
        os.mkfifo(it.root / "pipe" / "kaged-plugin.yaml")
        for package, code in {
            "./linked": "plugin_path_refused",
            str(it.root / "linked"): "plugin_path_refused",
            "./own": "plugin_path_refused",
            "./pipe": "plugin_path_refused",
        }.items():
            with pytest.raises(PluginProblem) as caught:
                await it.plugins.manifest(it.declaration("memory", package=package))
            assert caught.value.code == code, package
            outcome = await it.hook(it.declaration("memory", package=package))
            assert outcome.kind == "unavailable"


@pytest.mark.requirement("plugins.manifest")
async def test_config_is_checked_against_the_manifest(bench: Open) -> None:
    schemas = """
config_schema:
  type: object
  properties: {size: {type: integer, maximum: 5}, mode: {type: string, pattern: "^(a+)+$"}}
  required: [size]
system_config_schema:
  type: object
  properties: {key: {type: string}}
  required: [key]
"""
    async with bench(system_config={"memory": {"key": 70071}}) as it:
        it.package(GOOD + schemas, name="memory")
        declared = it.declaration("memory", config={"size": 6, "mode": "a" * 5_000 + "!"})
        with pytest.raises(PluginProblem) as caught:
            await it.plugins.manifest(declared)
        assert caught.value.code == "plugin_config_invalid"
        places = [one.partition(":")[0] for one in caught.value.problems]
        assert sorted(places) == ["config.mode", "config.size", "plugins.config.memory.key"]
        assert "6 is greater" in caught.value.message
        assert 'its value is not of type "string"' in caught.value.message
        assert "70071" not in caught.value.message, "the operator's settings are secret"
        it.package(GOOD, name="memory")
        with pytest.raises(PluginProblem, match="takes none"):
            await it.plugins.manifest(declared)


@pytest.mark.requirement("plugins.manifest")
async def test_a_changed_manifest_holds_at_the_next_use(bench: Open) -> None:
    async with bench() as it:
        declared = it.package(GOOD, name="memory")
        assert (await it.plugins.manifest(declared)).hook_timeout_sec == 10
        it.package(GOOD + "hook_timeout_sec: 2\n", name="memory")
        assert (await it.plugins.manifest(declared)).hook_timeout_sec == 2
