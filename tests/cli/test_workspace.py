"""`kaged workspace`: a session in a folder of its own is opened, looked at, merged, kept and discarded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.kaged import DaemonProcess, Home
from tests.driver.workspaces import git


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    git(home.project, "init", "-q", "-b", "main")
    git(home.project, "add", "-A"), git(home.project, "commit", "-qm", "first")
    with DaemonProcess(home).start():
        yield home


def opened(home: Home, *options: str) -> tuple[str, Path]:
    session = home.json("workspace", "new", *options)["id"]
    end = time.monotonic() + WAIT_SECONDS
    while (found := home.json("workspace", "show", session))["state"] != "ready":
        assert time.monotonic() < end, found
        time.sleep(0.1)
    return session, Path(found["root"])


def test_a_session_is_opened_merged_and_discarded(home: Home) -> None:
    session, root = opened(home, "--title", "Lend more")
    (root / "loan.txt").write_text("one\n")
    shown = home.run("workspace", "show", session).stdout
    assert f"worktree ready: {root}" in shown and "-lend-more, from head" in shown
    dry = home.run("workspace", "merge", session, "--dry-run", "--diff")
    assert dry.returncode == 0 and "added: loan.txt (+1 -0)" in dry.stdout and "+one" in dry.stdout
    (home.project / "loan.txt").write_text("mine\n")
    blocked = home.run("workspace", "merge", session, "--dry-run")
    assert blocked.returncode == 1 and "blocked: loan.txt: it has uncommitted changes" in blocked.stdout
    refused = home.run("workspace", "merge", session)
    assert refused.returncode == 1 and "loan.txt" in refused.stderr
    (home.project / "loan.txt").unlink()
    assert "1 file merged into working_tree" in home.run("workspace", "merge", session).stdout
    assert (home.project / "loan.txt").read_text() == "one\n"
    assert session in home.run("workspace", "list").stdout
    assert "restores it" in home.run("workspace", "discard", session).stdout
    assert str(root) in home.run("workspace", "undo", session).stdout


def test_a_kept_branch_is_in_the_repository(home: Home) -> None:
    session, root = opened(home)
    (root / "loan.txt").write_text("one\n")
    kept = home.json("workspace", "keep", session)
    assert git(home.project, "show", f"{kept['branch']}:loan.txt") == "one"


def test_the_doctor_finds_and_removes_what_no_workspace_of_the_database_is(home: Home) -> None:
    _, root = opened(home)
    unknown = root.parents[1] / f"wks_{'0' * 26}"
    (unknown / "tree").mkdir(parents=True)
    (unknown / "tree" / "file").write_text("left\n"), (unknown / "tree").chmod(0o500)
    pin = f"refs/kaged/base/{unknown.name}"
    git(home.project, "update-ref", pin, "HEAD")
    found = [one for one in home.json("doctor")["findings"] if one["group"] == "workspaces"]
    assert [one["name"] for one in found] == [str(unknown), f"{pin} in {home.project}"]
    home.run("doctor", "--remove-leftovers")
    assert not unknown.exists() and root.exists()
    pins = git(home.project, "for-each-ref", "--format=%(refname)", "refs/kaged").split()
    assert pins == [f"refs/kaged/base/{root.parent.name}"]
    assert [one for one in home.json("doctor")["findings"] if one["group"] == "workspaces"] == []
