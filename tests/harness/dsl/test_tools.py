"""Which tools each agent has, and where each state came from."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from app.harness.dsl.compiled import CompiledAgent
from app.harness.dsl.compiler import CompileResult, compile_project
from tests.driver.project_files import MINIMAL, TODAY, codes, compiled, found, write_project


def on_root(root: Path, tools: str) -> CompileResult:
    return compiled(root, MINIMAL + f"  tools: {tools}\n")


def on_child(root: Path, tools: str) -> CompileResult:
    child = (
        "{model: m, system_prompt: prompts/primary.md, description: d, cage: disabled, tools: " + tools + "}"
    )
    return compiled(root, MINIMAL + f"  subagents:\n    child: {child}\n")


def child_of(result: CompileResult) -> CompiledAgent:
    return result.require().root.children["child"]


def test_the_root_agent_starts_with_its_role_and_a_subagent_with_nothing(tmp_path: Path) -> None:
    result = on_child(tmp_path, "{file.read: {enabled: true}}")
    root = result.require().root
    assert set(root.enabled_tools()) == {n for n in root.tools if n.startswith("kaged.")}
    assert {root.tools[name].origin for name in root.enabled_tools()} == {"role"}
    assert root.tools["file.read"].origin == "default"
    assert child_of(result).enabled_tools() == ("file.read",)
    assert child_of(result).tools["file.read"].origin == "override:file.read"


@pytest.mark.requirement("project_file.tools")
def test_every_tool_of_the_daemon_is_listed_for_every_agent(tmp_path: Path) -> None:
    result = on_child(tmp_path, "{read: {enabled: true}}")
    assert list(child_of(result).tools) == list(result.require().root.tools)


def test_role_defaults_come_from_the_catalog(tmp_path: Path) -> None:
    root = write_project(tmp_path, MINIMAL + "  tools: {'file.*': {enabled: true}}\n")
    project = compile_project(root, catalog=TODAY).require()
    assert project.root.enabled_tools() == ("file.read", "file.write", "file.create")


def test_disabling_one_action_keeps_the_tool_without_it(tmp_path: Path) -> None:
    issue = on_root(tmp_path, "{kaged.issue.create: {enabled: false}}").require().root.tools["kaged.issue"]
    assert (issue.enabled, issue.origin) == (True, "role")
    assert [name for name, state in issue.actions.items() if state.enabled] == [
        "list",
        "get",
        "comment",
        "transition",
    ]
    assert issue.actions["create"].origin == "override:kaged.issue.create"


def test_enabling_one_action_of_a_disabled_tool_gives_just_that_action(tmp_path: Path) -> None:
    tools = "{kaged.issue: {enabled: false}, kaged.issue.list: {enabled: true}}"
    issue = on_root(tmp_path, tools).require().root.tools["kaged.issue"]
    assert (issue.enabled, issue.origin) == (True, "override:kaged.issue.list")
    assert [name for name, state in issue.actions.items() if state.enabled] == ["list"]


def test_disabling_every_action_disables_the_tool(tmp_path: Path) -> None:
    tools = "{kaged.todo.view: {enabled: false}, kaged.todo.set: {enabled: false}}"
    todo = on_root(tmp_path, tools).require().root.tools["kaged.todo"]
    assert (todo.enabled, todo.origin) == (False, "override:kaged.todo.view")


def test_a_glob_matches_the_tool_and_all_its_actions(tmp_path: Path) -> None:
    issue = on_root(tmp_path, "{'kaged.issue.*': {enabled: false}}").require().root.tools["kaged.issue"]
    assert not issue.enabled
    assert {state.origin for state in issue.actions.values()} == {"override:kaged.issue.*"}


def test_a_tool_is_no_action_of_another_because_of_its_dot(tmp_path: Path) -> None:
    child = child_of(on_child(tmp_path, "{'edit.*': {enabled: true}}"))
    assert child.enabled_tools() == ("edit.text",)
    assert child.tools["edit"].actions == {}
    assert child_of(on_child(tmp_path, "{edit: {enabled: true}}")).enabled_tools() == ("edit",)


@pytest.mark.requirement("project_file.tools")
@pytest.mark.parametrize("turned", [False, True])
def test_the_more_specific_override_wins_in_any_order(tmp_path: Path, turned: bool) -> None:
    entries = ["'@locked': {enabled: true}", "'*': {enabled: false}", "'file.*': {enabled: true}"]
    entries += ["file.write: {enabled: false}"]
    tools = "{" + ", ".join(reversed(entries) if turned else entries) + "}"
    root = on_root(tmp_path, tools).require().root
    assert root.enabled_tools() == ("file.read", "file.create")
    assert root.tools["file.write"].origin == "override:file.write"
    assert root.tools["read"].origin == "override:*"


def test_a_group_stands_for_its_members(tmp_path: Path) -> None:
    result = on_child(tmp_path, "{'@locked': {enabled: true}}")
    assert child_of(result).enabled_tools() == ("read",)
    assert child_of(result).tools["read"].origin == "override:@locked"


def test_an_override_carries_a_description_and_limits(tmp_path: Path) -> None:
    tools = (
        "{'file.*': {enabled: true, limits: {max_calls: 5}}, file.read: {enabled: true, description: Look.}}"
    )
    tool = on_root(tmp_path, tools).require().root.tools["file.read"]
    assert tool.description == "Look."
    assert tool.limits is not None
    assert tool.limits.max_calls == 5


@pytest.mark.parametrize(
    "pattern", ["kaged.issue", "kaged.issue.create", "kaged.workflow.trigger", "kaged.workflow.*", "kaged.*"]
)
def test_a_root_only_tool_on_a_subagent_is_an_error(tmp_path: Path, pattern: str) -> None:
    result = on_child(tmp_path, f"{{'{pattern}': {{enabled: true}}}}")
    assert result.project is None
    assert codes(result) == ["principal_scope"]


def test_a_root_only_tool_may_be_turned_off_on_a_subagent(tmp_path: Path) -> None:
    result = on_child(tmp_path, "{read: {enabled: true}, 'kaged.issue.*': {enabled: false}}")
    assert result.diagnostics == ()


def test_everything_means_everything_that_the_agent_may_have(tmp_path: Path) -> None:
    result = on_child(tmp_path, "{'*': {enabled: true}}")
    assert codes(result) == ["principal_scope"]
    assert "kaged.checkpoint" in child_of(result).enabled_tools()
    assert "kaged.issue" not in child_of(result).enabled_tools()


def test_what_matches_no_tool_is_a_warning_with_the_nearest_name(tmp_path: Path) -> None:
    result = on_root(
        tmp_path, "{file.raed: {enabled: true}, 'lsp.*': {enabled: true}, '@lockd': {enabled: true}}"
    )
    assert result.project is not None
    assert found(result) == [
        ("tool_unmatched", 7, 11, 'primary.tools["file.raed"]'),
        ("tool_unmatched", 7, 39, 'primary.tools["lsp.*"]'),
        ("tool_unmatched", 7, 65, 'primary.tools["@lockd"]'),
    ]
    assert "did you mean `file.read`" in result.diagnostics[0].message
    assert "did you mean `locked`" in result.diagnostics[2].message


def test_tools_of_a_declared_plugin_are_not_missed(tmp_path: Path) -> None:
    text = MINIMAL + "  plugins: {memory: {package: m}}\n  tools: {'memory.*': {enabled: true}}\n"
    assert compiled(tmp_path, text).diagnostics == ()


def test_tool_overrides_is_another_name_for_tools(tmp_path: Path) -> None:
    result = compiled(tmp_path, MINIMAL + "  tool_overrides: {file.read: {enabled: true}}\n")
    assert result.require().root.tools["file.read"].enabled
    both = compiled(tmp_path, MINIMAL + "  tools: {}\n  tool_overrides: {}\n")
    assert found(both) == [("tools_twice", 8, 3, "primary.tool_overrides")]


def test_an_agent_without_tools_or_children_is_a_warning(tmp_path: Path) -> None:
    result = on_child(tmp_path, "{}")
    assert found(result) == [("agent_idle", 8, 5, "primary.subagents.child")]
    assert result.project is not None


def test_one_wrong_override_does_not_hide_the_others(tmp_path: Path) -> None:
    result = on_root(tmp_path, "{file.read: {enabled: maybe}, nothing: {enabled: true}, edit.text: null}")
    assert codes(result) == ["wrong_type", "tool_unmatched", "wrong_type"]


@pytest.mark.requirement("project_file.diagnostics")
def test_a_permission_rule_for_nothing_there_is_is_a_warning_at_its_name(tmp_path: Path) -> None:
    rules = "".join(
        f"    - {{ permission: '{name}', pattern: '*', action: deny }}\n"
        for name in ("file.wriet", "file_write", "kaged.issue.crate", "fil.*", "watchdog", "delete")
    )
    result = compiled(tmp_path, MINIMAL + "  permissions:\n" + rules)
    assert [(d.severity, d.code, d.line, d.column) for d in result.diagnostics] == [
        ("warning", "permission_unmatched", line, 21) for line in range(8, 14)
    ]
    said = [d.message for d in result.diagnostics]
    assert all("`file.write`" in one for one in said[:2])
    assert "`kaged.issue.create`" in said[2]
    assert "capabilities are fs.read" in said[5]


@pytest.mark.requirement("project_file.diagnostics")
@pytest.mark.parametrize(
    "name",
    [
        *("*", "file.*", "read", "kaged.issue", "kaged.issue.*", "kaged.issue.create", "fs.write", "net"),
        *("agent-coder", "memory.recall", "github_create_issue", "github_*"),
    ],
)
def test_a_rule_for_what_is_there_or_may_be_is_none(tmp_path: Path, name: str) -> None:
    rule = f"permissions: [{{permission: '{name}', pattern: '*', action: deny}}]\n"
    text = MINIMAL + "  plugins: {memory: {package: ./plugins/memory}}\n" + rule
    assert compiled(tmp_path, text).diagnostics == ()


def test_thousands_of_rules_for_nothing_are_found_soon(tmp_path: Path) -> None:
    rules = "".join(f"- {{permission: file.r{n}, pattern: x}}\n" for n in range(5_000))
    began = time.process_time()
    found = compiled(tmp_path, MINIMAL + "permissions:\n" + rules).diagnostics
    assert [d.code for d in found].count("permission_unmatched") == 100
    assert time.process_time() - began < 10
