"""A change of a repository's index that was cut off is ended by the next daemon, beside locks of others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.errors import Conflict
from app.harness.git import index_change
from app.harness.git.index_change import IndexChange, end_changes
from app.workspace.repository import RepositoryFolders, repository_folders
from tests.driver.git_desk import git

pytestmark = pytest.mark.requirement("git.killed")


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RepositoryFolders:
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "ada@example.org")
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "a.txt").write_text("a\n")
    git(root, "add", "a.txt"), git(root, "commit", "-qm", "first")
    found = repository_folders(root)
    assert found is not None
    return found


def cut_off(folders: RepositoryFolders, notes: Path, *, moves_head: bool) -> IndexChange:
    """Begin a change that takes the file out of the index, as far as a killed daemon comes."""
    change = IndexChange(folders, notes, moves_head=moves_head)
    change.__enter__()
    environment = os.environ | {"GIT_INDEX_FILE": str(change.copy)}
    assert (
        os.spawnlpe(
            os.P_WAIT, "git", "git", "-C", str(folders.top), "rm", "-q", "--cached", "a.txt", environment
        )
        == 0
    )
    return change


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("moved", [True, False])
def test_a_change_that_was_cut_off_is_completed_only_after_head_has_moved(
    folders: RepositoryFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: bool, links: bool
) -> None:
    if not links:
        monkeypatch.setattr(
            index_change.os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(1, "no"))
        )
    notes = tmp_path / "notes"
    cut_off(folders, notes, moves_head=True)
    with pytest.raises(Conflict) as refused, IndexChange(folders, notes):
        pass
    assert refused.value.details["reason"] == "index_locked"
    assert (folders.own / "index.lock").exists()  # the refused one did not take it along
    if moved:
        git(
            folders.top,
            "update-ref",
            "refs/heads/main",
            git(folders.top, "commit-tree", "-m", "x", "HEAD^{tree}").strip(),
        )
    (folders.own / "HEAD.lock").touch()
    (folders.common / "refs" / "heads" / "main.lock").touch()
    end_changes(notes)
    assert bool(git(folders.top, "ls-files")) is not moved
    left = [path.name for path in folders.own.rglob("*") if path.suffix == ".lock" or "kaged" in path.name]
    assert (left, os.listdir(notes)) == ([], [])
    git(folders.top, "add", "a.txt")


def test_locks_of_others_stay_when_a_change_is_ended(folders: RepositoryFolders, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    cut_off(folders, notes, moves_head=True)
    (folders.own / "index.lock").unlink()  # somebody has taken ours away, and works
    (folders.own / "index.lock").write_text("of somebody else")
    git(
        folders.top,
        "update-ref",
        "refs/heads/main",
        git(folders.top, "commit-tree", "-m", "x", "HEAD^{tree}").strip(),
    )
    (folders.own / "HEAD.lock").touch()
    end_changes(notes)
    assert (folders.own / "index.lock").read_text() == "of somebody else"
    assert (folders.own / "HEAD.lock").exists()
    assert git(folders.top, "ls-files") == "a.txt\n"
    assert os.listdir(notes) == []
    for note in ("{", "{}", '{"own": "/nonexistent", "common": "/nonexistent", "top": "/nonexistent"}'):
        (notes / "kaged-0.json").write_text(note)
        end_changes(notes)
        assert os.listdir(notes) == []
