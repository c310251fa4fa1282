"""What a command leaves running, however it hides: each way to end it ends it, and nothing of others."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from app.bridges.processes import proc
from tests.driver.kaged import PROJECT_YAML, DaemonProcess, Home

pytestmark = pytest.mark.requirement("security.processes_end")
OLD_SECONDS = 4.2
"""What has been there for so long is not found by having been started only just now."""
SECONDS = 60
SLEEP = "/bin/sleep 987654.{}"
DAEMONIZED = """
import os, sys
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.chdir("/")
os.closerange(0, 256)
os.execve("/bin/sleep", sys.argv[1:], {})
"""
SHAPES = {
    "a background job": "<S> &",
    "what ignores a hang-up": "nohup <S> >/dev/null 2>&1 &",
    "a session of its own": "setsid <S> </dev/null >/dev/null 2>&1 &",
    "a cleared environment": "env -i <S> &",
    "a cleared environment in a session of its own": "env -i setsid <S> &",
    "a double fork with a cleared environment": "(env -i setsid sh -c '<S> & ' &) >/dev/null 2>&1",
    "a daemon by the book": f"env -i python3 -I -c {shlex.quote(DAEMONIZED)} <S>",
    # Some of the daemon's looks, a second apart, fall into each of its times, on a busy machine too.
    "what gets rid of its birthmark later": "env -i setsid sh -c 'sleep 1.5; exec prlimit "
    '--rttime=unlimited:unlimited sh -c "(sleep 5; exec <S>) & sleep 4"\' </dev/null >/dev/null 2>&1 &',
}
COMMANDS = [shape.replace("<S>", SLEEP.format(number)) for number, shape in enumerate(SHAPES.values())]
BYSTANDER = f"env -i setsid {SLEEP.format(len(SHAPES))} &"


def sleepers() -> dict[str, proc.Process]:
    """Return the living processes of this test by their last part of the command line."""
    found = {}
    for one in proc.processes():
        try:
            words = Path(f"/proc/{one.pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        name = words[1].decode(errors="replace") if len(words) > 1 and words[0].endswith(b"sleep") else ""
        if name.startswith("987654.") and not one.ended:
            found[name.removeprefix("987654.")] = one
    return found


def shapes_left() -> list[str]:
    return [name for number, name in enumerate(SHAPES) if str(number) in sleepers()]


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"{what}; left: {shapes_left()}"
        time.sleep(0.05)


def all_are_old() -> bool:
    now, found = proc.ticks_now(), sleepers()
    wanted = [str(number) for number in range(len(SHAPES))]
    age = OLD_SECONDS * os.sysconf("SC_CLK_TCK")
    return all(name in found and now - found[name].started > age for name in wanted)


class Client:
    """Somebody who calls tools of the project's root agent."""

    def __init__(self, daemon: DaemonProcess) -> None:
        headers = {"authorization": f"Bearer {daemon.token}"}
        self.http = httpx2.Client(
            base_url=f"{daemon.ready['url']}/api/v1", headers=headers, timeout=SECONDS, trust_env=False
        )
        self.project = daemon.ready["projects"][0]["id"]

    def ask(self, method: str, path: str, **body: Any) -> Any:
        answer = self.http.request(method, path, json=body or None)
        assert answer.is_success, answer.text
        return orjson.loads(answer.content) if answer.content else None

    def session(self) -> str:
        return f"/sessions/{self.ask('POST', '/sessions', project_id=self.project)['id']}"

    def shell(self, session: str, command: str) -> None:
        envelope = self.ask("POST", f"{session}/tools/shell.bash", params={"command": command})
        assert envelope["type"] == "output", envelope


@pytest.fixture
def daemon(home: Home) -> Iterator[DaemonProcess]:
    project = PROJECT_YAML + '    "shell.bash": { enabled: true }\n'
    (home.project / ".kaged" / "project.yaml").write_text(project)
    everything = "\n".join(COMMANDS) + "\n/bin/sleep 600\n"
    call = orjson.dumps({"command": everything, "timeout": 60_000}).decode()
    (home.folder / "demo.yaml").write_text(
        "conversations:\n  - when: hide\n    steps:\n      - answer:\n"
        f"          - tool_call: {{ name: shell.bash, arguments: {call} }}\n"
    )
    with home.config.open("a") as config:
        config.write("[limits]\nptys_per_session = 20\n")
    running = DaemonProcess(home).start()
    yield running
    running.stop()
    for one in sleepers().values():
        os.kill(one.pid, signal.SIGKILL)


@pytest.fixture
def client(daemon: DaemonProcess) -> Iterator[Client]:
    client = Client(daemon)
    with client.http:
        # With other commands there, what somebody left behind is not that of the only one.
        client.shell(client.session(), BYSTANDER)
        yield client


def hidden(client: Client) -> tuple[str, list[dict[str, Any]]]:
    """Leave one of each shape behind and return the session and its commands, once all are old."""
    session = client.session()
    for command in COMMANDS:
        client.shell(session, command)
    until(all_are_old, "they did not start")
    return session, client.ask("GET", f"{session}/commands")["items"]


def only_the_bystander_is_left() -> bool:
    return list(sleepers()) == [str(len(SHAPES))]


def test_deleting_a_command_ends_all_that_it_left_behind(client: Client) -> None:
    session, commands = hidden(client)
    assert [one["state"] for one in commands] == ["background"] * len(SHAPES)
    for command in commands:
        client.ask("DELETE", f"{session}/commands/{command['id']}")
    until(only_the_bystander_is_left, "DELETE left some behind")


def test_archiving_a_session_ends_all_that_it_left_behind(client: Client) -> None:
    session, _ = hidden(client)
    client.ask("POST", f"{session}/archive")
    until(only_the_bystander_is_left, "archiving left some behind")


def test_cancelling_a_run_ends_all_that_its_call_has_started(client: Client) -> None:
    session = client.session()
    client.ask("POST", f"{session}/messages", content="hide")
    until(all_are_old, "they did not start")
    client.ask("POST", f"{session}/cancel")
    until(only_the_bystander_is_left, "the cancel left some behind")


def test_killing_the_daemon_ends_all_that_it_has_started(daemon: DaemonProcess, client: Client) -> None:
    hidden(client)
    daemon.signal(signal.SIGKILL)
    daemon.wait()
    until(lambda: not sleepers(), "the killed daemon left some behind")
