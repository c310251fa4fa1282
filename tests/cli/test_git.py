"""`kaged git`: an operator's work in the repository of a project, at a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.driver.git_desk import git
from tests.driver.kaged import DaemonProcess, Home

pytestmark = pytest.mark.requirement("git.operator")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Home]:
    """A home with a daemon that runs, and a project in a repository of the daemon's user."""
    home = Home(tmp_path)
    git(home.project, "init", "-q", "-b", "main")
    git(home.project, "config", "user.name", "Ada")
    git(home.project, "config", "user.email", "ada@example.org")
    git(home.project, "add", "--all"), git(home.project, "commit", "-qm", "first")
    daemon = DaemonProcess(home).start()
    yield home
    daemon.stop()


def test_changes_are_shown_staged_committed_and_branched_from_anywhere_in_the_project(shop: Home) -> None:
    root = shop.project
    (root / "README.md").write_text("# Library\n\nIt lends books, and maps.\n")
    (root / "prompts" / "new.md").write_text("new\n")
    status = shop.run("git", "status")
    diff = shop.run("git", "diff", "../README.md", cwd=root / "prompts")
    (file,) = shop.json("git", "diff", "README.md")["items"]
    digest = file["hunks"][0]["digest"]
    assert f"hunk 1  [{digest}]" in diff.stdout
    staged = shop.run("git", "stage", "README.md", "--hunk", "1")
    wrong = shop.run("git", "stage", "README.md", "--hunk", "0" * 32)
    outside = shop.run("git", "stage", "../elsewhere.txt")
    made = shop.run("git", "commit", "-m", "Maps")
    assert status.stdout.splitlines()[1:] == [
        " M README.md", "?? prompts/new.md", "0 staged, 1 not staged, 1 untracked",
    ]  # fmt: skip
    assert f"[{digest}]" in diff.stdout and "+It lends books, and maps." in diff.stdout
    assert staged.stdout == "1 staged, 0 not staged, 1 untracked\n"
    assert wrong.returncode == 1 and "has changed since the diff" in wrong.stderr
    assert outside.returncode == 1 and "is not in the project" in outside.stderr
    assert made.stdout == f"{git(root, 'rev-parse', 'HEAD')[:10]} on main: Maps (1 file)\n"

    unnamed = shop.run("git", "commit", "new.md", cwd=root / "prompts")
    whole = shop.run("git", "commit", "new.md", "-F", "-", cwd=root / "prompts", stdin="New\n\nMore.\n")
    empty = shop.run("git", "commit", "-m", "x")
    switched = shop.run("git", "branch", "work", "--switch")
    listed = shop.run("git", "branch")
    back = shop.run("git", "switch", "main")
    unknown = shop.run("git", "switch", "nothing")
    unstaged = shop.run("git", "unstage", ".")
    assert unnamed.returncode == 2
    assert whole.returncode == 0 and git(root, "log", "-1", "--format=%an: %B") == "Ada: New\n\nMore.\n\n"
    assert empty.returncode == 1 and "nothing to commit" in empty.stderr
    assert switched.stdout.startswith("created and checked out work at ")
    assert [line.split()[:2] for line in listed.stdout.splitlines()[1:]] == [
        ["main", git(root, "rev-parse", "main")[:10]], ["*", "work"],
    ]  # fmt: skip
    assert back.stdout.startswith("on main at ") and unknown.returncode == 1
    assert unstaged.stdout == "0 staged, 0 not staged, 0 untracked\n"

    hook = root / ".git" / "hooks" / "commit-msg"
    hook.write_text("#!/bin/sh\necho 'no ticket in it' >&2; exit 1\n")
    hook.chmod(0o755)
    refused = shop.run("git", "commit", "-m", "x", "--allow-empty", "--hooks")
    assert refused.returncode == 1 and "no ticket in it" in refused.stderr
    assert shop.json("git", "status")["counts"]["staged"] == 0
    assert git(root, "status", "--porcelain") == ""


class SettledInside(Home):
    """The settings of the daemon lie in the project."""

    @property
    def config(self) -> Path:
        return self.project / "config.toml"


@pytest.mark.needs("cages")
def test_the_settings_of_the_daemon_in_the_project_are_left_out(tmp_path: Path) -> None:
    """No cage shows them, so that git takes them for changed."""
    home = SettledInside(tmp_path)
    (home.folder / "demo.yaml").rename(home.project / "demo.yaml")
    git(home.project, "init", "-q", "-b", "main"), git(home.project, "config", "user.name", "Ada")
    git(home.project, "config", "user.email", "ada@example.org")
    git(home.project, "add", "--all"), git(home.project, "commit", "-qm", "first")
    (home.project / "README.md").write_text("changed\n")
    (home.project / "config.toml").touch()
    with DaemonProcess(home).start():
        status = home.json("git", "status")
        assert [one["path"] for one in status["items"]] == ["README.md"]
        assert status["left_out"] == ["config.toml"]
        assert "kaged's daemon: config.toml" in home.run("git", "status").stdout
        refused = home.run("git", "stage", "config.toml")
        assert refused.returncode == 1 and "Use git itself" in refused.stderr
        assert home.run("git", "stage", ".").stdout.startswith("1 staged, 0 not staged")
        assert git(home.project, "diff", "--cached", "--name-only") == "README.md\n"
        root = Path(home.json("workspace", "new")["id"] and home.json("workspace", "show")["root"])
        (root / "config.toml").write_text("agent\n"), (root / "new.txt").write_text("new\n")
        blocked = home.run("workspace", "merge", "--dry-run")
        assert "blocked: config.toml: it is a file of kaged's daemon" in blocked.stdout
        assert "new.txt" in blocked.stdout
