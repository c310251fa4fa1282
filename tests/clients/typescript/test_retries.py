"""Calls of the built client that are repeated: one key, the pause that is asked for, one effect."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.clients.typescript.programs import finish, printed, start
from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.ports import steady_port
from tests.driver.sessions import write_project
from tests.fakes.provider_server import FakeProvider

BUSY = b"HTTP/1.1 503 Busy\r\nRetry-After: 2\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
CREATED = (
    b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 14\r\n"
    b"Connection: close\r\n\r\n"
    b'{"id":"ses_1"}'
)
KEY = b"idempotency-key: "
SECRET = "kgd_not-a-token-of-this-daemon"

pytestmark = pytest.mark.requirement("client.typescript")


async def test_a_repeated_call_keeps_its_key_and_the_pause_of_the_daemon(
    built: Path, node: list[str]
) -> None:
    """First the server is busy, then it closes the connection without an answer, then it answers."""
    answers = iter((BUSY, b"", CREATED))
    requests: list[tuple[float, bytes]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        length = next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length"))
        await reader.readexactly(length)
        keys = [line.removeprefix(KEY) for line in lines if line.startswith(KEY)]
        requests.append((asyncio.get_running_loop().time(), keys[0]))
        writer.write(next(answers))
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        made = await printed(node, "create.mjs", built, f"http://127.0.0.1:{port}", "secret", "prj_1", "60")
    assert made == {"id": "ses_1"}
    assert len(requests) == 3
    assert len({key for _, key in requests}) == 1 and requests[0][1]
    assert requests[1][0] - requests[0][0] >= 2, "the client did not wait for Retry-After"


async def test_a_call_waits_for_the_daemon_and_is_executed_once(
    tmp_path: Path, built: Path, node: list[str]
) -> None:
    root = write_project(tmp_path / "shop")
    async with FakeProvider() as model:
        config = write_config(tmp_path / "config.toml", model.port)
        port = steady_port()
        daemon = await DaemonProcess.start(tmp_path / "data", config, root, port=port)
        await daemon.kill()
        creating = await start(node, "create.mjs", built, daemon.url, daemon.token, daemon.project_id, "60")
        daemon = await DaemonProcess.start(tmp_path / "data", config, root, port=port)
        try:
            made = await finish(creating)
            async with daemon.client() as client:
                stored = (await client.get("/sessions")).json()["items"]
        finally:
            await daemon.stop()
    assert [session["id"] for session in stored] == [made["id"]]


async def test_a_daemon_that_is_not_there_is_an_error_without_the_token(built: Path, node: list[str]) -> None:
    failed = await printed(node, "create.mjs", built, "http://127.0.0.1:9", SECRET, "prj_1", "0.2")
    assert failed["name"] == "ConnectionFailed"
    assert SECRET not in failed["all"]
