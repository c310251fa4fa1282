"""A rename that would leave errors is refused before anything is written, until it is confirmed."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from app.bridges.lsp import server_behaviours
from app.bridges.lsp.language_entry import Behaviour
from app.bridges.lsp.manager import Declarations, Declared
from app.tools.code import concerned, rename_check
from tests.driver.language_servers import server_command
from tests.tools.code.conftest import CodeDesk, code_desk, of_agent
from tests.tools.code.families import (
    COLLIDING_PYTHON,
    INHERITED_PYTHON,
    NESTED_GO,
    ONE_PACKAGE_GO,
    STRUCTURAL_GO,
    STRUCTURAL_PYTHON,
    STRUCTURAL_TYPESCRIPT,
)
from tests.tools.code.scripted_server import ALL
from tests.tools.code.test_hostile_answers import edit, edits, scripted

WEIGH = {"path": "depot/scales.py", "line": 5, "symbol": "weigh", "new_name": "heft"}
LIFT = {"path": "cranes.py", "symbol": "Crane.lift", "new_name": "hoist"}
WEIGH_TS = {"path": "src/scales.ts", "line": 2, "symbol": "weigh", "new_name": "heft"}
WEIGH_GO = {"path": "scale/scale.go", "line": 3, "symbol": "Weigh", "new_name": "Heft"}
FAMILIES = {
    "pyright-structural": ("pyright", "python", STRUCTURAL_PYTHON, WEIGH, "./depot/yard.py:4"),
    "basedpyright-structural": ("basedpyright", "python", STRUCTURAL_PYTHON, WEIGH, "./depot/yard.py:4"),
    "pyright-inherited": ("pyright", "python", INHERITED_PYTHON, LIFT, "./big.py:9"),
    "pyright-colliding": ("pyright", "python", COLLIDING_PYTHON, LIFT, "./big.py:5"),
    "typescript-structural": (
        *("typescript-language-server", "typescript", STRUCTURAL_TYPESCRIPT, WEIGH_TS, "./src/yard.ts:4"),
    ),
    "typescript-7-structural": (
        *("typescript-7", "typescript", STRUCTURAL_TYPESCRIPT, WEIGH_TS, "./src/yard.ts:4"),
    ),
    "go-structural": ("gopls", "go", STRUCTURAL_GO, WEIGH_GO, "./yard/yard.go:8"),
    "go-one-package": ("gopls", "go", ONE_PACKAGE_GO, WEIGH_GO, "./scale/full.go:5"),
}
SOURCES = (".py", ".ts", ".go")


@pytest.fixture(autouse=True)
def time_enough(monkeypatch):
    """A busy machine does not decide what a test shows."""
    monkeypatch.setattr(rename_check, "SECONDS", 60.0)
    monkeypatch.setattr(concerned, "SEARCH_SECONDS", 60.0)


@asynccontextmanager
async def opened(base: Path, server: str, language: str, files: Mapping[str, str]) -> AsyncIterator[CodeDesk]:
    declared = Declared(language=language, command=server_command(server))
    async with code_desk(base, declarations=Declarations(project=(declared,))) as desk:
        desk.put_all(files)
        yield desk


@pytest.mark.requirement("language_servers.tool.rename_checked")
@pytest.mark.parametrize("family", FAMILIES)
async def test_a_rename_that_leaves_an_error_is_refused_until_it_is_confirmed(tmp_path, family):
    """After the refusals the server has the files as they are on disk."""
    server, language, files, asked, place = FAMILIES[family]
    async with opened(tmp_path, server, language, files) as desk:
        refused = await desk.refused("rename", **asked)
        assert refused.code == "rename_leaves_errors" and f"{place}: " in refused.error_text
        assert refused.detail["count"] == len(refused.detail["new_errors"]) == 1
        assert {path: desk.text(path) for path in files} == files
        for wrong in (True, "0" * 16):
            assert (await desk.refused("rename", **asked, confirm=wrong)).code == "rename_leaves_errors"
        for path in (path for path in files if path.endswith(SOURCES)):
            now = await desk.lsp("diagnostics", path=path, severity="error")
            assert now["fresh"] and now["count"] == ("apart" in path)
        done = await desk.lsp("rename", **asked, confirm=refused.detail["confirm"])
        assert asked["new_name"] in desk.text(asked["path"]) and "note" not in done
        now = await desk.lsp("diagnostics", path=place.partition(":")[0], severity="error")
        assert now["fresh"] and now["count"] == 1


ERRONEOUS = {
    **STRUCTURAL_PYTHON,
    "depot/yard.py": "from depot.scales import Scale\n\n\ndef use(one: Scale) -> int:\n"
    "    one.weigh('two')\n    return one.weigh()\n",
}


@pytest.mark.requirement("language_servers.tool.rename_checked")
async def test_errors_that_were_there_before_stop_nothing_though_they_name_the_symbol(tmp_path):
    async with opened(tmp_path, "pyright", "python", ERRONEOUS) as desk:
        before = await desk.lsp("diagnostics", path="depot/yard.py", severity="error")
        assert before["count"] == 2 and "weigh" in before["diagnostics"][0]["message"]
        done = await desk.lsp("rename", **WEIGH)
        assert done["total_edits"] == 4 and "note" not in done
        after = await desk.lsp("diagnostics", path="depot/yard.py", severity="error")
        assert after["count"] == 2 and "heft" in after["diagnostics"][0]["message"]


@pytest.mark.requirement("language_servers.tool.rename_checked")
async def test_a_file_that_changed_meanwhile_is_checked_as_it_is(tmp_path):
    async with opened(tmp_path, "pyright", "python", STRUCTURAL_PYTHON) as desk:
        assert (await desk.refused("rename", **WEIGH)).code == "rename_leaves_errors"
        desk.put("depot/iron.py", "def weigh() -> int:\n    return 1\n\n\nIron = int\n")
        desk.put("depot/yard.py", "from depot.iron import weigh\n\nfull = weigh()\n")
        assert "note" not in await desk.lsp("rename", **WEIGH)


@pytest.mark.requirement("language_servers.tool.rename_checked")
async def test_two_refusals_are_confirmed_together(tmp_path):
    async with opened(tmp_path, "gopls", "go", NESTED_GO) as desk:
        unseen = await desk.refused("rename", **WEIGH_GO)
        assert unseen.code == "rename_incomplete"
        left = await desk.refused("rename", **WEIGH_GO, confirm=unseen.detail["confirm"])
        assert left.code == "rename_leaves_errors" and "./scale/yard/yard.go:8: " in left.error_text
        done = await desk.lsp("rename", **WEIGH_GO, confirm=left.detail["confirm"])
        assert done["files_changed"] == 1


@pytest.mark.requirement("language_servers.tool.rename_checked", "language_servers.monorepos.cage")
@pytest.mark.parametrize("outside", ["mark", "none"])
async def test_a_caged_agent_reads_no_words_about_what_it_may_not_read(tmp_path, outside):
    async with opened(tmp_path, "pyright", "python", STRUCTURAL_PYTHON) as desk:
        agent = of_agent(desk, ("rw", "depot/scales.py"), ("rw", "depot/iron.py"), outside=outside)
        refused = await agent.refused("rename", **WEIGH)
        assert refused.code == "rename_leaves_errors" and "Iron" not in refused.error_text
        assert ("depot/yard.py:4" in refused.error_text) is (outside == "mark")
        assert ("1 in files that may not be named" in refused.error_text) is (outside == "none")
        assert (await agent.lsp("rename", **WEIGH, confirm=refused.detail["confirm"]))["files_changed"] == 1


@pytest.mark.requirement("language_servers.tool.rename_checked")
async def test_a_server_without_an_answer_stops_nothing_and_the_answer_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(rename_check, "SECONDS", 0.3)
    quiet = Behaviour(freshness="pull", previews=True)
    monkeypatch.setitem(server_behaviours.BEHAVIOURS, Path(sys.executable).name, quiet)
    answers = {
        "textDocument/rename": {"documentChanges": [edits("a.scr", edit(0, 0, 5, "gamma"))]},
        "textDocument/diagnostic": {"$never": True},
    }
    offered = {**ALL, "diagnosticProvider": {"interFileDependencies": True, "workspaceDiagnostics": False}}
    async with scripted(tmp_path, answers, capabilities=offered) as desk:
        done = await desk.lsp("rename", path="a.scr", line=1, character=0, new_name="gamma")
        assert done["note"].startswith("The rename was not checked for new errors")
        assert desk.text("a.scr").startswith("gamma")
