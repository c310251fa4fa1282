"""Projects of another user: who may write to them, and which repository git accepts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.workspace.repository import accepting, repository_above
from app.workspace.writable import access_to
from tests.driver.daemon_process import REPOSITORY
from tests.driver.machine import need

pytestmark = pytest.mark.requirement("image.any_user")

OTHER = 12345


def git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    clean = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    strange = {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}  # git's own, for its tests
    return subprocess.run(
        ["git", *arguments], cwd=folder, env=clean | strange, capture_output=True, text=True, check=False
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    for folder in (root / "packages" / "shop", tmp_path / "beside"):
        folder.mkdir(parents=True)
        subprocess.run(
            ["git", "init", "-q", str(folder.parents[1] if folder.is_relative_to(root) else folder)],
            check=True,
        )
    return root


def test_git_accepts_exactly_the_repository_of_the_project(repository: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(repository)
    for project in (repository, repository / "packages" / "shop", link):
        found = repository_above(project)
        assert found == repository
        options = accepting(repository, project)
        assert "dubious" in git(project, "status").stderr
        assert git(project, *options, "status").returncode == 0
        assert "dubious" in git(tmp_path / "beside", *options, "status").stderr


def test_a_linked_worktree_is_accepted_by_its_own_folder(repository: Path, tmp_path: Path) -> None:
    names = ("-c", "user.name=T", "-c", "user.email=t@t")
    subprocess.run(
        ["git", *names, "commit", "-q", "--allow-empty", "-m", "first"], cwd=repository, check=True
    )
    subprocess.run(["git", "worktree", "add", "-q", str(tmp_path / "tree")], cwd=repository, check=True)
    found = repository_above(tmp_path / "tree")
    assert found == tmp_path / "tree"
    assert git(found, *accepting(found, found), "status").returncode == 0


def test_a_name_that_git_would_take_for_every_folder_is_not_given(tmp_path: Path) -> None:
    star = tmp_path / "*"
    (star / ".git").mkdir(parents=True)
    assert repository_above(star) == star
    assert accepting(star, star) == ()


def test_a_strangers_repository_above_the_project_is_left_to_git(repository: Path) -> None:
    need("root")
    project = repository / "packages" / "shop"
    os.chown(repository / ".git", OTHER, OTHER)
    assert repository_above(project) == repository
    assert accepting(repository, project) == ()
    assert accepting(repository, repository) != ()
    os.chown(project, OTHER, OTHER)
    assert accepting(repository, project) != ()


def test_a_folder_of_ones_own_can_be_written(tmp_path: Path) -> None:
    found = access_to(tmp_path)
    assert found is not None
    assert (found.owner, found.foreign, found.problem) == (os.geteuid(), False, None)
    assert access_to(tmp_path / "absent") is None


def test_a_folder_of_another_user_says_whose_it_is(tmp_path: Path) -> None:
    need("root")
    root = tmp_path / "project"
    (root / ".kaged").mkdir(parents=True)
    os.chown(root, OTHER, OTHER)
    tmp_path.chmod(0o755)
    script = "import os, sys; from pathlib import Path; from app.workspace.writable import access_to\n"
    script += "opened = os.open(sys.argv[1], os.O_PATH); os.setuid(int(sys.argv[2]))\n"
    script += "found = access_to(Path(f'/proc/self/fd/{opened}')); print(found.foreign, found.problem)"

    def told(user: int) -> str:
        done = subprocess.run(
            [sys.executable, "-c", script, str(root), str(user)],
            cwd=REPOSITORY, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    assert told(4321).startswith("True /proc/self/fd/")
    assert told(4321).endswith(f"belongs to the user {OTHER}, and the daemon runs as the user 4321")
    assert "belongs to the user 0, and the daemon runs" in told(OTHER)  # its settings do
    os.chown(root / ".kaged", OTHER, OTHER)
    assert told(OTHER) == "False None"
    root.chmod(0o500)
    assert told(OTHER).endswith(f"forbids it, and the daemon runs as the user {OTHER}")
