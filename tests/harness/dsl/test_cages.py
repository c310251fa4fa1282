"""Cages: their shape, their paths, and the warning when a child's grants more than its parent's."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.harness.dsl.compiler import CompileResult
from tests.harness.dsl.projects import MINIMAL, codes, compiled, found

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
        "outside": "mark",
    }


def test_the_root_agent_is_not_caged_yet(tmp_path: Path) -> None:
    result = compiled(tmp_path, MINIMAL.replace("disabled", "{fs: []}"))
    assert found(result) == [("root_cage", 6, 9, "primary.cage")]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/etc", "path_outside_project"),
        ("~/.ssh", "path_outside_project"),
        ("../other", "path_outside_project"),
        ("src/../../other", "path_outside_project"),
        ('"a\\0b"', "path_nul"),
        ("file:///etc", "path_invalid"),
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
        ("disabled", "{fs: [{mode: rw, path: .}], net: {allow: ['*.org']}}"),
        ("{fs: [{mode: rw, path: src}]}", "{fs: [{mode: ro, path: src/a}, {mode: deny, path: other}]}"),
        ("{net: {allow: ['*.a.org']}}", "{net: {allow: ['x.a.org:443', '*.b.a.org']}}"),
        ("{limits: {pids: 5}}", "{limits: {pids: 5}}"),
    ],
)
def test_a_child_cage_within_its_parents_is_no_warning(tmp_path: Path, parent: str, cage: str) -> None:
    assert grandchild(tmp_path, parent, cage).diagnostics == ()
