"""`kaged attempts`: attempts are started, compared, picked, cancelled and discarded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.driver.kaged import DaemonProcess, Home
from tests.driver.workspaces import git

pytestmark = pytest.mark.requirement("attempts.pick")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    git(home.project, "init", "-q", "-b", "main")
    git(home.project, "add", "-A"), git(home.project, "commit", "-qm", "first")
    with DaemonProcess(home).start():
        yield home


def test_attempts_are_compared_in_a_table_and_one_is_picked(home: Home) -> None:
    none = home.run("attempts", "show")
    assert none.returncode == 1 and "kaged attempts new" in none.stderr
    unknown = home.run("attempts", "new", "read it", "-n", "2", "--model", "nobody")
    assert unknown.returncode == 1 and "nobody" in unknown.stderr
    assert "the project has no attempts" in home.run("attempts", "list").stdout
    started = home.run("attempts", "new", "read it", "-n", "2", "--max-tokens", "1000000")
    assert f"kaged attempts show {started.stdout.strip()} --wait" in started.stderr, started.stderr
    found = home.json("attempts", "show", "--wait")
    states = [(one["number"], one["state"]) for one in found["attempts"]]
    assert states == [(1, "succeeded"), (2, "succeeded")]
    ids = [one["session_id"] for one in found["attempts"]]
    first, second = (Path(home.json("workspace", "show", one)["root"]) for one in ids)
    (first / "loan.txt").write_text("one\n"), (second / "loan.txt").write_text("two\n")
    shown = home.run("attempts", "show").stdout
    assert f"{found['id']} done: read it" in shown and "1 (+1 -0)" in shown
    assert found["id"] in home.run("attempts", "list").stdout
    missing = home.run("attempts", "pick", "7")
    assert missing.returncode == 1 and "there are 1, 2" in missing.stderr
    dry = home.run("attempts", "pick", "2", "--dry-run", "--diff")
    assert dry.returncode == 0 and "+two" in dry.stdout and "would be discarded: ses_" in dry.stdout
    picked = home.run("attempts", "pick", "2")
    assert "1 file merged into working_tree" in picked.stdout, picked.stderr
    assert (home.project / "loan.txt").read_text() == "two\n"
    assert f"kaged workspace undo {ids[0]}" in picked.stdout
    assert str(first) in home.run("workspace", "undo", ids[0]).stdout
    shown = home.run("attempts", "cancel").stdout
    assert "picked" in shown and "succeeded" in shown
    home.run("attempts", "new", "read it", "-n", "2")
    found = home.json("attempts", "show", "--wait")
    gone = home.run("attempts", "discard", found["id"])
    assert gone.stdout.startswith(f"{found['id']} discarded: read it"), gone.stderr
    assert f"kaged workspace undo {found['attempts'][0]['session_id']}" in gone.stdout
