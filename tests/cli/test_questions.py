"""A call that needs consent while `kaged send` or `attach` shows the session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pexpect
import pytest

from tests.driver.kaged import WAIT_SECONDS, DaemonProcess

pytestmark = pytest.mark.requirement("authorisation.ask")


@pytest.fixture
def asking(daemon: DaemonProcess) -> Iterator[DaemonProcess]:
    """The daemon; while the test lasts, reading README.md needs consent."""
    rules = f"/projects/{daemon.project_id}/permissions"
    made = daemon.call("POST", rules, {"permission": "file.read", "pattern": "README.md", "action": "ask"})
    yield daemon
    daemon.call("DELETE", f"{rules}/{made['id']}")


def closed(daemon: DaemonProcess) -> Any:
    (found,) = daemon.call("GET", f"/sessions/{daemon.newest_session()['id']}/interactions")["items"]
    return found


@pytest.mark.parametrize(
    ("typed", "answer", "shown"),
    [
        ("y", {"answer": "once"}, "✓ file.read README.md"),
        ("n not today", {"answer": "reject", "comment": "not today"}, "✗ file.read README.md"),
    ],
)
def test_at_a_terminal_a_letter_answers(
    asking: DaemonProcess, typed: str, answer: dict[str, str], shown: str
) -> None:
    terminal = asking.home.terminal("send", "please read it")
    terminal.expect("then Enter")
    assert "? file.read needs your consent. " in terminal.before
    assert "    README.md" in terminal.before
    assert "always would allow file.read README.md" in terminal.before
    terminal.sendline("what?")
    terminal.expect("type y")
    terminal.sendline(typed)
    terminal.expect_exact(shown)
    terminal.expect("run succeeded")
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert terminal.exitstatus == 0
    assert closed(asking)["answer"] == answer


def test_in_a_pipe_it_says_where_to_answer_and_attach_answers_what_was_open_before(
    asking: DaemonProcess,
) -> None:
    piped = asking.home.terminal("send", "--json", "please read it")
    piped.expect("permission.requested")
    watching = asking.home.terminal("attach", "last")
    watching.expect(r"\? file\.read needs your consent")
    watching.expect("then Enter")
    watching.sendline("a")
    watching.expect("run succeeded")
    watching.sendintr()
    watching.wait()
    piped.expect(pexpect.EOF)
    piped.wait()
    assert (watching.exitstatus, piped.exitstatus) == (0, 0)
    assert closed(asking)["answer"]["answer"] == "always"
    rules = asking.call("GET", f"/sessions/{asking.newest_session()['id']}/permissions")["items"]
    assert [(rule["permission"], rule["action"]) for rule in rules] == [("file.read", "allow")]


def test_without_a_terminal_the_way_to_answer_is_reported(
    asking: DaemonProcess,
) -> None:
    sending = asking.home.background("send", "please read it")
    for line in sending.stderr:
        if "kaged attach" in line:
            break
    session = asking.newest_session()["id"]
    assert session in line
    (question,) = asking.call("GET", f"/sessions/{session}/interactions?state=pending")["items"]
    path = f"/sessions/{session}/interactions/{question['id']}/answer"
    asking.call("POST", path, {"answer": "once"})
    _, rest = sending.communicate(timeout=WAIT_SECONDS)
    assert sending.returncode == 0
    assert "file.read: once" in rest
