"""Modes of a session in a terminal: `send --session-mode`, `session mode`, `session plan`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import pexpect
import pytest

from app.cli.session_mode import MODES
from app.tools.contract.modes import ModeName
from tests.driver.kaged import PROJECT_YAML, DaemonProcess, Home

pytestmark = pytest.mark.requirement("modes.clients")

TRANSCRIPT = """\
chunk_delay: 0
conversations:
  - when: plan
    steps:
      - answer:
          - tool_call: { name: kaged.plan, arguments: { plan: "# Shelf\\n\\n1. Build it." } }
      - answer:
          - tool_call: { name: file.write, arguments: { path: shelf.txt, content: built } }
      - answer:
          - text: That is all.
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("home")).give(PROJECT_YAML, TRANSCRIPT)


@pytest.fixture(scope="module")
def daemon(home: Home) -> Iterator[DaemonProcess]:
    """A running daemon whose agent plans."""
    with DaemonProcess(home).start() as running:
        yield running


def proposed(daemon: DaemonProcess) -> str:
    """Start a session in plan mode, with nobody to answer; return the id of its plan."""
    (daemon.home.project / "shelf.txt").unlink(missing_ok=True)
    return daemon.home.question("plan", "--session-mode", "plan")


def test_the_words_of_the_command_line_are_those_of_the_daemon() -> None:
    assert get_args(ModeName) == MODES


def test_a_plan_is_shown_changed_and_carried_out(daemon: DaemonProcess) -> None:
    plan = proposed(daemon)
    shown = daemon.home.run("session", "plan")
    assert f"{plan}: proposed" in shown.stdout and "1. Build it." in shown.stdout
    (listed,) = daemon.home.json("answer")["items"]
    assert (listed["id"], listed["kind"]) == (plan, "plan")
    (daemon.home.folder / "mine.md").write_text("# Shelf\n\n1. Buy it.\n")
    changed = ("--accept", "edits", "--edited", str(daemon.home.folder / "mine.md"), "-m", "Cheaper.")
    closed = daemon.home.json("session", "plan", "last", *changed)
    assert closed["answer"] == {
        "state": "edited",
        "mode": "edits",
        "plan": "# Shelf\n\n1. Buy it.\n",
        "comment": "Cheaper.",
    }
    daemon.home.until_idle()
    assert (daemon.home.project / "shelf.txt").read_text() == "built"
    assert "edited, mode edits" in daemon.home.run("session", "plan").stdout
    assert daemon.home.json("session", "mode", "last")["name"] == "edits"


def test_a_plan_is_rejected_and_the_mode_is_set_by_hand(daemon: DaemonProcess) -> None:
    plan = proposed(daemon)
    closed = daemon.home.json("answer", plan, "reject", "-m", "No shelf.")
    assert closed["answer"] == {"state": "rejected", "comment": "No shelf."}
    daemon.home.until_idle()
    assert not (daemon.home.project / "shelf.txt").exists()
    shown = daemon.home.run("session", "mode", "last")
    assert "deny   fs.write *" in shown.stdout and "allow  shell.read *" in shown.stdout
    assert daemon.home.json("session", "mode", "last", "full")["mode"] == "full"
    done = daemon.home.run("send", "hello", "--session", "last", "--session-mode", "ask")
    assert done.returncode in (0, 1), done.stderr
    assert daemon.home.json("session", "mode", "last")["name"] == "ask"


def test_a_plan_is_answered_at_the_terminal(daemon: DaemonProcess) -> None:
    (daemon.home.project / "shelf.txt").unlink(missing_ok=True)
    terminal = daemon.home.terminal("send", "plan", "--session-mode", "plan")
    terminal.expect("The agent proposes a plan")
    terminal.expect("1. Build it.")
    terminal.expect("then Enter")
    terminal.sendline("yes")
    terminal.expect("then Enter")
    terminal.sendline("e")
    terminal.expect("That is all.")
    terminal.expect(pexpect.EOF)
    assert (daemon.home.project / "shelf.txt").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("session", "mode", "last", "yolo"), "'yolo' is not one of"),
        (("send", "x", "--session-mode", "all"), "'all' is not one of"),
        (("session", "plan", "last", "--accept", "plan"), "'plan' is not one of"),
        (("session", "plan", "last", "--accept", "ask", "--reject"), "not both"),
        (("session", "plan", "last", "--edited", "x.md"), "--edited goes with --accept"),
        (("session", "plan", "last", "-m", "x"), "--comment goes with"),
    ],
)
def test_wrong_use_says_what_is_right(home: Home, arguments: tuple[str, ...], said: str) -> None:
    done = home.run(*arguments)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
