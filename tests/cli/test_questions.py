"""A call that needs consent while `kaged send` or `attach` shows the session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pexpect
import pytest

from tests.driver.kaged import DaemonProcess

pytestmark = pytest.mark.requirement("authorisation.ask")


class Interface:
    """The daemon's HTTP interface."""

    def __init__(self, daemon: DaemonProcess) -> None:
        self._url = f"{daemon.ready['url']}/api/v1"
        self._headers = {"authorization": f"Bearer {daemon.token}"}

    def call(self, method: str, path: str, body: Any = None) -> Any:
        answer = httpx2.request(
            method, self._url + path, json=body, headers=self._headers, trust_env=False, timeout=30
        )
        answer.raise_for_status()
        return answer.json() if answer.content else None


@pytest.fixture
def interface(daemon: DaemonProcess) -> Iterator[Interface]:
    """An interface to a daemon in which reading README.md needs consent, for as long as the test lasts."""
    interface = Interface(daemon)
    project = daemon.ready["projects"][0]["id"]
    rules = f"/projects/{project}/permissions"
    rule = {"permission": "file.read", "pattern": "README.md", "action": "ask"}
    made = interface.call("POST", rules, rule)
    yield interface
    interface.call("DELETE", f"{rules}/{made['id']}")


def newest(interface: Interface) -> str:
    return str(interface.call("GET", "/sessions?limit=1")["items"][0]["id"])


def closed(interface: Interface) -> Any:
    (found,) = interface.call("GET", f"/sessions/{newest(interface)}/interactions")["items"]
    return found


@pytest.mark.parametrize(
    ("typed", "answer", "shown"),
    [
        ("y", {"answer": "once"}, "✓ file.read README.md"),
        ("n not today", {"answer": "reject", "comment": "not today"}, "✗ file.read README.md"),
    ],
)
def test_at_a_terminal_a_letter_answers(
    daemon: DaemonProcess, interface: Interface, typed: str, answer: dict[str, str], shown: str
) -> None:
    terminal = daemon.home.terminal("send", "please read it")
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
    assert closed(interface)["answer"] == answer


def test_in_a_pipe_it_says_where_to_answer_and_attach_answers_what_was_open_before(
    daemon: DaemonProcess, interface: Interface
) -> None:
    piped = daemon.home.terminal("send", "--json", "please read it")
    piped.expect("permission.requested")
    watching = daemon.home.terminal("attach", "last")
    watching.expect(r"\? file\.read needs your consent")
    watching.expect("then Enter")
    watching.sendline("a")
    watching.expect("run succeeded")
    watching.sendintr()
    watching.wait()
    piped.expect(pexpect.EOF)
    piped.wait()
    assert (watching.exitstatus, piped.exitstatus) == (0, 0)
    assert closed(interface)["answer"]["answer"] == "always"
    rules = interface.call("GET", f"/sessions/{newest(interface)}/permissions")["items"]
    assert [(rule["permission"], rule["action"]) for rule in rules] == [("file.read", "allow")]


def test_without_a_terminal_the_way_to_answer_is_reported(
    daemon: DaemonProcess, interface: Interface
) -> None:
    sending = daemon.home.background("send", "please read it")
    for line in sending.stderr:
        if "kaged attach" in line:
            break
    session = newest(interface)
    assert session in line
    (question,) = interface.call("GET", f"/sessions/{session}/interactions?state=pending")["items"]
    path = f"/sessions/{session}/interactions/{question['id']}/answer"
    interface.call("POST", path, {"answer": "once"})
    _, rest = sending.communicate(timeout=30)
    assert sending.returncode == 0
    assert "file.read: once" in rest
