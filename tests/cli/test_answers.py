"""Questions and forms of agents: answered in `kaged send`, in `attach`, and by `kaged answer`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.driver.kaged import WAIT_SECONDS, DaemonProcess, Home

pytestmark = pytest.mark.requirement("command_line.answer")

PROJECT = """\
version: 1
project: library
primary:
  model: demo
  system_prompt: prompts/primary.md
  cage: disabled
  tools:
    file.*: { enabled: true }
    kaged.ask: { enabled: true }
    kaged.form: { enabled: true }
    question: { enabled: true }
permissions:
  - { permission: file.read, pattern: README.md, action: ask }
"""

TRANSCRIPT = """\
chunk_delay: 0
conversations:
  - when: choose
    steps:
      - answer:
          - tool_call:
              name: kaged.ask
              arguments:
                summary: There are two ways.
                questions:
                  - id: way
                    title: Which way?
                    description: The left one is longer.
                    options: [{ label: left }, { label: right, description: uphill }]
                  - id: with
                    title: With what?
                    multiple: true
                    allow_other: true
                    options: [{ label: map }, { label: lamp }, { label: rope }]
      - answer:
          - text: We go.
  - when: register
    steps:
      - answer:
          - tool_call:
              name: kaged.form
              arguments:
                summary: For the card.
                fields:
                  - { name: name, label: Your name, type: text, required: true }
                  - { name: age, label: Your age, type: number, required: false }
                  - { name: news, label: Send news, type: boolean, required: true }
                  - { name: about, label: About you, type: textarea, required: false }
                  - { name: photo, label: A photo, type: file, required: true }
      - answer:
          - text: Registered.
  - when: color
    steps:
      - answer:
          - tool_call:
              name: question
              arguments:
                questions: [{ question: "Which color?", header: Door }]
      - answer:
          - text: Painted.
  - when: read
    steps:
      - answer:
          - tool_call: { name: file.read, arguments: { path: README.md } }
      - answer:
          - text: I have read it.
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A running daemon whose agent asks."""
    with DaemonProcess(Home(tmp_path_factory.mktemp("home")).give(PROJECT, TRANSCRIPT)).start() as running:
        yield running


def ended(terminal: pexpect.spawn, code: int = 0) -> None:
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert terminal.exitstatus == code


def until_paused(daemon: DaemonProcess) -> None:
    """Wait until the run that has asked has ended: its command shows the question before."""
    deadline = time.monotonic() + WAIT_SECONDS
    while (state := daemon.newest_session()["state"]) != "paused":
        assert time.monotonic() < deadline, state
        time.sleep(0.05)


def answer(daemon: DaemonProcess, *arguments: str) -> Any:
    closed = daemon.home.json("answer", *arguments)
    assert closed["state"] == "answered"
    daemon.home.until_idle()
    return closed["answer"]


def test_questions_are_answered_one_by_one_while_the_answer_is_watched(daemon: DaemonProcess) -> None:
    terminal = daemon.home.terminal("send", "choose one")
    terminal.expect("The agent has 2 questions")
    terminal.expect("Which way")
    terminal.expect("The left one is longer")
    terminal.expect("2  right – uphill")
    terminal.expect("type a number")
    terminal.sendline("3")
    terminal.expect("type a number")
    terminal.sendline("right")
    terminal.expect("With what")
    terminal.expect("type numbers")
    terminal.sendline("3, 1")
    terminal.expect("question: answered")
    terminal.expect("We go.")
    terminal.expect("run succeeded")
    ended(terminal)


def test_a_form_is_filled_in_with_a_file(daemon: DaemonProcess, tmp_path: Path) -> None:
    photo = tmp_path / "me.png"
    photo.write_bytes(b"\x89PNG" + bytes(70_000))
    terminal = daemon.home.terminal("send", "register me")
    terminal.expect("The agent asks you for data")
    terminal.expect("Your name")
    terminal.expect("then Enter")
    terminal.sendline("")
    terminal.expect("Your name is needed")
    terminal.sendline("Ada")
    terminal.expect("Your age .may be left empty")
    terminal.expect("then Enter")
    terminal.sendline("old")
    terminal.expect("'old' is no number")
    terminal.sendline("36")
    terminal.expect("Send news")
    terminal.expect("then Enter")
    terminal.sendline("y")
    terminal.expect("About you")
    terminal.expect("then Enter")
    terminal.sendline("I count.")
    terminal.sendline("And write.")
    terminal.sendline(".")
    terminal.expect("A photo")
    terminal.expect("then Enter")
    terminal.sendline(str(tmp_path / "absent.png"))
    terminal.expect("cannot be read")
    terminal.sendline(str(photo))
    terminal.expect("form: answered")
    terminal.expect("Registered.")
    ended(terminal)
    (placed,) = (daemon.home.project / ".kaged" / "tmp").rglob("me.png")
    assert placed.read_bytes() == photo.read_bytes()


def test_what_waits_is_listed_and_answered_by_a_command(daemon: DaemonProcess) -> None:
    interaction = daemon.home.question("choose again")
    listed = daemon.home.run("answer")
    line = next(line for line in listed.stdout.splitlines() if line.startswith(interaction))
    assert line.split()[1] == "ask"
    assert "Which way?; With what?" in line

    answers = answer(daemon, interaction, "way=2", "with=rope", "with=a ladder")

    assert answers["answers"]["way"] == ["right"]
    assert answers["answers"]["with"] == ["rope", "a ladder"]
    assert interaction not in daemon.home.run("answer").stdout
    twice = daemon.home.run("answer", interaction, "way=1", "with=map")
    assert twice.returncode == 1
    assert "is not open" in twice.stderr


def test_a_form_is_answered_by_a_command_and_refused_field_by_field(
    daemon: DaemonProcess, tmp_path: Path
) -> None:
    photo = tmp_path / "face.png"
    photo.write_bytes(b"face")
    interaction = daemon.home.question("register her")

    missing = daemon.home.run("answer", interaction, "name=Bea", "news=no")
    unknown = daemon.home.run("answer", interaction, "name=Bea", "news=no", "shoe=41", "-f", f"photo={photo}")
    wrong = daemon.home.run("answer", interaction, "age=old")
    values = answer(daemon, interaction, "name=Bea", "news=no", "--file", f"photo={photo}")["values"]

    assert (missing.returncode, unknown.returncode, wrong.returncode) == (1, 1, 2)
    assert "photo" in missing.stderr
    assert "shoe" in unknown.stderr
    assert "no number" in wrong.stderr
    assert (values["name"], values["news"]) == ("Bea", False)


def test_a_free_question_takes_a_text_in_either_way(daemon: DaemonProcess) -> None:
    assert answer(daemon, daemon.home.question("color it"), "dark green") == {"answers": [["dark green"]]}

    daemon.home.question("color it again")
    watching = daemon.home.terminal("attach", "last", "--until-idle")
    watching.expect("Door: Which color")
    watching.expect("type your answer")
    watching.sendline("blue, mostly")
    watching.expect("Painted.")
    ended(watching)


def test_consent_is_given_by_a_command(daemon: DaemonProcess) -> None:
    interaction = daemon.home.question("read it")
    wrong = daemon.home.run("answer", interaction, "perhaps")
    alone = daemon.home.run("answer", interaction)

    assert answer(daemon, interaction, "reject", "-m", "not now")["comment"] == "not now"
    assert wrong.returncode == alone.returncode == 2
    assert "once, always, reject" in wrong.stderr
    assert "at a terminal" in alone.stderr


def test_a_command_at_a_terminal_asks(daemon: DaemonProcess) -> None:
    interaction = daemon.home.question("choose at leisure")
    terminal = daemon.home.terminal("answer", interaction)
    terminal.expect("type a number")
    terminal.sendline("1")
    terminal.expect("type numbers")
    terminal.sendline("-")
    terminal.expect(f"{interaction} answered")
    ended(terminal)


def test_without_questions_nothing_waits(daemon: DaemonProcess) -> None:
    session = daemon.home.json("session", "list")["items"][0]["id"]
    daemon.home.until_idle()
    assert "no question is open" in daemon.home.run("answer", "--session", session).stdout
    assert daemon.home.json("answer", "--session", "last") == {"items": []}


@pytest.mark.parametrize("words", [("once",), ("itx_01ARZ3NDEKTSV4RRFFQ69G5FAV", "once")])
def test_an_answer_to_a_session_that_asks_nothing_is_refused_with_the_way_on(
    daemon: DaemonProcess, words: tuple[str, ...]
) -> None:
    daemon.home.until_idle()
    for options in ((), ("--session", "last")):
        done = daemon.home.run("answer", *options, *words)
        assert done.returncode == 1
        assert words[0] in done.stderr
        assert "`kaged answer` lists the open" in done.stderr


def test_a_cancelled_question_ends_the_command_that_waits_for_it(daemon: DaemonProcess) -> None:
    terminal = daemon.home.terminal("send", "choose or not")
    terminal.expect("type a number")
    until_paused(daemon)
    terminal.sendintr()
    terminal.expect("closed without an answer")
    ended(terminal, code=1)
