"""`kaged serve`: the ready line, the folder lock, and stopping."""

from __future__ import annotations

import signal
import socket
import stat
import subprocess
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import httpx2
import orjson
import pytest

from tests.driver.kaged import COMMAND, WAIT_SECONDS, DaemonProcess, Home
from tests.driver.ports import steady_port


@pytest.mark.requirement("command_line.serve")
def test_json_prints_exactly_one_line_when_ready_and_sigterm_ends_it_well(home: Home) -> None:
    daemon = DaemonProcess(home).start()
    ready = daemon.ready
    assert list(ready) == ["event", "url", "launch_url", "token_file", "pid", "projects"]
    assert (ready["event"], ready["pid"]) == ("ready", daemon.process.pid)
    assert ready["launch_url"].startswith(f"{ready['url']}/launch?token=")
    assert ready["token_file"] == str(home.data_dir / "token")
    assert stat.S_IMODE(Path(ready["token_file"]).stat().st_mode) == 0o600
    (project,) = ready["projects"]
    assert (project["slug"], project["root"]) == ("library", str(home.project))
    assert httpx2.get(f"{ready['url']}/healthz", trust_env=False, timeout=WAIT_SECONDS).status_code == 200
    daemon.signal(signal.SIGTERM)
    assert daemon.wait() == 0
    assert daemon.further_output() == []


@pytest.mark.requirement("bad_input.second_daemon", "command_line.serve")
def test_a_second_daemon_on_the_same_folder_refuses_and_names_the_first(home: Home) -> None:
    daemon = DaemonProcess(home).start()
    second = home.run("serve", "--json")
    assert second.returncode == 1
    assert second.stdout == ""
    assert str(daemon.process.pid) in second.stderr
    assert daemon.ready["url"] in second.stderr
    daemon.stop()


@pytest.mark.requirement("command_line.serve")
def test_without_json_the_address_and_the_launch_link_are_shown(home: Home) -> None:
    terminal = home.terminal("serve", "--log-level", "error")
    terminal.expect(r"http://127\.0\.0\.1:\d+")
    terminal.expect(r"http://127\.0\.0\.1:\d+/launch\?token=\S+")
    terminal.expect("library")
    terminal.sendintr()
    terminal.expect("\r\n")
    terminal.wait()
    assert terminal.exitstatus == 0


def test_flags_beat_the_config_file(home: Home, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    daemon = DaemonProcess(home, ("--data-dir", str(other), "--auth", "insecure")).start()
    assert daemon.ready["token_file"] == str(other / "token")
    answer = httpx2.get(f"{daemon.ready['url']}/api/v1/projects", trust_env=False, timeout=WAIT_SECONDS)
    assert (answer.status_code, answer.headers["x-kaged-warning"]) == (200, "insecure")
    assert daemon.stop() == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--project", "nowhere"), "there is no folder"),
        (("--config", "nowhere.toml"), "there is no config file"),
        (("--host", "192.0.2.1"), "--host"),
    ],
)
def test_a_daemon_that_cannot_start_says_what_to_do(
    home: Home, arguments: tuple[str, ...], expected: str
) -> None:
    done = home.run("serve", "--json", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert expected in orjson.loads(done.stderr.splitlines()[-1])["error"]["message"]


@pytest.mark.requirement("in_use.outage")
def test_a_start_that_fails_turns_away_who_waits_for_it(home: Home, tmp_path: Path) -> None:
    """A page or a command that reconnects while the database is away neither holds the end up nor leaves a
    traceback."""
    port = steady_port()
    with ExitStack() as held:
        database = held.enter_context(socket.create_server(("127.0.0.1", 0)))
        log = held.enter_context((tmp_path / "log").open("w"))
        url = f"postgresql://kaged@127.0.0.1:{database.getsockname()[1]}/kaged"
        process = subprocess.Popen(
            [*COMMAND, "serve", "--json", "--port", str(port)],
            cwd=home.project,
            env=home.environment(KAGED_STORAGE__URL=url),
            stderr=log,
        )
        held.callback(process.kill)
        database.settimeout(WAIT_SECONDS)
        asked, _ = database.accept()  # from now on the start waits for its database
        head = f"Host: 127.0.0.1:{port}\r\n"
        upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        waiting = [
            held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS))
            for _ in ("request", "websocket")
        ]
        waiting[0].sendall(f"GET /api/v1/projects HTTP/1.1\r\n{head}\r\n".encode())
        waiting[1].sendall(f"GET /api/v1/ws HTTP/1.1\r\n{head}{upgrade}{key}\r\n".encode())
        # Both have arrived when a later one is answered.
        with httpx2.Client(trust_env=False, timeout=WAIT_SECONDS) as client:
            assert client.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
        asked.close()
        database.close()
        answers = [b"".join(iter(partial(one.recv, 4096), b"")) for one in waiting]
        assert process.wait(WAIT_SECONDS) == 1
    said = (tmp_path / "log").read_text()
    assert "Traceback" not in said and "PostgreSQL" in said
    assert answers[0].startswith(b"HTTP/1.1 503 ") and b'"unavailable"' in answers[0]
    head, _, body = answers[0].partition(b"\r\n\r\n")
    assert f"x-request-id: {orjson.loads(body)['error']['request_id']}".encode() in head
    assert answers[1].startswith(b"HTTP/1.1 403 ")


@pytest.mark.requirement("http.access")
@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_insecure_mode_beyond_this_machine_needs_a_second_flag(home: Home, host: str) -> None:
    done = home.run("serve", "--json", "--auth", "insecure", "--host", host)
    assert (done.returncode, done.stdout) == (1, "")
    assert "--allow-insecure-remote" in done.stderr


@pytest.mark.requirement("http.access")
def test_insecure_mode_beyond_this_machine_starts_with_the_second_flag(home: Home) -> None:
    flags = ("--auth", "insecure", "--host", "0.0.0.0", "--allow-insecure-remote")
    daemon = DaemonProcess(home, flags).start()
    port = daemon.ready["url"].rpartition(":")[2]
    answer = httpx2.get(f"http://127.0.0.1:{port}/api/v1/projects", trust_env=False, timeout=WAIT_SECONDS)
    assert (answer.status_code, answer.headers["x-kaged-warning"]) == (200, "insecure")
    assert daemon.stop() == 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_commands_and_links_reach_a_daemon_that_listens_everywhere(home: Home, host: str) -> None:
    daemon = DaemonProcess(home, ("--host", host)).start()
    listed = home.run("session", "list")
    link = httpx2.get(daemon.ready["launch_url"], trust_env=False, timeout=WAIT_SECONDS)
    assert daemon.stop() == 0
    assert (listed.returncode, listed.stderr) == (0, "")
    assert link.status_code in (200, 303)


@pytest.mark.requirement("http.access")
@pytest.mark.parametrize("nonce", ["", "short"])
def test_proxy_mode_needs_a_nonce_that_nobody_guesses(home: Home, nonce: str) -> None:
    done = home.run("serve", "--json", "--auth", "proxy", KAGED_AUTH__PROXY_NONCE=nonce)
    assert (done.returncode, done.stdout) == (1, "")
    assert "auth.proxy_nonce" in done.stderr


def test_a_project_that_does_not_compile_is_named_with_its_place(home: Home) -> None:
    (home.project / ".kaged" / "project.yaml").write_text("version: 1\nproject: library\nprimry: {}\n")
    done = home.run("serve")
    assert done.returncode == 1
    assert "project.yaml:3:1" in done.stderr
    as_json = home.run("serve", "--json")
    assert as_json.returncode == 1
    error = orjson.loads(as_json.stderr.splitlines()[-1])["error"]
    assert (error["code"], len(error["details"]["diagnostics"])) == ("dsl_invalid", 2)


@pytest.mark.parametrize("log_format", ["json", "human"])
def test_a_project_file_does_not_steer_the_terminal_of_who_serves_it(home: Home, log_format: str) -> None:
    hostile = 'version: 1\nproject: library\n"\\e]0;owned\\a\\e[2J\\x9b31m": 1\n'
    (home.project / ".kaged" / "project.yaml").write_text(hostile)
    done = home.run("serve", "--log-format", log_format)
    assert done.returncode == 1
    assert "owned" in done.stderr
    assert not set(done.stderr) & set("\x1b\x07\x9b")
