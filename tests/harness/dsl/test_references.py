"""A reference to another project becomes a plain agent, with everything below it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from app.harness.dsl.compiler import compile_project
from app.harness.dsl.synthesized import synthesize
from app.tools.search.glob_pattern import parse_glob
from tests.driver.project_files import MINIMAL, Catalog, codes, compiled, found, write_project


def referring(entry: str) -> str:
    return MINIMAL + f"  subagents:\n    child: {entry}\n"


def nested(extra: str = "", slug: str = "nested") -> str:
    return (
        f"version: 1\nproject: {slug}\ndescription: Builds things.\nprimary:\n"
        "  model: small\n  system_prompt: prompts/primary.md\n  cage: disabled\n"
        f"  tools: {{file.read: {{enabled: true}}}}\n{extra}"
    )


@pytest.mark.requirement("project_file.references")
def test_a_reference_is_flattened_and_no_path_is_left(tmp_path: Path) -> None:
    inner = "  subagents:\n    lint:\n      model: tiny\n      system_prompt: ./prompts/lint.md\n"
    inner += "      description: Lints.\n      cage: {fs: [{mode: ro, path: src}]}\n"
    inner += "      tools: {file.read: {enabled: true}}\n"
    write_project(tmp_path / "sub" / "builder", nested(inner), {"prompts/lint.md": "Lint.\n"})
    project = compiled(tmp_path, referring("{path: project:/sub/builder}")).require()
    child = project.root.children["child"]
    lint = child.children["lint"]
    assert (child.path, child.model, child.description) == (
        "primary.subagents.child",
        "small",
        "Builds things.",
    )
    assert child.system_prompt_file == str(tmp_path / "sub/builder/prompts/primary.md")
    assert lint.system_prompt_file == str(tmp_path / "sub/builder/prompts/lint.md")
    assert lint.cage != "disabled"
    assert lint.cage.fs[0].path == "sub/builder/src"
    assert b'"path":"project:' not in orjson.dumps(synthesize(project))
    assert not child.tools["kaged.issue"].enabled


@pytest.mark.requirement("operations.gates")
def test_content_gates_of_a_nested_project_name_its_own_files(tmp_path: Path) -> None:
    gates = "  content_gates: [secrets/**, '*.pem']\n"
    write_project(tmp_path / "a[b]" / "builder", nested(gates))
    project = compiled(tmp_path, referring("{path: 'a[b]/builder'}")).require()
    assert project.root.content_gates == ()
    globs = project.root.children["child"].content_gates
    files = ("a[b]/builder/secrets/x", "a[b]/builder/deep/k.pem", "a[b]/builder/k.pem", "secrets/x", "k.pem")
    named = [any(parse_glob(glob).compiled().fullmatch(file) for glob in globs) for file in files]
    assert named == [True, True, True, False, False]


@pytest.mark.requirement("project_file.overlay", "project_file.references")
def test_the_nested_overlay_comes_first_and_the_parents_overrides_after_it(tmp_path: Path) -> None:
    write_project(
        tmp_path / "sub",
        nested(),
        {".kaged/project.local.yaml": "primary: {model: from-local, max_steps: 5}\n"},
    )
    entry = (
        "{path: sub, name: builder, description: Mine., overrides: {max_steps: 9, tools: {file.read: null}}}"
    )
    child = compiled(tmp_path, referring(entry)).require().root.children["child"]
    assert (child.model, child.max_steps, child.name, child.description) == (
        "from-local",
        9,
        "builder",
        "Mine.",
    )
    assert not child.tools["file.read"].enabled


def test_overrides_stand_at_the_root_or_under_primary_but_a_key_only_once(tmp_path: Path) -> None:
    write_project(tmp_path / "sub", nested())
    both = "{path: sub, overrides: {max_steps: 9, primary: {model: big}}}"
    child = compiled(tmp_path, referring(both)).require().root.children["child"]
    assert (child.max_steps, child.model) == (9, "big")
    twice = "{path: sub, overrides: {model: a, primary: {model: b}}}"
    result = compiled(tmp_path, referring(twice))
    assert found(result) == [("override_conflict", 8, 56, "primary.subagents.child.overrides.primary.model")]


def test_a_mistake_in_the_overrides_is_reported_where_they_are_written(tmp_path: Path) -> None:
    write_project(tmp_path / "sub", nested())
    result = compiled(tmp_path, referring("{path: sub, overrides: {modle: a}, descripton: x}"))
    assert [(d.code, d.file, d.path) for d in result.diagnostics] == [
        ("unknown_key", ".kaged/project.yaml", "primary.subagents.child.overrides.modle"),
        ("unknown_key", ".kaged/project.yaml", "primary.subagents.child.descripton"),
    ]


def test_an_overriding_prompt_is_found_in_the_project_that_says_it(tmp_path: Path) -> None:
    write_project(tmp_path / "sub", nested())
    entry = "{path: sub, overrides: {system_prompt: prompts/mine.md}}"
    result = compiled(tmp_path, referring(entry), {"prompts/mine.md": "Mine.\n"})
    assert result.require().root.children["child"].system_prompt_file == str(tmp_path / "prompts/mine.md")


@pytest.mark.requirement("project_file.references")
def test_a_cycle_is_an_error_that_names_the_whole_chain(tmp_path: Path) -> None:
    write_project(tmp_path / "a", nested("  subagents: {b: {path: ../b}}\n", "aa"))
    write_project(tmp_path / "b", nested("  subagents: {a: {path: ../a}}\n", "bb"))
    result = compiled(tmp_path, referring("{path: a}"))
    (diagnostic,) = result.diagnostics
    assert (diagnostic.code, diagnostic.file) == ("reference_cycle", "b/.kaged/project.yaml")
    assert diagnostic.path == "primary.subagents.a.path"
    assert "a -> b -> a" in diagnostic.message


def test_a_project_that_refers_to_itself_is_a_cycle(tmp_path: Path) -> None:
    result = compiled(tmp_path, referring("{path: .}"))
    assert found(result) == [("reference_cycle", 8, 13, "primary.subagents.child.path")]
    assert ". -> ." in result.diagnostics[0].message


@pytest.mark.requirement("project_file.references")
def test_a_diamond_is_not_a_cycle(tmp_path: Path) -> None:
    write_project(tmp_path / "left", nested("  subagents: {base: {path: ../base}}\n", "left"))
    write_project(tmp_path / "right", nested("  subagents: {base: {path: ../base}}\n", "right"))
    write_project(tmp_path / "base", nested(slug="base"))
    text = MINIMAL + "  subagents: {left: {path: left}, right: {path: right}}\n"
    project = compiled(tmp_path, text).require()
    assert [agent.path for agent in project.agents()] == [
        "primary",
        "primary.subagents.left",
        "primary.subagents.left.subagents.base",
        "primary.subagents.right",
        "primary.subagents.right.subagents.base",
    ]


def test_a_mistake_below_a_diamond_is_reported_once_in_its_own_file(tmp_path: Path) -> None:
    write_project(tmp_path / "base", nested("nonsense: 1\n", "base"))
    text = MINIMAL + "  subagents: {left: {path: base}, right: {path: base}}\n"
    result = compiled(tmp_path, text)
    assert [(d.code, d.file, d.line) for d in result.diagnostics] == [
        ("unknown_key", "base/.kaged/project.yaml", 9)
    ]


@pytest.mark.requirement("project_file.references")
def test_a_missing_project_is_reported_on_the_key_that_refers_to_it(tmp_path: Path) -> None:
    result = compiled(tmp_path, referring("{path: project:/nowhere}"))
    assert found(result) == [("nested_project_missing", 8, 13, "primary.subagents.child.path")]
    assert str(tmp_path / "nowhere/.kaged/project.yaml") in result.watch_files


def test_a_reference_cannot_leave_the_project(tmp_path: Path) -> None:
    write_project(tmp_path / "outside", nested())
    root = tmp_path / "root"
    assert codes(compiled(root, referring("{path: ../outside}"))) == ["path_outside_project"]
    (root / "link").symlink_to(tmp_path / "outside")
    assert codes(compiled(root, referring("{path: link}"))) == ["path_outside_project"]
    assert codes(compiled(root, referring(f"{{path: {tmp_path}/outside}}"))) == ["path_outside_project"]
    assert codes(compiled(root, referring('{path: "a\\0b"}'))) == ["path_nul"]


def test_a_folder_whose_name_begins_like_the_root_is_outside(tmp_path: Path) -> None:
    write_project(tmp_path / "app-other", nested())
    assert codes(compiled(tmp_path / "app", referring("{path: ../app-other}"))) == ["path_outside_project"]


@pytest.mark.requirement("project_file.agents")
def test_sixteen_levels_of_agents_compile_and_seventeen_do_not(tmp_path: Path) -> None:
    def tower(levels: int) -> str:
        text = MINIMAL
        for level in range(1, levels):
            pad = "    " * level
            text += f"{pad[2:]}subagents:\n{pad}a{level}:\n"
            text += f"{pad}  model: m\n{pad}  system_prompt: prompts/primary.md\n{pad}  description: d\n"
            text += f"{pad}  cage: disabled\n{pad}  tools: {{read: {{enabled: true}}}}\n"
        return text

    assert len(list(compiled(tmp_path, tower(16)).require().agents())) == 16
    result = compiled(tmp_path, tower(17))
    assert codes(result) == ["agent_depth"]
    assert result.diagnostics[0].path.endswith("a16")


@pytest.mark.requirement("project_file.references")
def test_a_chain_of_projects_is_bounded_too(tmp_path: Path) -> None:
    for level in range(1, 20):
        entry = f"  subagents: {{next: {{path: ../p{level + 1}}}}}\n"
        write_project(tmp_path / f"p{level}", nested(entry, f"p{level}"))
    result = compiled(tmp_path, referring("{path: p1}"))
    assert [(d.code, d.file) for d in result.diagnostics] == [("agent_depth", "p15/.kaged/project.yaml")]


def test_references_that_fan_out_are_bounded(tmp_path: Path) -> None:
    for level in range(1, 15):
        twice = "{" + ", ".join(f"n{i}: {{path: ../p{level + 1}}}" for i in range(4)) + "}"
        write_project(tmp_path / f"p{level}", nested(f"  subagents: {twice}\n", f"p{level}"))
    write_project(tmp_path / "p15", nested(slug="p15"))
    result = compiled(tmp_path, referring("{path: p1}"))
    assert set(codes(result)) == {"too_many_agents"}


def test_rules_and_plugins_of_a_nested_project_come_along(tmp_path: Path) -> None:
    extra = "permissions: [{permission: '*', pattern: secret/**, action: deny}]\n"
    extra += "plugins: {memory: {package: m}}\n"
    write_project(tmp_path / "sub", nested(extra))
    child = compiled(tmp_path, referring("{path: sub}")).require().root.children["child"]
    assert [(rule.pattern, rule.pinned) for rule in child.permissions] == [("secret/**", False)]
    assert list(child.plugins) == ["memory"]


def test_what_a_nested_root_agent_may_is_left_out_where_it_is_a_subagent(tmp_path: Path) -> None:
    inner = nested().replace(
        "file.read: {enabled: true}", "file.read: {enabled: true}, kaged.ask: {enabled: true}"
    )
    write_project(tmp_path / "sub", inner)
    assert compile_project(tmp_path / "sub", catalog=Catalog()).require().root.tools["kaged.ask"].enabled
    result = compiled(tmp_path, referring("{path: sub}"))
    assert codes(result) == ["principal_scope"]
    assert not result.require().root.children["child"].tools["kaged.ask"].enabled
