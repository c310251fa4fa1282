"""Is the project clean: a folder with more files than are asked about one by one."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from app.bridges.lsp.manager import Declarations, Declared
from app.tools.code import diagnostics
from tests.bridges.lsp.conftest import HOSTILE, QUICK
from tests.driver.language_servers import server_command, server_path
from tests.tools.code.conftest import CodeDesk, code_desk

pytestmark = pytest.mark.requirement("language_servers.tool.whole_project")
FILES = 30
WHOLE = {"analysis": {"diagnosticMode": "workspace"}}


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three files are asked about one by one, and no others. A busy machine takes its time."""
    monkeypatch.setattr("app.tools.code.call.SECONDS", 120.0)
    monkeypatch.setattr(diagnostics, "MAX_FILES", 3)
    monkeypatch.setattr(diagnostics, "MOST_FILES", 0)


@asynccontextmanager
async def python(base: Path, settings: dict[str, Any]) -> AsyncIterator[CodeDesk]:
    declared = Declared(language="python", command=server_command("basedpyright"), settings=settings)
    async with code_desk(base, declarations=Declarations(project=(declared,))) as desk:
        desk.put("pyproject.toml", "")
        desk.put_all({f"part{number:02d}/code.py": f"x{number}: int = 1\n" for number in range(FILES)})
        yield desk


async def folder(desk: CodeDesk) -> Any:
    return await desk.lsp("diagnostics", path=".", severity="error")


def wrong(data: Any) -> list[tuple[str, int]]:
    return [(one["path"], one["line"]) for one in data["diagnostics"]]


async def test_a_server_with_the_mode_looks_at_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.tools.code.whole_project.REPORT_SECONDS", 90.0)
    settings = {"python": WHOLE, "basedpyright": WHOLE}
    async with python(tmp_path, settings) as desk:
        clean = await folder(desk)
        assert clean.get("clean") is True, clean
        assert (clean["fresh"], clean["files"], clean["count"]) == (True, FILES, 0)
        assert not clean.keys() & {"not_looked_at", "truncated", "note"}
        # Columns are of the file's text, which no document has.
        desk.put("part20/code.py", "from part21.code import x21\n\n'🙂🙂'; y: str = x21\n")
        found = await folder(desk)
        assert wrong(found) == [("./part20/code.py", 3)] and found["clean"] is False
        [row] = found["diagnostics"]
        assert "'🙂🙂'; y: str = x21"[row["character"] : row["end_character"]] == "x21"
        desk.put("part21/code.py", "x21: str = 'a'\n")
        assert (await folder(desk))["clean"] is True


async def test_a_server_without_it_leaves_files_out_and_they_are_named(tmp_path: Path) -> None:
    async with python(tmp_path, {}) as desk:
        found = await folder(desk)
        assert (found["files"], found["fresh"], found["truncated"]) == (3, True, True)
        assert "clean" not in found
        assert sum(one["files"] for one in found["not_looked_at"]) == FILES - 3
        below = [one["path"] for one in found["not_looked_at"]]
        assert below == ["."]  # there are more folders than are named
        inner = await desk.lsp("diagnostics", path="part07")
        assert (inner["clean"], inner["files"]) == (True, 1)


async def test_more_files_are_asked_about_while_there_is_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnostics, "MOST_FILES", 20)
    async with python(tmp_path, {}) as desk:
        desk.put("part20/code.py", "x: int = 'a'\n")
        found = await folder(desk)
        assert found["files"] == 23 and wrong(found) == [("./part20/code.py", 1)]
        assert [(one["path"], one["files"]) for one in found["not_looked_at"]] == [
            (f"./part{number}", 1) for number in range(23, 30)
        ]
        monkeypatch.setattr(diagnostics, "SECONDS_FOR_OTHERS", 200.0)
        assert (await folder(desk))["files"] == 3


async def test_gopls_checks_all_packages_by_a_command(tmp_path: Path) -> None:
    server_path("gopls")
    async with code_desk(tmp_path) as desk:
        desk.put("go.mod", "module example.org/m\n\ngo 1.21\n")
        for number in range(12):
            desk.put(f"p{number:02d}/a.go", f"package p{number}\n\nfunc F() int {{ return {number} }}\n")
        clean = await folder(desk)
        assert (clean["clean"], clean["files"], clean["count"]) == (True, 12, 0)
        uses = 'package p9\n\nimport "example.org/m/p08"\n\nvar s string = p8.F()\n'
        desk.put("p09/b.go", uses)
        found = await folder(desk)
        assert wrong(found) == [("./p09/b.go", 5)] and (found["clean"], found["files"]) == (False, 13)
        desk.put("p08/a.go", 'package p8\n\nfunc F() string { return "" }\n')
        assert (await folder(desk))["clean"] is True
        # What the build for this system leaves out is named.
        desk.put("p10/a_windows.go", "package p10\n\nvar t string = 1\n")
        desk.put("p11/testdata/x/a.go", "package x\n\nvar t string = 1\n")
        left = await folder(desk)
        assert [(one["path"], one["files"]) for one in left["not_looked_at"]] == [
            ("./p10", 1),
            ("./p11/testdata/x", 1),
        ]
        assert "clean" not in left and left["files"] == 13


async def hostile(base: Path, *arguments: str) -> Any:
    command = (sys.executable, str(HOSTILE), "--log", str(base / "log"), "--pull", *arguments)
    declared = Declared(language="hostile", command=command, extensions=(".hostile",))
    async with code_desk(base, limits=QUICK, declarations=Declarations(project=(declared,))) as desk:
        desk.put_all({f"{number}.hostile": "bad\n" if number == 7 else "good\n" for number in range(9)})
        return await folder(desk)


@pytest.mark.parametrize("way", ["answer", "work"])
async def test_a_whole_answer_counts(tmp_path: Path, way: str) -> None:
    found = await hostile(tmp_path, "--project", way)
    assert (found["clean"], found["files"], wrong(found)) == (False, 9, [("./7.hostile", 1)])


@pytest.mark.parametrize("way", ["never", "parts", "refuse", "wrong"])
async def test_an_answer_that_does_not_end_is_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr("app.tools.code.whole_project.REPORT_SECONDS", 5.0)
    found = await hostile(tmp_path, "--project", way)
    assert (found["files"], found["truncated"]) == (3, True) and "clean" not in found
    [left] = found["not_looked_at"]
    assert (left["path"], left["files"]) == (".", 6)
    if way != "wrong":
        assert found["fresh"] is False and "whole answer" in found["not_fresh"][0]["reason"]
    assert wrong(found) == ([("./7.hostile", 1)] if way == "parts" else [])


async def test_where_the_files_can_be_asked_about_the_missing_answer_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.tools.code.whole_project.REPORT_SECONDS", 5.0)
    monkeypatch.setattr(diagnostics, "MOST_FILES", 100)
    found = await hostile(tmp_path, "--project", "never")
    assert (found["clean"], found["fresh"], found["files"]) == (False, True, 9)
