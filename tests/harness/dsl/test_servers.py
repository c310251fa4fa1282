"""MCP servers in a project file: their declaration, what agents name of them, and what trust asks about."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.harness.dsl.acts import ActReader
from app.harness.dsl.compiled import CompiledProject
from app.harness.dsl.widening import compare
from tests.driver.project_files import MINIMAL, compiled, found

pytestmark = pytest.mark.requirement("mcp.client.declarations")

SERVER = "mcp:\n  notes:\n    command: [python3, tools/notes.py]\n"


def project(root: Path, text: str) -> CompiledProject:
    return compiled(root, MINIMAL + text, {"tools/notes.py": "pass"}).require()


def acts(before: CompiledProject, after: CompiledProject) -> list[tuple[str, str, str | None]]:
    changed = (act for act in compare(before, ActReader(after)) if act.change is not None)
    return [(act.kind, act.text, act.change) for act in changed]


def test_a_server_reads_the_project_unless_it_says_otherwise(tmp_path: Path) -> None:
    whole = project(tmp_path, SERVER)
    cage = whole.mcp["notes"].cage
    assert cage != "disabled"
    assert [(one.mode, one.path) for one in cage.fs] == [("ro", ".")]
    assert cage.net.allow == []
    assert "tools/notes.py" in whole.guarded_files


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("mcp:\n  notes: {}\n", "missing_key"),
        ("mcp:\n  notes: { command: [a], url: 'https://example.org' }\n", "missing_key"),
        ("mcp:\n  web: { command: [a] }\n", "server_reserved"),
        ("mcp:\n  Bad: { command: [a] }\n", "invalid_value"),
        ("mcp:\n  notes: { url: 'ftp://example.org' }\n", "invalid_value"),
        (
            "mcp:\n  notes: { command: [a], cage: { fs: [{ mode: ro, path: ../x }] } }\n",
            "path_outside_project",
        ),
    ],
    ids=["neither", "both", "reserved", "name", "scheme", "path"],
)
def test_a_wrong_declaration_is_an_error(tmp_path: Path, text: str, code: str) -> None:
    result = compiled(tmp_path, MINIMAL + text)
    assert code in [one[0] for one in found(result)]


def test_agents_name_tools_of_servers_that_are_known(tmp_path: Path) -> None:
    tools = "  tools:\n    notes_*: { enabled: true }\n    nodes_*: { enabled: true }\n"
    result = compiled(tmp_path, MINIMAL + tools + SERVER)
    warned = [one.message for one in result.warnings if one.code == "tool_unmatched"]
    assert len(warned) == 1
    assert "nodes_*" in warned[0]
    assert set(result.require().root.plugin_tools) == {"notes_*", "nodes_*"}


def test_trust_asks_about_what_a_server_adds_and_not_about_less(tmp_path: Path) -> None:
    none = project(tmp_path, "")
    plain = project(tmp_path, SERVER)
    asked = acts(none, plain)
    assert ("program", "python3 tools/notes.py", "added") in asked
    assert ("grant", "ro on `.`", "added") in asked
    assert acts(plain, none) == []
    wider = project(tmp_path, SERVER + "    env: { A: b }\n    cage: { fs: [{ mode: rw, path: . }] }\n")
    assert {one[0] for one in acts(plain, wider)} == {"environment", "grant"}
    assert acts(wider, plain) == []
    hidden = "    cage: { fs: [{ mode: ro, path: . }, { mode: deny, path: secret }] }\n"
    assert acts(project(tmp_path, SERVER + hidden), plain) == [("grant", "ro on `secret`", "added")]
    address = project(tmp_path, "mcp:\n  notes: { url: 'https://example.org/mcp' }\n")
    assert ("host", "https://example.org/mcp", "added") in acts(plain, address)
