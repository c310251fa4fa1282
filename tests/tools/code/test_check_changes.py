"""The errors that are new since the last commit, by real servers and a real git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from app.tools.code import diagnostics
from tests.driver.language_servers import server_path
from tests.tools.code.conftest import CodeDesk, code_desk, of_agent

pytestmark = pytest.mark.requirement("language_servers.tool.check_changes")
COMMITTED = {
    "pyproject.toml": "",
    "shop/__init__.py": "",
    "shop/prices.py": "def total(prices: list[int]) -> int:\n    return sum(prices)\n\n\nold: str = 1\n",
    "shop/orders.py": "from shop.prices import total\n\nbill: int = total([1])\n",
    "shop/far.py": "wrong: int = 'x'\n",
}


def git(root: Path, *arguments: str) -> None:
    names = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *names, *arguments], cwd=root, check=True, capture_output=True)


def committed(desk: CodeDesk) -> CodeDesk:
    server_path("pyright")
    desk.put_all(COMMITTED)
    git(desk.root, "init", "-q")
    git(desk.root, "add", "-A")
    git(desk.root, "commit", "-qm", "first")
    return desk


def rows(data) -> list[tuple[str, int]]:
    return [(one["path"], one["line"]) for one in data["diagnostics"]]


async def test_errors_that_are_new_against_the_commit_in_changed_files_and_importers(coding):
    desk = committed(coding)
    clean = await desk.lsp("check_changes")
    assert (clean["clean"], clean["count"], clean["changed"]) == (True, 0, 0)
    # The old error moves down a line, a caller breaks, and a new file has an error.
    changed = COMMITTED["shop/prices.py"].replace("-> int", "-> str").replace("sum(", "str(sum(")
    desk.put("shop/prices.py", "# prices\n" + changed.replace("(prices)\n", "(prices))\n"))
    desk.put("shop/fresh.py", "new: int = 'x'\n")
    found = await desk.lsp("check_changes", path=".")
    assert rows(found) == [("./shop/fresh.py", 1), ("./shop/orders.py", 3)]
    assert (found["clean"], found["fresh"], found["changed"]) == (False, True, 2)
    assert len(desk.languages.project("prj_1", desk.root).running()) == 1  # the one for the commit is gone
    narrow = await desk.lsp("check_changes", path="shop/fresh.py")
    assert rows(narrow) == [("./shop/fresh.py", 1)]
    agent = of_agent(desk, ("ro", "shop"), ("deny", "shop/orders.py"))
    assert "orders" not in str(await agent.lsp("check_changes", path="shop"))
    desk.put("shop/prices.py", COMMITTED["shop/prices.py"])
    (desk.root / "shop/fresh.py").unlink()
    assert (await desk.lsp("check_changes"))["clean"] is True


async def test_a_file_that_is_gone_breaks_those_that_import_it(coding):
    desk = committed(coding)
    (desk.root / "shop/prices.py").unlink()
    found = await desk.lsp("check_changes")
    assert rows(found) == [("./shop/orders.py", 1)] and found["clean"] is False


async def test_without_a_commit_there_is_nothing_to_compare_with(coding):
    server_path("pyright")
    coding.put_all(COMMITTED)
    assert (await coding.refused("check_changes")).code == "no_commit"
    git(coding.root, "init", "-q")
    assert (await coding.refused("check_changes")).code == "no_commit"


async def test_no_filter_of_the_repository_is_run(coding, tmp_path):
    desk = committed(coding)
    script = desk.put("clean.sh", f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    script.chmod(0o755)
    desk.put(".gitattributes", "*.py filter=own\n")
    git(desk.root, "config", "filter.own.clean", f"{script}")
    git(desk.root, "config", "core.fsmonitor", f"{script}")
    desk.put("shop/far.py", "wrong: int = 'y'\n")
    assert (await desk.lsp("check_changes"))["changed"] >= 1
    assert not (tmp_path / "ran").exists()


@pytest.mark.requirement("language_servers.tool.folder")
async def test_a_folder_with_too_many_files_begins_with_those_that_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(diagnostics, "MAX_FILES", 2)
    monkeypatch.setattr(diagnostics, "MOST_FILES", 0)
    async with code_desk(tmp_path) as opened:
        desk = committed(opened)
        desk.put("shop/zeta.py", "new: int = 'x'\n")
        found = await desk.lsp("diagnostics", path=".", severity="error")
        assert ("./shop/zeta.py", 1) in rows(found) and "check_changes" in found["note"]
        assert (found["files"], found["truncated"], found["clean"]) == (2, True, False)
        assert sum(one["files"] for one in found["not_looked_at"]) == len(COMMITTED) - 2
