"""A daemon that is told to stop: sessions are paused, sockets told, and the next one goes on."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import orjson
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.ledger import Frame, Ledger, get, get_all
from tests.driver.sessions import write_project
from tests.fakes.provider_script import Reply, Stall, Text, text_reply
from tests.fakes.provider_server import FakeProvider

Start = Callable[[], Awaitable[DaemonProcess]]


@pytest.fixture
async def start(tmp_path: Path, model: FakeProvider) -> AsyncIterator[Start]:
    """A function that starts a daemon on this test's data folder."""
    root = write_project(tmp_path / "shop")
    config = write_config(tmp_path / "config.toml", model.port)
    started: list[DaemonProcess] = []

    async def start() -> DaemonProcess:
        started.append(await DaemonProcess.start(tmp_path / "data", config, root))
        return started[-1]

    yield start
    for daemon in started:
        await daemon.kill()


@asynccontextmanager
async def stalled_run(daemon: DaemonProcess, model: FakeProvider) -> AsyncIterator[tuple[Ledger, Socket]]:
    """A session whose model has said a little and says no more, and a socket on it."""
    model.script(Reply((Text("I begin "), Stall())))
    async with daemon.client() as client:
        made = await client.post("/sessions", json={"project_id": daemon.project_id})
        ledger = Ledger(made.json()["id"])
        posted = await client.post(f"/sessions/{ledger.session_id}/messages", json={"content": "Go"})
        ledger.acknowledged(posted.json())
    async with daemon.websocket(f"/sessions/{ledger.session_id}/ws") as connection:
        socket = Socket(connection, ledger)
        while not any(frame["type"] in ("message.delta", "message.snapshot") for frame in socket.frames):
            await socket.next()
        yield ledger, socket


class Socket:
    """A client's connection: every frame goes into the ledger."""

    def __init__(self, connection: ClientConnection, ledger: Ledger) -> None:
        self.frames: list[Frame] = []
        self._connection = connection
        self._ledger = ledger

    async def next(self) -> None:
        async with asyncio.timeout(60):
            text = await self._connection.recv()
        assert isinstance(text, str)
        self.frames.append(orjson.loads(text))
        self._ledger.received(self.frames[-1], text)

    async def close_code(self) -> int | None:
        """Read to the end and return the code that the daemon closed with."""
        try:
            while True:
                await self.next()
        except ConnectionClosed:
            return self._connection.close_code


@pytest.mark.requirement("recovery.restart", "websocket.closes")
async def test_sigterm_pauses_what_runs_closes_the_sockets_and_the_next_daemon_goes_on(
    start: Start, model: FakeProvider
) -> None:
    daemon = await start()
    async with stalled_run(daemon, model) as (ledger, socket):
        daemon.send_signal(signal.SIGTERM)
        assert await socket.close_code() == 1012
    async with asyncio.timeout(60):
        assert await daemon.process.wait() == 0
    told = [frame["type"] for frame in socket.frames if frame["type"] != "heartbeat"]
    assert told[-5:] == ["message.end", "step.ended", "run.ended", "checkpoint.created", "session.state"]

    model.script(text_reply("and go on."))
    again = await start()
    async with again.client() as client:
        session = await ledger.check(again, client)
        assert (session["state"], session["state_reason"]) == ("paused", "daemon_restart")
        resumed = await client.post(f"/sessions/{ledger.session_id}/resume")
        assert resumed.status_code == 201
        async with again.websocket(f"/sessions/{ledger.session_id}/ws") as connection:
            follower = Socket(connection, ledger)
            while not any(frame["payload"].get("state") == "idle" for frame in follower.frames):
                await follower.next()
        messages = await get_all(client, f"/sessions/{ledger.session_id}/messages")
        run = await get(client, f"/runs/{resumed.json()['run']['id']}")
    assert [row["content"] for row in messages if row["role"] == "primary"] == ["I begin ", "and go on."]
    assert run["state"] == "succeeded"
    assert await again.stop() == 0


@pytest.mark.requirement("command_line.serve")
async def test_a_second_sigterm_stops_at_once(start: Start, model: FakeProvider) -> None:
    daemon = await start()
    host, port = daemon.url.removeprefix("http://").split(":")
    # A request whose body does not come keeps the server waiting when it stops.
    _, slow = await asyncio.open_connection(host, int(port))
    head = (
        f"POST /api/v1/sessions HTTP/1.1\r\nhost: {host}:{port}\r\nauthorization: Bearer {daemon.token}\r\n"
    )
    slow.write(f"{head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{{".encode())
    await slow.drain()
    async with stalled_run(daemon, model) as (ledger, socket):
        daemon.send_signal(signal.SIGTERM)
        assert await socket.close_code() == 1012
    assert daemon.process.returncode is None
    began = time.monotonic()
    daemon.send_signal(signal.SIGTERM)
    assert await daemon.process.wait() == 1
    assert time.monotonic() - began < 15
    slow.close()

    again = await start()
    async with again.client() as client:
        assert (await ledger.check(again, client))["state"] == "paused"


@pytest.mark.requirement("bad_input.second_daemon")
async def test_a_second_daemon_on_the_data_folder_is_refused_by_the_name_of_the_first(
    start: Start, tmp_path: Path, model: FakeProvider
) -> None:
    first = await start()
    second = await DaemonProcess.spawn(tmp_path / "data", tmp_path / "config.toml")
    async with asyncio.timeout(60):
        output, _ = await second.process.communicate()
    assert second.process.returncode == 1
    assert output == b""
    said = second.errors.read_text()
    assert str(first.pid) in said
    assert first.url in said
    async with first.client() as client:
        assert (await client.get("/sessions")).status_code == 200
    # The lock ends with the process that held it, however that ended.
    await first.kill()
    await start()
