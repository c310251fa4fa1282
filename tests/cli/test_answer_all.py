"""`kaged answer --all`: every open question of a kind or a tool, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.test_answers import PROJECT, TRANSCRIPT
from tests.driver.kaged import DaemonProcess, Home

pytestmark = pytest.mark.requirement("command_line.answer_all")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    """A running daemon in which two sessions ask for consent and one asks a question."""
    home = Home(tmp_path_factory.mktemp("home")).give(PROJECT, TRANSCRIPT)
    with DaemonProcess(home, ("--project", str(home.project))).start() as running:
        yield running


@pytest.fixture(autouse=True)
def asked(daemon: DaemonProcess) -> dict[str, str]:
    """Ask; return the open questions by the words of their message."""
    for one in daemon.home.json("answer")["items"]:
        daemon.call("POST", f"/sessions/{one['session_id']}/cancel")
    return {text: daemon.home.question(text) for text in ("read it", "read again", "color it")}


def state(daemon: DaemonProcess, interaction: str) -> Any:
    found = [
        one
        for session in daemon.call("GET", "/sessions")["items"]
        for one in daemon.call("GET", f"/sessions/{session['id']}/interactions")["items"]
        if one["id"] == interaction
    ]
    return (found[0]["state"], (found[0]["answer"] or {}).get("answer"))


def test_the_requests_of_a_tool_are_listed_and_answered(daemon: DaemonProcess, asked: dict[str, str]) -> None:
    requests = {asked["read it"], asked["read again"]}
    listed = daemon.home.json("answer", "--tool", "file.*")["items"]
    assert {one["id"] for one in listed} == requests
    assert daemon.home.json("answer", "--tool", "shell.bash")["items"] == []
    closed = daemon.home.json("answer", "--all", "--tool", "file.*", "once")["items"]
    assert {one["id"] for one in closed} == requests
    assert {state(daemon, one) for one in requests} == {("answered", "once")}
    assert state(daemon, asked["color it"]) == ("pending", None)
    done = daemon.home.run("answer", "--all", "--tool", "file.*", "once")
    assert (done.returncode, done.stdout) == (0, "no such question is open\n")


def test_the_questions_of_a_kind_are_answered(daemon: DaemonProcess, asked: dict[str, str]) -> None:
    done = daemon.home.run("answer", "--all", "--kind", "question", "green")
    assert done.returncode == 0 and asked["color it"] in done.stdout
    assert state(daemon, asked["color it"])[0] == "answered"
    assert state(daemon, asked["read it"]) == ("pending", None)
    refused = daemon.home.json("answer", "--all", "--kind", "permission", "reject", "-m", "No.")["items"]
    assert {one["answer"]["comment"] for one in refused} == {"No."} and len(refused) == 2


def test_of_one_session_only_its_questions_are_answered(daemon: DaemonProcess, asked: dict[str, str]) -> None:
    [session] = {
        one["session_id"] for one in daemon.home.json("answer")["items"] if one["id"] == asked["read it"]
    }
    daemon.home.json("answer", "--all", "--kind", "permission", "--session", session, "once")
    assert state(daemon, asked["read it"]) == ("answered", "once")
    assert state(daemon, asked["read again"]) == ("pending", None)


WRONG = (
    (("--all", "once"), "say with --kind or --tool which questions --all means"),
    (("--all", "--kind", "permission"), "give the answer"),
    (("--all", "--kind", "permission", "yes"), "say one of once, always, reject"),
    (("--all", "--kind", "form", "--tool", "file.read", "x"), "--tool goes with permission requests"),
    (("itx_1", "--kind", "form", "x"), "--kind and --tool go with the list"),
)


def test_wrong_use_answers_nothing(daemon: DaemonProcess, asked: dict[str, str]) -> None:
    for arguments, says in WRONG:
        done = daemon.home.run("answer", *arguments)
        assert done.returncode == 2 and says in done.stderr
    assert {state(daemon, one)[0] for one in asked.values()} == {"pending"}
