"""The streams of the built client: over a kill of the daemon, and with events that it does not know."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.typing import Subprotocol

from tests.clients.typescript.programs import start
from tests.driver.daemon_process import DaemonProcess, write_config
from tests.driver.ports import steady_port
from tests.driver.sessions import write_project
from tests.fakes.provider_script import Reply, Stall, Text, text_reply
from tests.fakes.provider_server import FakeProvider

RECONNECTED_SECONDS = 30
"""Pauses between attempts are at most 5 s. A client that waits for silence instead takes 60 s."""
TRANSIENT = ("message.delta", "message.snapshot", "tool.progress", "heartbeat", "sync")

pytestmark = pytest.mark.requirement("client.typescript")


async def read_until(
    process: asyncio.subprocess.Process, seen: list[dict[str, Any]], event: str, seconds: float = 90
) -> None:
    """Read events up to the next one of a type."""
    assert process.stdout is not None
    async with asyncio.timeout(seconds):
        while True:
            line = await process.stdout.readline()
            assert line, "the client ended"
            seen.append(json.loads(line))
            if seen[-1]["type"] == event:
                return


async def replayed(daemon: DaemonProcess, session: str, last: int) -> list[int]:
    """Return the numbers of all durable events up to one, as another client reads them."""
    found: list[int] = []
    async with daemon.websocket(f"/sessions/{session}/ws?after_seq=0", max_queue=None) as socket:
        while not found or found[-1] < last:
            frame = json.loads(await socket.recv())
            if frame["type"] not in TRANSIENT:
                found.append(frame["seq"])
    return found


async def test_each_durable_event_comes_once_and_in_order_over_a_kill(
    tmp_path: Path, built: Path, node: list[str]
) -> None:
    root = write_project(tmp_path / "shop")
    async with FakeProvider() as model:
        config = write_config(tmp_path / "config.toml", model.port)
        model.script(text_reply("One", " two"), Reply((Text("Half "), Stall())), text_reply("Whole."))
        port = steady_port()
        daemon = await DaemonProcess.start(tmp_path / "data", config, root, port=port)
        seen: list[dict[str, Any]] = []
        async with daemon.client() as client:
            session = (await client.post("/sessions", json={"project_id": daemon.project_id})).json()["id"]
            follower = await start(node, "follow.mjs", built, daemon.url, daemon.token, session)
            try:
                await client.post(f"/sessions/{session}/messages", json={"content": "Count"})
                await read_until(follower, seen, "run.ended")
                await client.post(f"/sessions/{session}/messages", json={"content": "Begin"})
                await read_until(follower, seen, "message.delta")
                await daemon.kill()
                daemon = await DaemonProcess.start(tmp_path / "data", config, root, port=port)
                await read_until(follower, seen, "run.ended", RECONNECTED_SECONDS)
                async with daemon.client() as again:
                    (await again.post(f"/sessions/{session}/resume")).raise_for_status()
                    await read_until(follower, seen, "run.ended")
                stored = await replayed(daemon, session, seen[-1]["seq"])
            finally:
                follower.kill()
                await follower.wait()
                await daemon.stop()

    assert sum(event["type"] == "sync" for event in seen) >= 2, "the client did not resume"
    durable = [event["seq"] for event in seen if event["type"] not in TRANSIENT]
    assert durable == stored


async def test_an_event_of_an_unknown_type_is_handed_on(built: Path, node: list[str]) -> None:
    common = {"session_id": "ses_1", "ts": "2026-01-01T00:00:00Z", "channel": "events"}
    newer = {**common, "seq": 1, "type": "comet.seen", "payload": {"tail": "long"}, "extra": [1]}
    known = {**common, "seq": 2, "type": "session.state", "payload": {"state": "idle"}}
    asked: list[str] = []

    async def answer(socket: ServerConnection) -> None:
        assert socket.request is not None
        asked.append(socket.request.path)
        for frame in (newer, known):
            await socket.send(orjson.dumps(frame).decode())
        await socket.wait_closed()

    seen: list[dict[str, Any]] = []
    async with serve(answer, "127.0.0.1", 0, subprotocols=[Subprotocol("kaged.v1")]) as server:
        port = server.sockets[0].getsockname()[1]
        follower = await start(node, "follow.mjs", built, f"http://127.0.0.1:{port}", "secret", "ses_1")
        try:
            await read_until(follower, seen, "session.state")
        finally:
            follower.kill()
            await follower.wait()
    assert seen == [{**newer, "type": "unknown", "name": "comet.seen"}, known]
    assert asked == ["/api/v1/sessions/ses_1/ws?after_seq=0"]
