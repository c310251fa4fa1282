"""A client that we have not written: another WebSocket library."""

from __future__ import annotations

import httpx
import orjson
import pytest
from httpx_ws import aconnect_ws

from tests.driver.daemon import Daemon


@pytest.mark.requirement("websocket.order")
async def test_another_websocket_library_gets_the_same_frames(daemon: Daemon, session_id: str) -> None:
    headers = {"authorization": f"Bearer {daemon.token}"}
    address = f"{daemon.url}/api/v1/sessions/{session_id}/ws"
    async with (
        httpx.AsyncClient(headers=headers, trust_env=False) as client,
        aconnect_ws(address, client) as socket,
    ):
        frame = orjson.loads(await socket.receive_text())
        await socket.send_text('{"type": "ping"}')
        answer = orjson.loads(await socket.receive_text())
    assert (frame["type"], frame["payload"]["from_seq"]) == ("sync", 1)
    assert answer["type"] == "pong"
