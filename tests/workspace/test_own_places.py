"""Of the daemon's folder a workspace is open to who works in it, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.errors import ToolError
from app.workspace import Workspace
from app.workspace.own_places import clone_around, workspace_folder

pytestmark = pytest.mark.requirement("workspace.roots")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    for folder in (
        "workspaces/p/w/tree",
        "workspaces/p/w/tree/part",
        "workspaces/p/other",
        "worktrees/a/b/c",
    ):
        (data / folder).mkdir(parents=True, exist_ok=True)
        (data / folder / "file").write_text("text")
    (data / "token").write_text("secret")
    (data / "workspaces" / "p" / "w" / "tree" / ".git").mkdir()
    return data


@pytest.mark.parametrize("root", ["workspaces/p/w/tree", "workspaces/p/w/tree/part"])
def test_who_works_in_a_workspace_uses_its_files_alone(data: Path, root: str) -> None:
    folder = data / root
    workspace = Workspace(folder, closed=(data,))
    with workspace.open("file") as opened:
        assert opened.parts == ("file",)
    with workspace.target("new") as target:
        target.create(b"new")
    os.link(folder / "file", folder / "second")
    with workspace.open("second"):
        pass
    os.link(data / "token", folder / "innocent")
    (folder / "link").symlink_to(data / "token")
    for path in (
        "innocent",
        "link",
        "../../../../token",
        str(data / "token"),
        f"{data}/workspaces/p/other/file",
    ):
        with pytest.raises(ToolError), workspace.open(path):
            pass


@pytest.mark.parametrize("root", ["worktrees/a/b/c", "workspaces", "workspaces/p", "."])
def test_other_folders_of_the_daemon_stay_closed_whatever_works_there(data: Path, root: str) -> None:
    workspace = Workspace(data / root, closed=(data,))
    with pytest.raises(ToolError, match="belongs to the daemon"), workspace.open("file"):
        pass
    with pytest.raises(ToolError, match="belongs to the daemon"), workspace.target("new"):
        pass


def test_a_workspace_and_its_clone_are_found_below_the_daemons_folder(data: Path, tmp_path: Path) -> None:
    tree = data / "workspaces" / "p" / "w" / "tree"
    assert workspace_folder(tree / "part", (data,)) == tree.parent
    assert clone_around(tree / "part", (data,)) == tree
    assert clone_around(data / "workspaces" / "p" / "other", (data,)) is None
    assert workspace_folder(tree, (tmp_path / "elsewhere",)) is None
    assert workspace_folder(data / "workspaces" / "p", (data,)) is None
