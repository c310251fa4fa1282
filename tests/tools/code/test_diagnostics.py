"""Diagnostics by real servers: right, for the present content, and honest about what is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from app.tools.code import diagnostics
from tests.driver.language_servers import server_path
from tests.tools.code.conftest import code_desk
from tests.tools.code.projects import PYTHON, TYPESCRIPT


@pytest.fixture
def python(coding):
    server_path("pyright")
    coding.put_all(PYTHON)
    return coding


@pytest.fixture
def typescript(coding):
    server_path("typescript-language-server")
    coding.put_all(TYPESCRIPT)
    return coding


async def pid_of(desk, path: str) -> int | None:
    [server] = (await desk.lsp("status", path=path))["servers"]
    return server.get("pid")


@pytest.mark.requirement("language_servers.tool.spawn", "language_servers.tool.diagnostics")
async def test_server_spawn_on_demand(python):
    """Server spawn on demand: first code.lsp diagnostics call spawns the server, assert server process
    exists."""
    [before] = (await python.lsp("status", path="main.py"))["servers"]
    assert before["state"] == "installed" and "pid" not in before
    await python.lsp("diagnostics", path="main.py")
    [after] = (await python.lsp("status", path="main.py"))["servers"]
    # Diagnostics of a file do not wait until the whole project is loaded.
    assert after["state"] in {"starting", "ready"}
    assert after["memory_mb"] > 0 and after["open_documents"] == 1
    assert Path(f"/proc/{after['pid']}").exists()
    [spawned] = python.events("code.lsp.server_spawned")
    assert spawned["language"] == "python" and "pyright" in spawned["command"][0]


@pytest.mark.requirement("language_servers.tool.diagnostics")
async def test_diagnostics_returns_errors(typescript):
    """diagnostics returns errors: file with a type error, assert diagnostic with correct line/message."""
    data = await typescript.lsp("diagnostics", path="./src/main.ts", severity="error")
    assert data == {
        "path": "./src/main.ts",
        "diagnostics": [
            {
                "line": 5,
                "character": 17,
                "end_line": 5,
                "end_character": 21,
                "severity": "error",
                "message": "Property 'naem' does not exist on type 'User'.",
                "code": "ts(2339)",
                "source": "typescript",
            }
        ],
        "count": 1,
        "fresh": True,
    }


@pytest.mark.requirement("language_servers.tool.diagnostics")
async def test_severities_are_filtered(python):
    python.put("main.py", 'import os\nx: int = "a"\n\n\ndef f(unused: int) -> None: ...\n')
    found = {}
    for severity in ("error", "warning", "information", "hint", "all"):
        data = await python.lsp("diagnostics", path="main.py", severity=severity)
        assert data["fresh"] and data["count"] == len(data["diagnostics"])
        found[severity] = data["count"]
        assert severity == "all" or {one["severity"] for one in data["diagnostics"]} <= {severity}
    assert found["error"] == 1 and found["hint"] >= 1
    assert found["all"] == sum(count for severity, count in found.items() if severity != "all")


@pytest.mark.requirement("language_servers.tool.fresh")
async def test_file_sync(python):
    """File sync: agent edits a file via edit.text, then calls code.lsp diagnostics. Assert the
    diagnostics reflect the edit (not stale)."""
    assert (await python.lsp("diagnostics", path="main.py"))["count"] == 1
    await python.ok("file.read", path="main.py")
    for number in range(10):
        await python.ok("edit.text", path="main.py", old_string="answer: str", new_string="answer: int")
        clean = await python.lsp("diagnostics", path="main.py")
        assert (clean["count"], clean["fresh"]) == (0, True), number
        await python.ok("edit.text", path="main.py", old_string="answer: int", new_string="answer: str")
        wrong = await python.lsp("diagnostics", path="main.py")
        assert (wrong["count"], wrong["fresh"]) == (1, True), number
    await python.ok("file.read", path="shop/orders.py")
    await python.ok("edit.text", path="shop/orders.py", old_string="-> int", new_string="-> str")
    other = await python.lsp("diagnostics", path="shop/orders.py")
    assert [one["line"] for one in other["diagnostics"]] == [5]
    assert (await python.lsp("diagnostics", path="main.py"))["count"] == 0


@pytest.mark.requirement("language_servers.tool.folder")
async def test_a_folder_is_all_its_files_without_what_is_ignored(python):
    python.put(".gitignore", "build\n")
    python.put("build/bad.py", "x: int = 'a'\n")
    python.put("shop/bad.py", 'x: int = "a"\ny: str = 1\n')
    python.put("data.unknown", "x")
    data = await python.lsp("diagnostics", path=".", severity="error")
    assert [(one["path"], one["line"]) for one in data["diagnostics"]] == [
        ("./main.py", 3),
        ("./shop/bad.py", 1),
        ("./shop/bad.py", 2),
    ]
    assert (data["path"], data["count"], data["files"], data["fresh"]) == (".", 3, 5, True)
    below = await python.lsp("diagnostics", path="./shop", severity="error", limit=1)
    assert (below["count"], len(below["diagnostics"]), below["truncated"]) == (2, 1, True)


@pytest.mark.requirement("language_servers.tool.folder")
async def test_a_folder_says_which_languages_have_no_server(python):
    python.put("tool.lua", "x = 1\n")
    data = await python.lsp("diagnostics", path=".", severity="error")
    [missing] = data["not_fresh"]
    assert missing["language"] == "lua" and "Install it" in missing["reason"]
    assert data["fresh"] is False and data["count"] == 1 and "not" in data["note"]


@pytest.mark.requirement("language_servers.tool.folder", "language_servers.tool.errors")
async def test_a_folder_or_file_without_a_known_language_is_an_error(coding):
    coding.put("docs/readme.unknown", "x")
    coding.put("docs/empty/keep.unknown", "")
    for path in ("docs", "docs/readme.unknown", "docs/empty"):
        refused = await coding.refused("diagnostics", path=path)
        assert refused.code == "language_not_supported", path


@pytest.mark.requirement("language_servers.tool.errors")
async def test_a_server_that_is_not_installed_is_reported_with_how_to_install_it(coding):
    coding.put("tool.lua", "x = 1\n")
    for call in ({"action": "diagnostics"}, {"action": "hover", "line": 1, "character": 0}):
        refused = await coding.call("code.lsp", {"path": "tool.lua", **call})
        assert refused.code == "lsp_server_not_found"
        assert "lua-language-server" in refused.error_text and "nstall" in refused.error_text


@pytest.mark.requirement("language_servers.tool.folder")
async def test_a_folder_of_many_files_is_looked_at_within_its_bounds(python, monkeypatch):
    monkeypatch.setattr(diagnostics, "MOST_FILES", 0)
    python.put_all({f"many/part{number:03d}.py": f"x{number}: int = 'a'\n" for number in range(230)})
    data = await python.lsp("diagnostics", path="many", severity="error")
    assert data["files"] == 200 and data["truncated"] is True and "200 of 230" in data["note"]
    assert (data["count"], len(data["diagnostics"])) == (200, 100)


@pytest.mark.requirement("language_servers.tool.folder")
async def test_a_server_that_takes_one_file_at_a_time_is_given_one_at_a_time(coding):
    server_path("bash")
    coding.put_all({f"part{number}.sh": "#!/bin/bash\nif true; then\n" for number in range(4)})
    data = await coding.lsp("diagnostics", path=".")
    assert data["fresh"] is True and {one["path"] for one in data["diagnostics"]} == {
        f"./part{number}.sh" for number in range(4)
    }


@pytest.mark.requirement("language_servers.tool.python")
async def test_python_works_without_any_further_install(tmp_path):
    """With nothing but this installation: no server and no node on the PATH."""
    nothing = {"PATH": "/nonexistent", "HOME": str(tmp_path)}
    async with code_desk(tmp_path, environment=nothing) as desk:
        desk.put("a.py", 'x: int = "a"\n')
        data = await desk.lsp("diagnostics", path="a.py")
        assert (data["count"], data["fresh"]) == (1, True)
        [server] = (await desk.lsp("status", path="a.py"))["servers"]
        assert all(Path(part).is_relative_to(sys.prefix) for part in server["command"] if part[0] == "/")
