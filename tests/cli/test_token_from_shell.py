"""The daemon's token and the shell of an agent without a cage: who uses the token from there is refused."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from app.bridges.processes import proc
from app.bridges.processes.tcp_peers import peer_descends, peer_descends_through
from tests.driver.kaged import COMMAND, PROJECT_YAML, ROOT, WAIT_SECONDS, DaemonProcess, Home

pytestmark = pytest.mark.requirement("security.daemon_token")

CLIENT = """
import http.client, json, os, sys, time
host, port, token, out, way = sys.argv[1:]
if way == "left":
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
body = json.dumps({"name": f"{way}{time.time_ns()}"}) if way in ("write", "left", "gone") else None
asked = http.client.HTTPConnection(host, int(port), timeout=60)
headers = {"Authorization": f"Bearer {token}", "Host": f"127.0.0.1:{port}"}
headers["Content-Type"] = "application/json"
path = "/launch?token=guess" if way == "launch" else "/api/v1/ws" if way == "socket" else "/api/v1/tokens"
if way == "socket":
    headers |= {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    headers["Sec-WebSocket-Key"] = "MDEyMzQ1Njc4OWFiY2RlZg=="
asked.request("POST" if body else "GET", path, body, headers)
if way == "gone":
    os._exit(0)
told = asked.getresponse()
answer = {"frame": told.fp.read1(200)[4:].decode()} if way == "socket" else json.loads(told.read())
with open(out + ".part", "w") as file:
    json.dump([told.status, answer], file)
os.rename(out + ".part", out)
"""


class Shell:
    """The shell of an agent without a cage, and a client that it starts."""

    def __init__(self, daemon: DaemonProcess) -> None:
        self.daemon = daemon
        self.home = daemon.home
        (self.home.project / "client.py").write_text(CLIENT)
        self.client = httpx2.Client(
            base_url=daemon.ready["url"] + "/api/v1",
            headers={"authorization": f"Bearer {daemon.token}"},
            trust_env=False,
            timeout=WAIT_SECONDS,
        )
        made = self.client.post("/sessions", json={"project_id": daemon.ready["projects"][0]["id"]})
        self.session: str = made.json()["id"]
        self.port = int(daemon.ready["url"].rpartition(":")[2])
        self._calls = 0

    def run(self, command: str) -> str:
        """Run a command; return the whole answer as text."""
        answer = self.client.post(
            f"/sessions/{self.session}/tools/shell.bash", json={"params": {"command": command}}
        )
        assert answer.status_code == 200, answer.text
        return answer.text

    def ask(self, way: str, host: str = "127.0.0.1", token: str | None = None) -> tuple[int, dict[str, Any]]:
        """Have the client ask the daemon; return the status and the answer."""
        self._calls += 1
        out = self.home.project / f"answer{self._calls}"
        self.start(way, host, token, out)
        deadline = time.monotonic() + WAIT_SECONDS
        while not out.exists() and time.monotonic() < deadline:
            time.sleep(0.02)  # the client may have left its shell
        status, answer = orjson.loads(out.read_bytes())
        return status, answer

    def start(self, way: str, host: str, token: str | None, out: Path) -> None:
        words = f"{host} {self.port} {token or self.daemon.token} {out.name} {way}"
        self.run(f"{COMMAND[0]} client.py {words}")

    def names(self) -> set[str]:
        return {item["name"] for item in self.client.get("/tokens", params={"limit": 100}).json()["items"]}


@pytest.fixture(scope="module", params=["127.0.0.1", "::", "0.0.0.0"])
def shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    home = Home(tmp_path_factory.mktemp("home"))
    project = PROJECT_YAML + "    shell.bash: { enabled: true }\n"
    (home.project / ".kaged" / "project.yaml").write_text(project)
    running = DaemonProcess(home, arguments=("--host", request.param)).start()
    running.ready["url"] = f"http://127.0.0.1:{running.ready['url'].rpartition(':')[2]}"
    shell = Shell(running)
    with closing(shell.client):
        yield shell
    running.stop()


def addresses(shell: Shell) -> list[str]:
    """Return the addresses of this machine at which the daemon can be reached."""
    own = {found[4][0] for found in socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)}
    reached = []
    for address in ("127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1", *map(str, sorted(own))):
        with suppress(OSError), socket.create_connection((address, shell.port), timeout=5):
            reached.append(address)
    return reached


@pytest.mark.parametrize("way", ["read", "write", "left", "launch"])
def test_the_daemons_token_is_refused_from_what_an_agents_shell_started(shell: Shell, way: str) -> None:
    before = shell.names()
    for address in addresses(shell):
        status, answer = shell.ask(way, address)
        assert (status, answer["error"]["code"]) == (403, "forbidden"), (address, answer)
        assert answer["error"]["details"]["reason"] == "started_by_daemon"
        assert "kaged token create" in answer["error"]["message"]
    assert shell.names() == before


def test_a_websocket_is_refused_to_what_an_agents_shell_started(shell: Shell) -> None:
    _, answer = shell.ask("socket")
    assert answer == {"frame": "started_by_daemon"}  # the reason of the close frame


@pytest.mark.parametrize(
    "reading",
    ["cd .. && cd data && cat token", "cd .. && cat d*/tok*", "find .. -name token -exec cat {} +"],
)
def test_reading_the_token_file_gives_an_agents_shell_nothing_to_use(shell: Shell, reading: str) -> None:
    assert shell.daemon.token not in shell.run(reading)
    (shell.home.project / "use.sh").write_text(
        f"T=$( ({reading}) 2>&1) && cd {shell.home.project}\n"
        f"{COMMAND[0]} client.py 127.0.0.1 {shell.port} $T used write && cat used\n"
    )
    before = shell.names()
    assert "started_by_daemon" in shell.run("sh ./use.sh")
    assert shell.names() == before


def test_a_client_that_leaves_at_once_is_refused_what_it_asked_for(shell: Shell) -> None:
    before = shell.names()
    for _ in range(10):
        shell.start("gone", "127.0.0.1", None, Path("none"))
    assert shell.names() == before


def test_a_client_that_ends_while_its_process_is_looked_for_counts_as_started_by_the_daemon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = (
        "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); sys.stdin.read()"
    )
    listed = proc.descendants

    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [sys.executable, "-c", program, str(listener.getsockname()[1])]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as client:
            accepted, address = listener.accept()

            def after_its_end(ancestor: int) -> set[int]:
                client.kill()
                client.wait()
                return listed(ancestor)

            monkeypatch.setattr(proc, "descendants", after_its_end)
            with accepted:
                assert peer_descends(address, accepted.getsockname())


def test_another_process_of_the_user_is_let_in_at_every_address(shell: Shell) -> None:
    for address in addresses(shell):
        headers = {"Authorization": f"Bearer {shell.daemon.token}", "Host": f"127.0.0.1:{shell.port}"}
        with closing(http.client.HTTPConnection(address, shell.port, timeout=WAIT_SECONDS)) as asked:
            asked.request("GET", "/api/v1/tokens", headers=headers)
            with asked.getresponse() as answer:
                assert answer.status == 200, address
    done = shell.home.run("token", "list", "--url", shell.daemon.ready["url"], "--token", shell.daemon.token)
    assert done.returncode == 0, done.stderr


def test_an_operators_other_tokens_are_refused_too_and_an_agents_own_is_let_in(shell: Shell) -> None:
    made = shell.client.post("/tokens", json={"name": "viewer", "scope": "read-only"}).json()
    assert shell.ask("read", token=made["token"])[0] == 403
    bound = {"scope": "agent", "session_id": shell.session, "agent_path": "primary"}
    own = shell.client.post("/tokens", json={"name": "own", **bound}).json()["token"]
    (shell.home.project / "own.py").write_text(
        "from urllib.request import Request, urlopen\n"
        f"url = '{shell.daemon.ready['url']}/api/v1/sessions/{shell.session}'\n"
        f"print('answered', urlopen(Request(url, headers={{'Authorization': 'Bearer {own}'}})).status)\n"
    )
    assert "answered 200" in shell.run(f"{COMMAND[0]} own.py")


def test_the_command_line_says_why_it_is_refused_in_an_agents_shell(shell: Shell) -> None:
    (shell.home.project / "list.sh").write_text(
        f"PYTHONPATH={ROOT} {' '.join(COMMAND)} session list --url {shell.daemon.ready['url']} "
        f"--token {shell.daemon.token} 2>&1\n"
    )
    assert "may not act as the operator" in shell.run("sh ./list.sh")


def test_a_connection_from_elsewhere_is_of_no_process_here() -> None:
    """The table has our end of it, and no other."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        here = listener.getsockname()
        with socket.create_connection(here) as client:
            assert not peer_descends(client.getsockname(), here)
        assert peer_descends(("192.0.2.1", 9), here)  # it is gone, or it never was


def test_a_client_that_another_daemon_stands_for_is_looked_for_where_it_is_connected() -> None:
    program = (
        "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); sys.stdin.read()"
    )
    with socket.create_server(("127.0.0.1", 0)) as other, socket.create_server(("127.0.0.1", 0)) as own:
        command = [sys.executable, "-c", program, str(other.getsockname()[1])]
        through, here = other.getsockname(), own.getsockname()
        with (
            socket.create_connection(here) as passing,
            socket.create_connection(through) as stranger,
            subprocess.Popen(command, stdin=subprocess.PIPE) as child,
        ):
            strangers, _ = other.accept()
            accepted, address = other.accept()
            with strangers, accepted:
                peer, elsewhere = passing.getsockname(), ("192.0.2.1", 9)
                assert peer_descends_through(address, through, peer, here)
                assert peer_descends_through(address, through, elsewhere, here)
                assert not peer_descends_through(stranger.getsockname(), through, peer, here)
                assert not peer_descends_through(elsewhere, through, elsewhere, here)
                assert peer_descends_through(elsewhere, through, peer, here)  # it is gone
            child.kill()
