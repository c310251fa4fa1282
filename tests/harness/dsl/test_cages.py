"""Cages: their shape, their paths, and the warning when a child's grants more than its parent's."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.cages.file_grants import FileGrants
from app.harness.dsl.compiler import CompileResult, compile_project
from app.harness.dsl.spec_cage import CageSpec
from app.harness.projects.run_cage import cage_of
from tests.driver.project_files import MINIMAL, Catalog, codes, compiled, write_project

AGENT = "model: m, system_prompt: prompts/primary.md, description: d, tools: {read: {enabled: true}}"


def child(root: Path, cage: str) -> CompileResult:
    return compiled(root, MINIMAL + f"  subagents:\n    child: {{{AGENT}, cage: {cage}}}\n")


def grandchild(root: Path, parent: str, cage: str) -> CompileResult:
    inner = f"{{{AGENT}, cage: {cage}}}"
    return compiled(
        root,
        MINIMAL
        + f"  subagents:\n    child:\n      {{{AGENT}, cage: {parent},\n      subagents: {{x: {inner}}}}}\n",
    )


def test_every_default_of_a_cage_is_filled_in(tmp_path: Path) -> None:
    cage = child(tmp_path, "{fs: [{mode: ro, path: ./src/}]}").require().root.children["child"].cage
    assert cage != "disabled"
    assert cage.model_dump(exclude={"limits"}) == {
        "fs": [{"mode": "ro", "path": "src"}],
        "net": {"allow": []},
        "state": "ephemeral",
        "seccomp": "default",
        "capabilities": [],
        "env": {},
        "ipc": [],
        "outside": "none",
    }


BLOCK = """{fs: [{mode: rw, path: "{workspace}/src"}, {mode: deny, path: src/keys}],
    net: {allow: ["a.org:443", "*.b.org"]}, state: persistent, seccomp: relaxed, capabilities: [shell, exec],
    env: {CI: "1"}, ipc: [unix], outside: none,
    limits: {walltime_seconds: 1, cpu_seconds: 2, memory_mb: 3, pids: 4, file_size_mb: 5, open_files: 6}}"""


@pytest.mark.requirement("security.root_cage")
def test_a_cage_means_the_same_on_the_root_agent_as_on_others(tmp_path: Path) -> None:
    of_root = compiled(tmp_path / "root", MINIMAL.replace("disabled", BLOCK)).require().root.cage
    of_child = child(tmp_path / "child", BLOCK).require().root.children["child"].cage
    assert of_root == of_child != "disabled"
    wrong = compiled(tmp_path / "wrong", MINIMAL.replace("disabled", "{fs: [{mode: rw, path: /etc}]}"))
    assert codes(wrong) == ["path_outside_project"]


@pytest.mark.requirement("security.root_cage")
def test_children_of_a_caged_root_agent_are_never_wider_than_it(tmp_path: Path) -> None:
    text = MINIMAL.replace("disabled", "{fs: [{mode: ro, path: src}], capabilities: [shell]}")
    wide = "{fs: [{mode: rw, path: .}], capabilities: [shell, exec], net: {allow: [a.org]}}"
    for cage in ("disabled", wide):
        root = tmp_path / str(len(cage))
        result = compiled(root, f"{text}  subagents:\n    child: {{{AGENT}, cage: {cage}}}\n")
        assert codes(result) == ["cage_broader"]
        inner = result.require().root.children["child"].cage
        assert inner != "disabled"
        assert (inner.capabilities, inner.net.allow) == (["shell"], [])
        rights = {one.path: one.mode for one in inner.fs}
        assert rights["src"] == "ro" and rights.get(".", "deny") == "deny"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/etc", "path_outside_project"),
        ("~/.ssh", "path_outside_project"),
        ("../other", "path_outside_project"),
        ("src/../../other", "path_outside_project"),
        ('"a\\0b"', "path_nul"),
        ("file:///etc", "path_invalid"),
        ("'*.py'", "path_invalid"),
        ("'secrets/**'", "path_invalid"),
    ],
)
def test_a_cage_path_stays_below_the_project(tmp_path: Path, path: str, code: str) -> None:
    assert codes(child(tmp_path, f"{{fs: [{{mode: ro, path: {path}}}]}}")) == [code]


@pytest.mark.parametrize(
    ("cage", "where"),
    [
        ("enabled", "cage"),
        ("{net: {allow: ['https://example.org']}}", "cage.net.allow[0]"),
        ("{net: {allow: ['a.*.org']}}", "cage.net.allow[0]"),
        ("{net: {allow: ['a.org', '127.0.0.1:80']}}", "cage.net.allow[1]"),
        ("{net: {allow: ['a.org:65536']}}", "cage.net.allow[0]"),
        ("{net: {allow: ['a.org:0']}}", "cage.net.allow[0]"),
        ("{net: {allow: ['a.0x7f']}}", "cage.net.allow[0]"),
        ("{net: {allow: ['a-.org']}}", "cage.net.allow[0]"),
        ("{limits: {memory_mb: 0}}", "cage.limits.memory_mb"),
        ("{env: {'A=B': x}}", 'cage.env["A=B"]'),
        ("{state: forever}", "cage.state"),
        ("{network: none}", "cage.network"),
    ],
)
def test_a_wrong_cage_is_reported_at_the_key(tmp_path: Path, cage: str, where: str) -> None:
    (diagnostic,) = child(tmp_path, cage).diagnostics
    assert diagnostic.severity == "error"
    assert diagnostic.path == f"primary.subagents.child.{where}"


@pytest.mark.parametrize(
    ("parent", "cage", "says"),
    [
        ("{fs: []}", "disabled", "not caged at all"),
        ("{fs: [{mode: ro, path: src}]}", "{fs: [{mode: rw, path: src}]}", "rw on `src`"),
        ("{fs: [{mode: rw, path: src}]}", "{fs: [{mode: ro, path: srcs}]}", "ro on `srcs`"),
        (
            "{fs: [{mode: rw, path: .}, {mode: deny, path: keys}]}",
            "{fs: [{mode: ro, path: keys/a}]}",
            "keys/a",
        ),
        ("{net: {allow: ['a.org:443']}}", "{net: {allow: ['a.org:80']}}", "net `a.org:80`"),
        ("{net: {allow: ['*.a.org']}}", "{net: {allow: ['a.org']}}", "net `a.org`"),
        ("{net: {allow: ['*.a.org']}}", "{net: {allow: ['evila.org']}}", "net `evila.org`"),
        ("{capabilities: [exec]}", "{capabilities: [exec, shell]}", "capability `shell`"),
        ("{}", "{seccomp: relaxed}", "seccomp"),
        ("{}", "{ipc: [unix]}", "ipc"),
        ("{}", "{state: persistent}", "persistent"),
        ("{outside: none}", "{outside: mark}", "outside"),
        ("{limits: {pids: 5}}", "{limits: {pids: 6}}", "limits.pids"),
    ],
)
def test_a_child_cage_that_is_broader_is_a_warning(tmp_path: Path, parent: str, cage: str, says: str) -> None:
    result = grandchild(tmp_path, parent, cage)
    assert result.project is not None
    (diagnostic,) = result.diagnostics
    assert (diagnostic.severity, diagnostic.code) == ("warning", "cage_broader")
    assert diagnostic.path == "primary.subagents.child.subagents.x.cage"
    assert says in diagnostic.message


@pytest.mark.parametrize(
    ("parent", "cage"),
    [
        ("disabled", "{fs: [{mode: rw, path: .}], net: {allow: ['*.example.org']}}"),
        ("{fs: [{mode: rw, path: src}]}", "{fs: [{mode: ro, path: src/a}, {mode: deny, path: other}]}"),
        ("{net: {allow: ['*.a.org']}}", "{net: {allow: ['x.a.org:443', '*.b.a.org']}}"),
        ("{limits: {pids: 5}}", "{limits: {pids: 5}}"),
    ],
)
def test_a_child_cage_within_its_parents_is_no_warning(tmp_path: Path, parent: str, cage: str) -> None:
    assert grandchild(tmp_path, parent, cage).diagnostics == ()


@pytest.mark.requirement("authorisation.variables")
@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("'{workspace}'", "."),
        ("'{workspace}/src/../lib'", "lib"),
        ("'{ad-hoc}'", "{ad-hoc}"),
        ("'{user-data}/./notes'", "{user-data}/notes"),
        ("'plain{x'", "plain{x"),
    ],
)
def test_known_variables_begin_a_path(tmp_path: Path, path: str, kept: str) -> None:
    cage = child(tmp_path, f"{{fs: [{{mode: rw, path: {path}}}]}}").require().root.children["child"].cage
    assert cage != "disabled"
    assert [mount.path for mount in cage.fs] == [kept]


@pytest.mark.requirement("authorisation.variables")
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("'{workspce}/src'", "unknown_variable"),
        ("'{HOME}'", "unknown_variable"),
        ("'src/{user}'", "unknown_variable"),
        ("'{}'", "unknown_variable"),
        ("'src/{workspace}'", "path_invalid"),
        ("'{workspace}src'", "path_invalid"),
        ("'{user-data}/../..'", "path_outside_project"),
        ("'{workspace}/../x'", "path_outside_project"),
    ],
)
def test_an_unknown_variable_is_an_error_at_its_place(tmp_path: Path, path: str, code: str) -> None:
    result = child(tmp_path, f"{{fs: [{{mode: ro, path: src}}, {{mode: ro, path: {path}}}]}}")
    (problem,) = result.diagnostics
    assert (problem.severity, problem.code) == ("error", code)
    assert problem.path == "primary.subagents.child.cage.fs[1].path"
    assert (problem.line, problem.column) == (8, 158)
    assert result.project is None


def test_a_typing_error_in_a_variable_is_answered_with_the_right_name(tmp_path: Path) -> None:
    (problem,) = child(tmp_path, "{fs: [{mode: ro, path: '{workspce}'}]}").diagnostics
    assert "did you mean `workspace`?" in problem.message


@pytest.mark.requirement("authorisation.variables")
def test_a_host_has_no_variables(tmp_path: Path) -> None:
    (problem,) = child(tmp_path, "{net: {allow: ['{workspace}:443']}}").diagnostics
    assert (problem.severity, problem.path) == ("error", "primary.subagents.child.cage.net.allow[0]")


def effective(root: Path, parent: str, cage: str) -> CageSpec:
    outer = grandchild(root, parent, cage).require().root.children["child"]
    inner = outer.children["x"].cage
    assert inner != "disabled"
    return inner


@pytest.mark.requirement("authorisation.read_cage", "authorisation.write_cage")
def test_below_a_caged_parent_nothing_is_granted_that_the_parent_lacks(tmp_path: Path) -> None:
    parent = (
        "{fs: [{mode: rw, path: .}, {mode: deny, path: keys}, {mode: ro, path: docs}],"
        " net: {allow: ['*.example.org:443', 'one.test']}, capabilities: [shell],"
        " limits: {pids: 10, memory_mb: 64}}"
    )
    cage = effective(
        tmp_path,
        parent,
        "{fs: [{mode: rw, path: keys/mine}, {mode: rw, path: docs}, {mode: ro, path: src}],"
        " net: {allow: ['api.example.org', 'one.test:80', 'evil.test']}, capabilities: [shell, exec],"
        " seccomp: relaxed, state: persistent, limits: {pids: 20, cpu_seconds: 5}}",
    )
    granted = {mount.path: mount.mode for mount in cage.fs}
    assert granted == {"keys/mine": "deny", "docs": "ro", "src": "ro", ".": "deny", "keys": "deny"}
    assert cage.net.allow == ["api.example.org:443", "one.test:80"]
    assert cage.capabilities == ["shell"]
    assert (cage.seccomp, cage.state) == ("default", "ephemeral")
    assert (cage.limits.pids, cage.limits.memory_mb, cage.limits.cpu_seconds) == (10, 64, 5)


def test_without_a_cage_of_its_own_a_child_has_its_parents(tmp_path: Path) -> None:
    cage = effective(tmp_path, "{fs: [{mode: ro, path: src}]}", "disabled")
    assert [(mount.mode, mount.path) for mount in cage.fs] == [("ro", "src")]


def test_a_narrower_host_of_the_parent_is_what_is_left(tmp_path: Path) -> None:
    cage = effective(tmp_path, "{net: {allow: ['api.example.org:443']}}", "{net: {allow: ['*.example.org']}}")
    assert cage.net.allow == ["api.example.org:443"]


STEERING = """\
version: 1
project: my-app
primary:
  model: smart
  system_prompt: prompts/root.md
  cage: disabled
  subagents:
    coder: {model: m, system_prompt: config:/coder.md, description: d, cage: {fs: [{mode: rw, path: .}]},
      tools: {read: {enabled: true}}}
    guest: {path: other, description: d}
lsp:
  servers: [{lang: toy, command: [python3, -u, ./tools/server.py, tools]}]
dap:
  adapters: [{runtime: toy, adapter: [node, adapter.js]}]
tasks:
  test: {command: "./run.sh tests/test_a.py"}
  ship: {command: "cd . && CI=1 env bash -e scripts/ship.sh main.py | tee log.txt"}
  serve: {command: [python3, -u, scripts/serve.py, main.py]}
  inner: {command: ./inner.sh, cwd: scripts}
workflows:
  ship: {description: d, system_prompt: prompts/ship.md}
"""
OTHER = """\
version: 1
project: other
primary: {model: m, system_prompt: prompts/own.md, cage: disabled, tools: {read: {enabled: true}}}
lsp:
  servers: [{lang: toy, command: [./serve.sh]}]
"""
STEERING_FILES = {
    "prompts/root.md": "r",
    "prompts/ship.md": "s",
    ".kaged/coder.md": "c",
    "tools/server.py": "",
    "adapter.js": "",
    "tests/test_a.py": "",
    "main.py": "",
    "scripts/ship.sh": "",
    "scripts/serve.py": "",
    "scripts/inner.sh": "",
    "other/.kaged/project.yaml": OTHER,
    "other/prompts/own.md": "o",
}
NAMED = [
    ("adapter.js", ".kaged/project.yaml"),
    ("other/prompts/own.md", "other/.kaged/project.yaml"),
    ("other/serve.sh", "other/.kaged/project.yaml"),
    ("prompts/root.md", ".kaged/project.yaml"),
    ("prompts/ship.md", ".kaged/project.yaml"),
    ("run.sh", ".kaged/project.yaml"),
    ("scripts/inner.sh", ".kaged/project.yaml"),
    ("scripts/serve.py", ".kaged/project.yaml"),
    ("scripts/ship.sh", ".kaged/project.yaml"),
    ("tools/server.py", ".kaged/project.yaml"),
]


@pytest.mark.requirement("security.declared_files")
def test_check_names_prompts_and_programs_that_lie_where_a_caged_agent_may_write(tmp_path: Path) -> None:
    root = write_project(tmp_path, STEERING, STEERING_FILES)
    result = compile_project(root, catalog=Catalog(), cautious=True)
    warnings = [one for one in result.diagnostics if one.code == "steering_file_writable"]
    assert sorted((one.message.split("`")[1], one.file) for one in warnings) == NAMED
    assert all("primary.subagents.coder may write" in one.message for one in warnings)
    assert [one.code for one in result.diagnostics if one not in warnings] == ["root_uncaged"]
    assert compile_project(root, catalog=Catalog()).diagnostics == ()


@pytest.mark.requirement("security.declared_files")
def test_check_looks_where_links_lead_to(tmp_path: Path) -> None:
    files = {**STEERING_FILES, "texts/root.md": "r"}
    del files["prompts/root.md"], files["prompts/ship.md"]
    text = STEERING.replace("path: .}]", "path: texts}]").replace("prompts/ship.md", "config:/coder.md")
    (tmp_path / "texts").mkdir()
    (tmp_path / "prompts").symlink_to("texts")
    root = write_project(tmp_path, text, files)
    result = compile_project(root, catalog=Catalog(), cautious=True)
    [warning] = [one for one in result.diagnostics if one.code == "steering_file_writable"]
    assert warning.message.startswith("`texts/root.md` lies where primary.subagents.coder may write")
    assert warning.line == text.splitlines().index("  system_prompt: prompts/root.md") + 1


@pytest.mark.requirement("security.declared_files")
def test_prompts_and_programs_are_read_only_in_every_cage_by_their_exact_paths(tmp_path: Path) -> None:
    project = compiled(tmp_path, STEERING, STEERING_FILES).require()
    coder = project.root.children["coder"]
    cage = cage_of(project, coder, tmp_path)
    assert cage is not None
    granted = FileGrants.of(cage["fs"], tmp_path)
    for path, _ in NAMED:
        assert granted.mode(tuple(path.split("/"))) == "ro", path
    for path in ("tools/other.py", "prompts/new.md", "tests/test_a.py", "other/main.py", "main.py"):
        assert granted.mode(tuple(path.split("/"))) == "rw", path
    assert sorted(cage["guarded"]) == sorted(path for path, _ in NAMED)
