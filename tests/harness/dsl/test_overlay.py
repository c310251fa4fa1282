"""`project.local.yaml` over `project.yaml`: maps merge, lists replace, null removes, places stay true."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.harness.dsl.compiler import CompileResult
from tests.driver.project_files import MINIMAL, codes, compiled

BASE = MINIMAL + (
    "  tools: {file.read: {enabled: true}, file.write: {enabled: true}}\n"
    "limits: {max_steps: 10, tokens: 1000}\n"
    "skills: {paths: [one, two]}\n"
)


def with_local(root: Path, local: str, base: str = BASE, **files: str) -> CompileResult:
    return compiled(root, base, {".kaged/project.local.yaml": local, **files})


@pytest.mark.requirement("project_file.overlay")
def test_maps_merge_deeply_lists_replace_and_null_removes(tmp_path: Path) -> None:
    local = "limits: {max_steps: 3, tokens: null}\nskills: {paths: [three]}\n"
    local += "primary: {tools: {file.write: null}}\n"
    project = with_local(tmp_path, local).require()
    assert (project.limits.max_steps, project.limits.tokens) == (3, None)
    assert project.skills.paths == ["three"]
    assert project.root.tools["file.read"].enabled
    assert project.root.tools["file.write"].origin == "default"


def test_version_and_project_cannot_be_overridden(tmp_path: Path) -> None:
    result = with_local(tmp_path, "version: 1\nproject: other\n")
    assert [(d.code, d.file, d.line, d.path) for d in result.diagnostics] == [
        ("overlay_forbidden", ".kaged/project.local.yaml", 1, "version"),
        ("overlay_forbidden", ".kaged/project.local.yaml", 2, "project"),
    ]


def test_a_mistake_in_the_overlay_is_reported_in_the_overlay(tmp_path: Path) -> None:
    result = with_local(tmp_path, "limits:\n  max_steps: many\n  tokns: 5\n")
    assert [(d.code, d.file, d.line, d.column, d.path) for d in result.diagnostics] == [
        ("wrong_type", ".kaged/project.local.yaml", 2, 14, "limits.max_steps"),
        ("unknown_key", ".kaged/project.local.yaml", 3, 3, "limits.tokns"),
    ]


def test_a_required_key_that_the_overlay_removes_is_reported_in_the_overlay(tmp_path: Path) -> None:
    result = with_local(tmp_path, "primary:\n  model: null\n")
    assert [(d.code, d.file, d.line, d.path) for d in result.diagnostics] == [
        ("missing_key", ".kaged/project.local.yaml", 2, "primary.model")
    ]


def test_a_broken_overlay_does_not_hide_the_mistakes_of_the_project_file(tmp_path: Path) -> None:
    result = with_local(tmp_path, "a: [", base=BASE + "nonsense: 1\n")
    assert codes(result) == ["yaml_syntax", "unknown_key"]


def test_an_empty_overlay_changes_nothing(tmp_path: Path) -> None:
    before = compiled(tmp_path, BASE).require()
    assert with_local(tmp_path, "# nothing yet\n").require() == before


def test_the_overlay_adds_an_agent_and_takes_one_away(tmp_path: Path) -> None:
    agent = "{model: m, system_prompt: prompts/primary.md, description: d, cage: disabled}"
    base = MINIMAL + f"  subagents:\n    one: {agent}\n"
    local = f"primary: {{subagents: {{one: null, two: {agent}}}}}\n"
    assert list(with_local(tmp_path, local, base=base).require().root.children) == ["two"]


def test_the_overlay_belongs_to_the_files_to_watch_before_it_exists(tmp_path: Path) -> None:
    project = compiled(tmp_path, MINIMAL).require()
    assert str(tmp_path / ".kaged" / "project.local.yaml") in project.source_files


@pytest.mark.requirement("project_file.overlay")
def test_a_null_that_removes_nothing_is_a_warning_where_it_stands(tmp_path: Path) -> None:
    local = "primary:\n  tools:\n    file.raed: null\n    edit.text: null\n    file.write: null\n"
    local += "limits: {tokens: }\n"
    result = with_local(tmp_path, local)
    assert [(d.severity, d.code, d.file, d.line, d.column) for d in result.diagnostics] == [
        ("warning", "overlay_idle", ".kaged/project.local.yaml", 3, 5),
        ("warning", "overlay_idle", ".kaged/project.local.yaml", 4, 5),
    ]
    assert "did you mean `file.read`" in result.diagnostics[0].message
    assert "`{ enabled: false }`" in result.diagnostics[1].message


def test_an_override_that_removes_nothing_is_a_warning_where_it_stands(tmp_path: Path) -> None:
    nested = (
        MINIMAL.replace("project: app", "project: other")
        + "  description: Other.\n  tools: {file.read: {enabled: true}}\n"
    )
    files = {"other/.kaged/project.yaml": nested, "other/prompts/primary.md": "Do it."}
    base = MINIMAL + "  subagents:\n    o: {path: other, overrides: {tools: {file.reed: null}}}\n"
    result = compiled(tmp_path, base, files)
    assert [(d.code, d.file, d.line) for d in result.diagnostics] == [
        ("overlay_idle", ".kaged/project.yaml", 8)
    ]
