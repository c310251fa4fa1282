"""The servers' lives as an agent sees them: crash, idleness, reload, code actions of real ones."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from app.bridges.lsp.manager import Declarations, Declared, ServerLimits
from tests.driver.language_servers import PATIENT, server_command, server_path
from tests.tools.code.conftest import DEADLINE, code_desk
from tests.tools.code.projects import PYTHON, TYPESCRIPT


async def until(holds, what: str) -> None:
    deadline = time.monotonic() + DEADLINE
    while not holds():
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.02)


async def server_of(desk, path: str) -> dict:
    [server] = (await desk.lsp("status", path=path))["servers"]
    return server


@pytest.mark.requirement("language_servers.tool.crash")
async def test_server_crash_recovery(coding):
    """Server crash recovery: kill the language server mid-request. Assert the bridge restarts it and
    the next call succeeds."""
    server_path("pyright")
    coding.put_all(PYTHON)
    await coding.lsp("diagnostics", path="main.py")
    pid = (await server_of(coding, "main.py"))["pid"]
    asking = asyncio.create_task(coding.call("code.lsp", action="diagnostics", path="."))
    await asyncio.sleep(0)
    os.kill(pid, signal.SIGKILL)
    during = await asking
    assert during.type == "output" or during.code == "lsp_server_unavailable"
    after = await coding.lsp("diagnostics", path="main.py")
    assert (after["count"], after["fresh"]) == (1, True)
    assert (await server_of(coding, "main.py"))["pid"] != pid
    assert len(coding.events("code.lsp.server_crashed")) == 1


@pytest.mark.requirement("language_servers.tool.idle")
async def test_idle_timeout(tmp_path):
    """Idle timeout: call code.lsp diagnostics, wait 10+ minutes, call again. Assert server was stopped
    and re-spawned. (The ten minutes are some seconds here.)"""
    server_path("pyright")
    assert ServerLimits().idle_seconds == 600
    async with code_desk(tmp_path, limits=replace(PATIENT, idle_seconds=3.0, look_seconds=0.1)) as desk:
        desk.put_all(PYTHON)
        await desk.lsp("diagnostics", path="main.py")
        assert len(desk.events("code.lsp.server_spawned")) == 1
        await until(lambda: desk.events("code.lsp.server_stopped"), "the server was not stopped")
        assert desk.events("code.lsp.server_stopped")[0]["reason"] == "idle_timeout"
        assert (await server_of(desk, "main.py"))["state"] == "stopped"
        found = await desk.lsp("diagnostics", path="main.py")
        assert (found["count"], found["fresh"]) == (1, True), found
        assert len(desk.events("code.lsp.server_spawned")) == 2


@pytest.mark.requirement("language_servers.tool.status")
async def test_status_shows_what_is_installed_and_what_is_not(coding):
    server_path("pyright")
    data = await coding.lsp("status")
    states = {one["language"]: one for one in data["servers"]}
    assert data["count"] == len(states) >= 20
    assert states["python"]["state"] == "installed" and states["python"]["source"] == "built-in"
    assert states["lua"]["state"] == "configured" and "nstall" in states["lua"]["problem"]
    nothing = await coding.lsp("capabilities")
    assert nothing["count"] == 0 and "No server runs" in nothing["note"]


@pytest.mark.requirement("language_servers.tool.status")
async def test_reload_restarts_the_server(coding):
    server_path("pyright")
    coding.put_all(PYTHON)
    await coding.lsp("diagnostics", path="main.py")
    pid = (await server_of(coding, "main.py"))["pid"]
    assert (await coding.lsp("reload", path="main.py"))["reloaded"] == ["python"]
    assert not Path(f"/proc/{pid}").exists()
    assert (await server_of(coding, "main.py"))["state"] == "stopped"
    assert (await coding.lsp("hover", path="main.py", line=3, symbol="bill"))["content"]
    assert (await coding.lsp("reload"))["reloaded"] == ["python"]
    coding.put("a.unknown", "")
    assert (await coding.refused("reload", path="a.unknown")).code == "language_not_supported"


@pytest.mark.requirement("language_servers.tool.code_actions")
async def test_code_actions_are_listed_with_edits_that_can_be_made(coding):
    server_path("typescript-language-server")
    coding.put_all(TYPESCRIPT)
    coding.put("src/main.ts", TYPESCRIPT["src/main.ts"].replace("naem", "nam"))
    data = await coding.lsp("code_actions", path="src/main.ts", line=5, symbol="nam")
    first = data["actions"][0]
    assert (first["title"], first["kind"], first["preferred"]) == (
        "Change spelling to 'name'", "quickfix", True,
    )  # fmt: skip
    [edit] = first["edits"]
    assert (edit["path"], edit["line"], edit["character"]) == ("./src/main.ts", 5, 17)
    assert (edit["old"], edit["new"]) == ("nam", "name")
    assert all(one["title"] for one in data["actions"]) and data["count"] == len(data["actions"])
    assert any("disabled" in one for one in data["actions"])
    assert any(one.get("command") for one in data["actions"])
    plain = await coding.lsp(
        "code_actions", path="src/main.ts", line=5, symbol="nam", include_diagnostics=False
    )
    assert "quickfix" not in {one.get("kind") for one in plain["actions"]}
    whole = await coding.lsp("code_actions", path="src/main.ts", line=5)
    assert whole["actions"][0]["title"] == first["title"]
    assert coding.text("src/main.ts") == TYPESCRIPT["src/main.ts"].replace("naem", "nam")


@pytest.mark.requirement("language_servers.tool.code_actions")
async def test_what_an_action_inserts_can_be_carried_out_by_edit_text(coding):
    """An insertion replaces nothing, which no tool can find in a file: it is shown with its line."""
    server_path("typescript-language-server")
    coding.put_all(TYPESCRIPT)
    coding.put("src/reckoning.ts", "export function reckoning(x: number) {\n  return x;\n}\n")
    use = "reckoning(1);\n\nlet other = 1;\n"
    coding.put("src/use.ts", use)
    actions = (await coding.lsp("code_actions", path="src/use.ts", line=1, symbol="reckoning"))["actions"]
    chosen = {one["title"]: one["edits"] for one in actions if one.get("edits")}
    titles = ('Add import from "./reckoning"', "Add missing function declaration 'reckoning'")
    for [edit] in (chosen[title] for title in titles):
        coding.put("src/use.ts", use)
        await coding.ok("file.read", path="src/use.ts")
        await coding.ok("edit.text", path=edit["path"], old_string=edit["old"], new_string=edit["new"])
        assert (await coding.lsp("diagnostics", path="src/use.ts", severity="error"))["count"] == 0
        assert "reckoning(1);\n" in coding.text("src/use.ts") and "let other" in coding.text("src/use.ts")


@pytest.mark.requirement("language_servers.tool.errors")
async def test_what_a_server_cannot_do_is_reported_with_its_name(coding):
    server_path("pyright")
    coding.put_all(PYTHON)
    refused = await coding.refused("implementation", path="main.py", line=3, symbol="bill")
    assert refused.code == "action_not_supported"
    assert refused.detail["capability"] == "textDocument/implementation"
    assert "pyright" in refused.error_text


@pytest.mark.requirement("language_servers.tool.rename")
async def test_python_symbols_are_renamed_too(coding):
    server_path("pyright")
    coding.put_all(PYTHON)
    data = await coding.lsp("rename", path="shop/prices.py", line=1, symbol="total", new_name="sum_of")
    assert (data["total_edits"], data["files_changed"]) == (3, 2)
    assert coding.text("shop/orders.py") == PYTHON["shop/orders.py"].replace("total", "sum_of")


@pytest.mark.requirement("language_servers.tool.rename", "language_servers.ready.references")
@pytest.mark.parametrize("server", ["pyright", "basedpyright"])
async def test_the_first_question_may_be_the_rename_of_an_imported_name(tmp_path, server):
    """Before the server has found the project's files it takes the name for one of a library."""
    declared = Declared(language="python", command=server_command(server))
    async with code_desk(tmp_path, declarations=Declarations(local=(declared,))) as desk:
        desk.put_all(PYTHON)
        data = await desk.lsp("rename", path="main.py", line=1, symbol="bill", new_name="invoice")
        assert (data["total_edits"], data["files_changed"]) == (3, 2)
        assert desk.text("main.py") == PYTHON["main.py"].replace("bill", "invoice")


@pytest.mark.requirement("language_servers.tool.rename", "language_servers.positions.encodings")
@pytest.mark.parametrize("encoding", ["utf-8-sig", "gb18030"])
@pytest.mark.parametrize("server", ["pyright", "basedpyright"])
async def test_files_that_the_server_would_read_otherwise_are_renamed_too(tmp_path, server, encoding):
    """Read from disk by the server, a byte order mark is a character and a Chinese one is several."""
    declared = Declared(language="python", command=server_command(server))
    text = "thing = '你好，世界。这是中文。', 1; print(thing)\n"
    async with code_desk(tmp_path, declarations=Declarations(local=(declared,))) as desk:
        desk.put("other.py", text.encode(encoding))
        desk.put("use.py", "from other import thing\nprint(thing)\n")
        data = await desk.lsp("rename", path="use.py", line=2, symbol="thing", new_name="words")
        assert (data["total_edits"], data["files_changed"]) == (4, 2)
        assert (desk.root / "other.py").read_bytes() == text.replace("thing", "words").encode(encoding)
        assert desk.text("use.py") == "from other import words\nprint(words)\n"


@pytest.mark.requirement("language_servers.tool.references")
async def test_references_of_a_bash_function_are_without_its_declaration(coding):
    """The server says that it begins at the word `function`, before its name."""
    server_path("bash")
    coding.put("run.sh", "#!/bin/bash\nfunction greet {\n  echo hi\n}\ngreet\n")
    asked = {"path": "run.sh", "line": 5, "symbol": "greet"}
    for wanted, lines in ((False, [5]), (True, [2, 5])):
        found = await coding.lsp("references", **asked, include_declaration=wanted)
        assert [one["line"] for one in found["references"]] == lines
