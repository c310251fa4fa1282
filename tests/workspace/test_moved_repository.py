"""The workspaces of a project that was moved go on borrowing from its repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from app.workspace.moved_repository import follow_repository
from app.workspace.repository import alternate
from tests.driver.workspaces import git

pytestmark = pytest.mark.requirement("workspaces.apart")


@pytest.mark.parametrize("name", ["shop", "lädchen"])
@pytest.mark.parametrize("prefix", ["", "packages/one"])
def test_a_workspace_finds_its_commits_where_the_repository_is_now(
    tmp_path: Path, name: str, prefix: str
) -> None:
    top, moved = tmp_path / name, tmp_path / "elsewhere" / f"{name}s"
    (top / "packages" / "one").mkdir(parents=True)
    (top / "packages" / "one" / "a.py").write_text("a\n")
    git(top, "init", "-q"), git(top, "add", "-A"), git(top, "commit", "-qm", "first")
    folder = tmp_path / "data" / "workspaces" / "prj_a" / "wks_a"
    folder.mkdir(parents=True)
    for place in ("tree", "git"):
        git(folder, "clone", "-q", "--shared", str(top), place)
    (folder / "git" / ".git").rename(folder / "own"), (folder / "git" / "packages" / "one" / "a.py").unlink()
    subprocess.run(["rm", "-r", folder / "git"], check=True)
    (folder / "own").rename(folder / "git")
    for info in (folder / "tree" / ".git" / "objects" / "info", folder / "git" / "objects" / "info"):
        (info / "alternates").write_bytes(alternate(top / ".git" / "objects"))
    git(folder / "tree", "log", "-1", "HEAD")
    moved.parent.mkdir()
    top.rename(moved)
    for _ in range(2):
        follow_repository(tmp_path / "data", "prj_a", top / prefix, moved / prefix)
        assert git(folder / "tree", "status", "--porcelain") == ""
        assert git(folder / "git", "show", "HEAD:packages/one/a.py") == "a"
