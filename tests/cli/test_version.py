"""`kaged --version`, `kaged version`, and which commit an installation says it is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from app import __version__, release
from app.cli.version import version_line
from app.storage.revisions import HEAD
from tests.driver.kaged import ROOT, DaemonProcess, Home

pytestmark = pytest.mark.requirement("command_line.version")

GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run([*GIT, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with what a checkout of kaged is known by."""
    folder = tmp_path / "checkout"
    (folder / "migrations").mkdir(parents=True)
    (folder / "pyproject.toml").touch()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "first")
    return folder


def test_the_commit_of_a_checkout_is_read_without_git(checkout: Path, tmp_path: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    assert release._of_checkout(checkout) == head
    git(checkout, "pack-refs", "--all")
    assert not (checkout / ".git/refs/heads/main").exists()
    assert release._of_checkout(checkout) == head
    git(checkout, "worktree", "add", "--quiet", str(tmp_path / "tree"), "-b", "other")
    git(tmp_path / "tree", "rm", "--quiet", "-r", "--cached", ".")
    (tmp_path / "tree" / "migrations").mkdir(exist_ok=True)
    assert release._of_checkout(tmp_path / "tree") == head
    git(checkout, "checkout", "--quiet", "--detach")
    assert release._of_checkout(checkout) == head


def test_the_repository_around_an_installation_is_not_read(checkout: Path) -> None:
    packages = checkout / ".venv" / "lib" / "python3" / "site-packages"
    (packages / "migrations").mkdir(parents=True)
    assert release._of_checkout(packages) is None
    (packages / "pyproject.toml").touch()
    assert release._of_checkout(packages) is None


def test_what_is_no_commit_is_unknown(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (checkout / ".git" / "HEAD").write_text("ref: refs/heads/\x1b[31mmain\n")
    assert release._of_checkout(checkout) is None
    (checkout / "release.json").write_text('{"commit": "\\u001b[31m"}')
    assert release._of_build(checkout / "release.json") == "\x1b[31m"
    monkeypatch.setattr(release, "_of_build", lambda _: "\x1b[31m")
    release.commit.cache_clear()
    try:
        assert release.commit() is None
        assert "(commit unknown, " in version_line()
    finally:
        release.commit.cache_clear()


def test_the_command_and_the_daemon_say_the_same(home: Home) -> None:
    found = home.json("version")
    here = (ROOT / ".git").exists()
    assert (found["kaged"], found["database_schema"]) == (__version__, HEAD)
    assert found["commit"] == (git(ROOT, "rev-parse", "HEAD") if here else None)
    line = f"kaged {__version__} (commit {found['commit'][:12] if here else 'unknown'}, schema {HEAD})\n"
    assert home.run("version").stdout == home.run("--version").stdout == line
    with DaemonProcess(home).start() as daemon:
        versions = daemon.call("GET", "/versions")
        assert {name: versions[name] for name in found} == found


@pytest.mark.requirement("command_line.open")
def test_open_signs_a_browser_in_or_prints_the_link(home: Home) -> None:
    seen = home.folder / "seen"
    browser = home.folder / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {seen}\n')
    browser.chmod(0o755)
    with DaemonProcess(home).start() as daemon:
        printed = home.run("open", "--print").stdout.strip()
        assert printed.startswith(f"{daemon.ready['url']}/launch?token=")
        done = home.run("open", BROWSER=f"{browser} %s")
        assert done.returncode == 0 and printed not in done.stdout
        assert seen.read_text() == printed
        without = home.run("open", PATH="/nonexistent")
        assert without.stdout.strip() == printed and "no browser" in without.stderr
