"""`kaged workspace`: a session in a folder of its own is opened, looked at, merged, kept and discarded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.cli.leftover_workspaces import leftover_findings
from app.config import DaemonSettings, Settings
from app.harness.workspaces.leftovers import Leftovers, LeftoverSearch
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


def test_the_doctor_removes_nothing_without_a_database(tmp_path: Path) -> None:
    """As while a backup is restored, or without the settings of the database that the daemon uses."""
    home = Home(tmp_path)
    work = home.data_dir / "workspaces" / f"prj_{'0' * 26}" / f"wks_{'0' * 26}" / "tree" / "work"
    work.parent.mkdir(parents=True), work.write_text("not merged\n")
    assert work.parents[1].name not in home.run("doctor").stdout
    refused = home.run("doctor", "--remove-leftovers")
    assert refused.returncode == 1 and "nothing is removed: There is no database" in refused.stdout
    assert work.read_text() == "not merged\n"


def test_the_doctor_leaves_a_workspace_that_is_made_while_it_looks(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    find, made = LeftoverSearch.find, []

    async def late(self: LeftoverSearch, *given: Any) -> Leftovers:
        made.append(opened(home)[1])
        return await find(self, *given)

    monkeypatch.setattr(LeftoverSearch, "find", late)
    settings = Settings(daemon=DaemonSettings(data_dir=home.data_dir))
    assert asyncio.run(leftover_findings(settings, remove=True)) == []
    assert (made[0] / "README.md").exists()


def test_a_message_and_its_workspace_are_one_command(home: Home) -> None:
    (home.project / "README.md").write_text("# Library\n\nIt lends records.\n")
    sent = home.run("send", "--workspace", "--base", "working", "--title", "Records", "read")
    assert sent.returncode == 0, sent.stderr
    assert "workspace creating (clone)" in sent.stderr and "workspace ready" in sent.stderr
    assert "It lends books." in sent.stdout and "`kaged workspace merge ses_" in sent.stderr
    shown = home.json("workspace", "show")
    assert (shown["state"], shown["base"]) == ("ready", "working")
    assert "add --workspace" in home.run("send", "--base", "working", "read").stderr
    refused = home.run("send", "--workspace", "--base", "nowhere", "read")
    assert refused.returncode == 1 and "no commit 'nowhere'" in refused.stderr


def test_a_workspace_that_cannot_be_created_says_why_everywhere(home: Home) -> None:
    """The branch that it starts from has a commit whose files are not there."""
    blob = git(home.project, "rev-parse", "HEAD:README.md")
    place = home.project / ".git" / "objects" / blob[:2] / blob[2:]
    place.rename(home.project.parent / "object")
    made = home.run("workspace", "new")
    assert made.returncode == 1 and "could not be created: git read-tree: " in made.stderr
    sent = home.run("send", "--workspace", "read")
    assert sent.returncode == 1, sent.stdout
    assert "The session's workspace could not be created: git read-tree: " in sent.stderr
    later = home.run("workspace", "new", "--no-wait")
    assert f"send --session {later.stdout.strip()} " in later.stderr
    session = home.json("session", "list")["items"][1]["id"]
    for command in (["changes", session], ["send", "--session", session, "again"]):
        refused = home.run(*command)
        assert refused.returncode == 1, refused.stdout
        assert "could not be created: git read-tree: " in refused.stderr
        assert refused.stderr.strip().endswith("`kaged workspace retry`, or open another session.")
    again = home.run("workspace", "retry", session)
    assert again.returncode == 1 and "could not be created: git read-tree: " in again.stderr
    (home.project.parent / "object").rename(place)
    again = home.run("workspace", "retry", session)
    assert again.returncode == 0 and "is ready: " in again.stdout, again.stderr
    assert home.run("send", "--session", session, "again").returncode == 0
