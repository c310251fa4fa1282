"""`kaged acp` when something is missing, wrong or ends: clear errors, and nothing but messages on stdout."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from acp import RequestError, text_block

from tests.driver.editor import WAIT_SECONDS, Editor, editor
from tests.driver.editor_project import editing_home
from tests.driver.kaged import COMMAND, DaemonProcess, Home

pytestmark = pytest.mark.requirement("acp.failures")

NO_KEY = """
[models]
demo = "anthropic:claude-sonnet-4-5"
[daemon]
port = 0
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with DaemonProcess(editing_home(tmp_path_factory.mktemp("home"))).start() as running:
        yield running


async def prompted(one: Editor, session: str, text: str) -> str:
    return str((await one.connection.prompt(session_id=session, prompt=[text_block(text)])).stop_reason)


def daemon_of(home: Home) -> int:
    """Return the process of the daemon that holds the data folder."""
    return int(orjson.loads((home.data_dir / "daemon.lock").read_bytes())["pid"])


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_what_is_missing_is_said(daemon: DaemonProcess, tmp_path: Path) -> None:
    async with editor(daemon.home) as one:
        await one.start()
        with pytest.raises(RequestError, match=r"has no \.kaged/project\.yaml; write one with `kaged init"):
            await one.new(tmp_path)
        with pytest.raises(RequestError, match="must be an absolute path"):
            await one.new(Path("library"))
        (tmp_path / ".kaged").mkdir()
        (tmp_path / ".kaged" / "project.yaml").write_text("version: 1\nproject: other\nprimary: 7\n")
        with pytest.raises(RequestError, match=r"project\.yaml:3:\d+: ") as wrong:
            await one.new(tmp_path)
        assert wrong.value.code == -32602
        with pytest.raises(RequestError, match="not open here"):
            await prompted(one, "ses_01JZ0000000000000000000000", "read it")
        session = await one.new(daemon.home.project)
        for blocks in ([], [text_block("  ")]):
            with pytest.raises(RequestError, match="prompt is empty"):
                await one.connection.prompt(session_id=session, prompt=blocks)
        with pytest.raises(RequestError, match="the key was refused") as refused:
            await prompted(one, session, "fail")
        assert refused.value.code == -32000
        assert await prompted(one, session, "long") == "max_tokens"
        stalled = asyncio.ensure_future(prompted(one, session, "stall"))
        await one.until(lambda: "Thinking it over" in one.said())
        with pytest.raises(RequestError, match="A prompt is running"):
            await prompted(one, session, "read it")
        await one.connection.cancel(session_id=session)
        assert await stalled == "cancelled"


async def test_a_project_that_nobody_trusts_has_no_sessions(tmp_path: Path) -> None:
    home = editing_home(tmp_path)
    home.trusted = False
    async with editor(home) as one:
        await one.start()
        with pytest.raises(RequestError, match="is not trusted, so nothing of it runs") as refused:
            await one.new(home.project)
        assert f"kaged trust {home.project}" in str(refused.value)
        assert home.run("trust").returncode == 0
        assert await prompted(one, await one.new(home.project), "read it") == "end_turn"


async def test_without_a_key_the_editor_is_asked_to_authenticate(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.config.write_text(NO_KEY)
    async with editor(home) as one:
        ready = await one.start()
        with pytest.raises(RequestError, match="ANTHROPIC_API_KEY") as refused:
            await one.new(home.project)
        assert refused.value.code == -32000
        with pytest.raises(RequestError, match="ANTHROPIC_API_KEY"):
            await one.connection.authenticate(method_id=ready.auth_methods[0].id)


async def test_no_daemon_is_started_against_the_wish(home: Home) -> None:
    async with editor(home, "--no-start") as one:
        await one.start()
        with pytest.raises(RequestError, match="no daemon is running"):
            await one.new(home.project)


async def test_the_daemon_that_it_started_ends_with_it(tmp_path: Path) -> None:
    home = editing_home(tmp_path)
    async with editor(home) as one:
        await one.start()
        session = await one.new(home.project)
        first = daemon_of(home)
        stalled = asyncio.ensure_future(prompted(one, session, "stall"))
        await one.until(lambda: "Thinking it over" in one.said())
        os.kill(first, signal.SIGKILL)
        with pytest.raises(RequestError, match="does not answer"):
            await stalled
        assert await prompted(one, session, "read it") == "end_turn"
        second = daemon_of(home)
        assert second != first
    assert one.process.returncode == 0
    assert gone(second)


async def test_a_session_survives_an_editor_that_leaves(daemon: DaemonProcess) -> None:
    async with editor(daemon.home) as one:
        await one.start()
        session = await one.new(daemon.home.project)
        stalled = asyncio.ensure_future(prompted(one, session, "stall"))
        await one.until(lambda: "Thinking it over" in one.said())
    assert one.process.returncode == 0
    with pytest.raises(ConnectionError):
        await stalled
    assert daemon.call("GET", f"/sessions/{session}")["state"] == "running"
    # An event that is newer than what the answer has said.
    daemon.call("PATCH", f"/sessions/{session}", {"title": "Left"})
    async with editor(daemon.home) as two:
        await two.start()
        await two.connection.load_session(cwd=str(daemon.home.project), session_id=session, mcp_servers=[])
        assert two.said("user_message_chunk") == "stall"
        await two.until(lambda: "Thinking it over" in two.said())
        await two.connection.cancel(session_id=session)
        assert await prompted(two, session, "read it") == "end_turn"


def lines_of(daemon: DaemonProcess, *sent: bytes) -> tuple[list[dict[str, Any]], int]:
    """Write lines to `kaged acp`, close its input, and return its messages and exit code."""
    done = subprocess.run(
        [*COMMAND, "acp"],
        cwd=daemon.home.folder,
        env=daemon.home.environment(),
        input=b"".join(sent),
        capture_output=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    return [orjson.loads(line) for line in done.stdout.splitlines()], done.returncode


def test_lines_that_are_no_messages_are_refused(daemon: DaemonProcess) -> None:
    hello = {"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": {"protocolVersion": 1}}
    hello["params"]["_meta"] = {"protocol_version": 7, "self": 1}  # type: ignore[index]
    answers, code = lines_of(
        daemon,
        b"hello\n",
        b"[1, 2]\n",
        b'{"jsonrpc": "2.0", "id": [1], "result": {}}\n',
        b'{"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": [1]}\n',
        b'{"jsonrpc": "2.0", "id": 4, "method": "session/prompt", "params": {"prompt": 1}}\n',
        b'{"jsonrpc": "2.0", "id": 5, "method": "session/nothing", "params": {}}\n',
        b'{"jsonrpc": "2.0", "id": 6, "result": {}}\n',
        b'{"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "ses_1"}}\n',
        b" " * 40_000_000 + b"\n",
        b'"' + b"x" * 40_000_000 + b'"\n',
        b"\n",
        orjson.dumps(hello),
    )
    assert code == 0
    errors = [(one["id"], one["error"]["code"]) for one in answers if "error" in one]
    assert sorted(errors, key=str) == [
        *((3, -32600), (4, -32602), (5, -32601)),
        *((None, -32600), (None, -32600), (None, -32600), (None, -32600), (None, -32700)),
    ]
    (ready,) = [one["result"] for one in answers if "result" in one]
    assert ready["protocolVersion"] == 1


def test_what_the_command_prints_is_no_message(daemon: DaemonProcess) -> None:
    file = daemon.home.project / ".kaged" / "project.yaml"
    before = file.read_text()
    file.write_text(f"{before}nonsense: 1\n")  # the last good version is used, with a warning
    new = {"cwd": str(daemon.home.project), "mcpServers": []}
    try:
        with subprocess.Popen(
            [*COMMAND, "acp"],
            env=daemon.home.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as running:
            assert running.stdin and running.stdout and running.stderr
            running.stdin.write(_request(1, "session/new", new))
            running.stdin.flush()
            assert orjson.loads(running.stdout.readline())["result"]["sessionId"]
            running.stdin.close()
            assert running.stdout.read() == b""
            assert b"the last good version is used" in running.stderr.read()
            assert running.wait(WAIT_SECONDS) == 0
    finally:
        file.write_text(before)


def _request(number: int, method: str, params: dict[str, Any]) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + b"\n"


@pytest.mark.parametrize("name", ["library/README.md", "/dev/null"])
def test_files_in_place_of_pipes_are_refused(home: Home, name: str) -> None:
    with (home.folder / name).open("rb") as file:
        done = subprocess.run(
            [*COMMAND, "acp"],
            env=home.environment(),
            stdin=file,
            capture_output=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
    assert done.returncode == 2
    assert b"must be pipes" in done.stderr
    assert done.stdout == b""
