"""The section `hooks` of the project file: its checks, its protection, and what asks for trust again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from app.config.hook_settings import HookSettings
from app.errors import ConfigError
from app.harness.dsl.acts import ActReader
from app.harness.dsl.compiler import CompileResult, compile_project
from app.harness.dsl.spec_cage import CageSpec
from app.harness.dsl.widening import compare
from app.harness.hooks.commands.hook import hooks_of_settings
from tests.driver.project_files import Catalog, write_project

pytestmark = pytest.mark.requirement("hooks.sessions")

BASE: dict[str, Any] = {
    "version": 1,
    "project": "shop",
    "primary": {"model": "smart", "system_prompt": "prompts/primary.md", "cage": "disabled"},
}
GUARD: dict[str, Any] = {
    "name": "guard",
    "command": ["./hooks/guard.sh", "--strict"],
    "match": [{"permission": "fs.write", "pattern": "src/**"}],
}


def result(root: Path, **hooks: Any) -> CompileResult:
    write_project(root, yaml.safe_dump({**BASE, "hooks": hooks}))
    return compile_project(root, catalog=Catalog())


def wrong(root: Path, **hooks: Any) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in result(root, **hooks).diagnostics]


def test_a_hook_compiles_with_its_defaults_and_its_cage_below_the_root(tmp_path: Path) -> None:
    cage = {"fs": [{"mode": "rw", "path": "./src/"}], "net": {"allow": ["api.example.org:443"]}}
    (_, found), (event, second) = (
        result(
            tmp_path / "p", before_tool=[GUARD], on_stop=[{"name": "t", "command": "make test", "cage": cage}]
        )
        .require()
        .hooks.all()
    )
    assert (found.timeout_seconds, found.agents, found.cage, found.input) == (10.0, None, None, "kaged")
    assert isinstance(second.cage, CageSpec)
    assert (event, second.cage.fs[0].path) == ("on_stop", "src")


def test_the_programs_of_hooks_are_guarded(tmp_path: Path) -> None:
    root = tmp_path / "p"
    (root / "hooks").mkdir(parents=True)
    (root / "hooks" / "guard.sh").write_text("#!/bin/sh\n")
    (root / "check.py").write_text("")
    line = {"name": "line", "command": "echo x && python3 check.py; ./hooks/other.sh"}
    project = result(root, before_tool=[GUARD], after_tool=[line]).require()
    assert {"hooks/guard.sh", "check.py", "hooks/other.sh"} <= set(project.guarded_files)


@pytest.mark.parametrize(
    ("hooks", "code", "said"),
    [
        ({"on_prompt": [GUARD]}, "invalid_value", "`match` is for before_tool and after_tool"),
        ({"before_tool": [GUARD], "after_tool": [GUARD]}, "duplicate_entry", "two hooks are called `guard`"),
        ({"before_toll": [GUARD]}, "unknown_key", "before_tool"),
        ({"before_tool": [{"name": "x"}]}, "missing_key", "command"),
        ({"before_tool": [{**GUARD, "timeout_seconds": 601}]}, "invalid_value", "600"),
        ({"before_tool": [{**GUARD, "timeout_seconds": float("nan")}]}, "yaml_number", ""),
        (
            {"before_tool": [{**GUARD, "match": [{"permission": "fs.wirte"}]}]},
            "permission_unmatched",
            "fs.write",
        ),
        (
            {"before_tool": [{**GUARD, "cage": {"fs": [{"mode": "rw", "path": "../x"}]}}]},
            "path_outside_project",
            "",
        ),
        ({"before_tool": [{**GUARD, "name": f"n{number}"} for number in range(33)]}, "too_many", "32"),
    ],
    ids=["match", "twice", "event", "command", "time", "nan", "permission", "cage", "many"],
)
def test_a_wrong_hook_is_reported(tmp_path: Path, hooks: dict[str, Any], code: str, said: str) -> None:
    found = wrong(tmp_path / "p", **hooks)
    assert code in [one for one, _ in found], found
    assert any(said in message for one, message in found if one == code), found


@pytest.mark.parametrize(
    ("old", "new", "asked"),
    [
        ({}, {"after_tool": [GUARD]}, ["added"]),
        ({"before_tool": [GUARD]}, {}, ["removed"]),
        ({"after_tool": [GUARD]}, {}, []),
        ({"before_tool": [GUARD]}, {"before_tool": [{**GUARD, "timeout_seconds": 20}]}, []),
        ({"before_tool": [GUARD]}, {"before_tool": [{**GUARD, "match": []}]}, ["added", "removed"]),
        ({"before_tool": [GUARD]}, {"before_tool": [{**GUARD, "agents": ["x"]}]}, ["added", "removed"]),
        ({"before_tool": [GUARD]}, {"after_tool": [GUARD]}, ["added", "removed"]),
        ({"before_tool": [GUARD]}, {"before_tool": [{**GUARD, "cage": "disabled"}]}, ["added"]),
        (
            {"before_tool": [GUARD]},
            {"before_tool": [{**GUARD, "cage": {"net": {"allow": ["example.org"]}}}]},
            ["added"],
        ),
    ],
    ids=["new", "gone", "less", "time", "match", "agents", "event", "uncaged", "network"],
)
def test_what_a_hook_may_do_asks_for_trust_again(
    tmp_path: Path, old: dict[str, Any], new: dict[str, Any], asked: list[str]
) -> None:
    before = result(tmp_path / "p", **old).require()
    after = result(tmp_path / "p", **new)
    assert after.reader is not None
    changes = [act for act in compare(before, ActReader(after.require())) if act.change is not None]
    assert [act.change for act in changes] == asked
    shown = [act for act in after.reader.all() if act.kind == "hook"]
    assert all(act.file == ".kaged/project.yaml" and act.line > 1 for act in shown)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"cage": {"fs": [{"mode": "rx", "path": "."}]}}, "hooks.before_tool.0.cage"),
        ({"cage": {"network": {}}}, "hooks.before_tool.0.cage"),
        ({"cage": {"net": {"allow": ["127.0.0.1"]}}}, "hooks.before_tool.0.cage"),
    ],
    ids=["mode", "key", "address"],
)
def test_a_wrong_cage_of_an_operators_hook_stops_the_start_and_names_the_key(
    entry: dict[str, Any], said: str
) -> None:
    settings = HookSettings.model_validate({"before_tool": [{"name": "x", "command": "true", **entry}]})
    with pytest.raises(ConfigError, match=said):
        hooks_of_settings(settings)
