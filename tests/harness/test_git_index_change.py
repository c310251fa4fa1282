"""A change of a repository's index that was cut off is ended by the next daemon, beside locks of others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.errors import Conflict
from app.harness.git import index_change
from app.harness.git.index_change import IndexChange, end_changes, end_changes_at
from app.workspace.repository import RepositoryFolders, repository_folders
from tests.driver.git_desk import git
from tests.driver.sessions import Driver

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
    change = IndexChange(folders, folders.top, notes, moves_head=moves_head)
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
    with pytest.raises(Conflict) as refused, IndexChange(folders, folders.top, notes):
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


KILLED = """
import os, signal, sys
from pathlib import Path
from app.harness.git.index_change import IndexChange
from app.workspace.repository import repository_folders
root, notes = map(Path, sys.argv[1:])
change = IndexChange(repository_folders(root), root, notes, moves_head=True)
change.__enter__()
os.environ["GIT_INDEX_FILE"] = str(change.copy)
os.spawnlp(os.P_WAIT, "git", "git", "-C", str(root), "rm", "-q", "--cached", "a.txt")
os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_owner(root: Path, notes: Path) -> None:
    """Have another process begin a change, and be killed."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(root), str(notes)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (root / ".git" / "index.lock").exists()


@pytest.mark.parametrize("moved", [True, False])
def test_another_daemon_ends_the_change_of_a_killed_owner(
    folders: RepositoryFolders, tmp_path: Path, moved: bool
) -> None:
    killed_owner(folders.top, tmp_path / "elsewhere")
    if moved:
        commit = git(folders.top, "commit-tree", "-m", "x", "HEAD^{tree}").strip()
        git(folders.top, "update-ref", "refs/heads/main", commit)
    (folders.own / "HEAD.lock").touch()
    end_changes_at(folders.top)
    assert bool(git(folders.top, "ls-files")) is not moved
    assert not [path for path in folders.own.iterdir() if path.suffix == ".lock" or "kaged" in path.name]
    git(folders.top, "add", "a.txt")
    end_changes(tmp_path / "elsewhere")  # the killed one starts again
    assert os.listdir(tmp_path / "elsewhere") == []


def test_another_daemon_leaves_locks_of_programs_that_work_and_of_other_projects(
    folders: RepositoryFolders, tmp_path: Path
) -> None:
    with IndexChange(folders, folders.top, tmp_path / "notes"):
        end_changes_at(folders.top)
        assert (folders.own / "index.lock").exists()
    killed_owner(folders.top, tmp_path / "elsewhere")
    (mark,) = folders.own.glob("kaged-*.lock")
    said = mark.read_text()
    for other in (json.dumps({**json.loads(said), "root": "/another"}), "{", "[]", "{}", '{"root": 1}'):
        mark.write_text(other)
        end_changes_at(folders.top)
        assert (folders.own / "index.lock").exists()
    mark.write_text(said)
    (tmp_path / "target").write_text(said)
    (folders.own / "kaged-0.lock").symlink_to(tmp_path / "target")
    os.mkfifo(folders.own / "kaged-1.lock")
    end_changes_at(folders.top)
    assert not (folders.own / "index.lock").exists()
    assert (folders.own / "kaged-0.lock").is_symlink() and (tmp_path / "target").exists()


async def test_a_daemon_that_takes_a_project_over_stages_at_once(
    driver: Driver, project_root: Path, tmp_path: Path
) -> None:
    git(project_root, "init", "-q", "-b", "main"), (project_root / "a.txt").write_text("a\n")
    git(project_root, "add", "a.txt")
    killed_owner(project_root, tmp_path / "elsewhere")
    stage = f"/projects/{driver.project_id}/git/stage"
    await driver.call("POST", stage, {"paths": ["a.txt"]}, status=409)
    await driver.daemon.services.management.folders.workspaces.recover(driver.project_id)
    await driver.call("POST", stage, {"paths": ["a.txt"]})


@pytest.mark.parametrize("owner", ["same", "other"])
def test_half_objects_of_a_killed_git_are_removed(
    folders: RepositoryFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: str
) -> None:
    notes = tmp_path / "notes"
    cut_off(folders, notes, moves_head=True)
    place = folders.common / "objects" / "ab"
    place.mkdir(exist_ok=True)
    left, older = place / "tmp_obj_left", place / "tmp_obj_older"
    left.touch(), older.touch()
    os.utime(older, (1, 1))
    if owner == "same":
        end_changes(notes)
    else:
        monkeypatch.setattr(index_change, "_is_alive", lambda _: False)
        end_changes_at(folders.top)
    assert (left.exists(), older.exists()) == (False, True)
