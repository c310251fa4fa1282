"""Every WebSocket that the daemon ends is told a code: a client never has to guess (1006) why."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import WebSocket
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from app.connections import BoundedWebSocket
from app.events.sessions import SessionUpdated
from tests.driver.daemon import Daemon, close_code, next_frame, running_daemon, write_project
from tests.driver.daemon_process import WAIT_SECONDS

pytestmark = pytest.mark.requirement("durability.socket_codes")
SOCKETS = 100
LONG = "x" * 50_000


async def chatter(socket: ClientConnection, frame: str = '{"type":"ping","id":1}') -> None:
    """Send, as a client does that has not heard yet that the socket ends."""
    with suppress(ConnectionClosed):
        while True:
            for _ in range(20):
                await socket.send(frame)
            await asyncio.sleep(0)


def served_by(daemon: Daemon) -> BoundedWebSocket:
    """Return the daemon's end of its only WebSocket."""
    (served,) = (one for one in daemon.server.server_state.connections if isinstance(one, BoundedWebSocket))
    return served


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that reads again gets everything, however long that takes on a busy machine."""
    monkeypatch.setattr("app.connections.LEAVING_SECONDS", 600.0)
    monkeypatch.setattr("app.connections.STOPPING_SECONDS", 600.0)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():  # noqa: ASYNC110 - a connection's end has no event
            await asyncio.sleep(0.01)


async def codes_at(
    daemon: Daemon, path: str, end: Callable[[], Awaitable[Any]], *, talking: bool = True
) -> Counter[int | None]:
    """Open `SOCKETS` sockets, have their clients talk, do `end`, and count the codes that they close with."""
    async with AsyncExitStack() as held:
        sockets = [
            await held.enter_async_context(daemon.websocket(path, ping_interval=None)) for _ in range(SOCKETS)
        ]
        talks = [asyncio.create_task(chatter(socket)) for socket in sockets if talking]
        ends = [asyncio.create_task(close_code(socket)) for socket in sockets]
        await asyncio.sleep(0)
        await end()
        found = Counter(await asyncio.gather(*ends))
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
        return found


async def test_all_clients_that_talk_while_the_daemon_stops_get_1012(
    tmp_path: Path, model_settings: dict[str, Any]
) -> None:
    limits = {"socket_frames_per_minute": 0}
    async with AsyncExitStack() as stopping:
        daemon = await stopping.enter_async_context(
            running_daemon(tmp_path / "data", limits=limits, **model_settings)
        )
        assert await codes_at(daemon, "/ws", stopping.aclose) == {1012: SOCKETS}


async def test_all_clients_of_a_deleted_session_get_4404(
    daemon: Daemon, client: httpx2.AsyncClient, session_id: str
) -> None:
    async def delete() -> None:
        assert (await client.delete(f"/api/v1/sessions/{session_id}")).status_code < 300

    assert await codes_at(daemon, f"/sessions/{session_id}/ws", delete, talking=False) == {4404: SOCKETS}


@pytest.mark.usefixtures("patient")
async def test_a_client_in_the_midst_of_a_frame_that_is_far_too_large_gets_1009(daemon: Daemon) -> None:
    """What it sends after the daemon has had enough of it must not be answered by a reset."""
    async with daemon.websocket("/ws", ping_interval=None) as socket:
        served = served_by(daemon)
        socket.transport.pause_reading()
        head = b"\x81\xff" + (24 * 1024 * 1024).to_bytes(8, "big") + bytes(4)
        socket.transport.write(head + bytes(1024 * 1024))
        await until(served.transport.is_closing)
        for _ in range(20):
            socket.transport.write(bytes(64 * 1024))
            await asyncio.sleep(0)
        socket.transport.resume_reading()
        assert await close_code(socket) == 1009


@pytest.mark.usefixtures("patient")
async def test_a_client_whose_frames_are_under_way_when_the_daemon_stops_gets_1012(daemon: Daemon) -> None:
    async with daemon.websocket("/ws", ping_interval=None) as socket:
        socket.transport.pause_reading()
        await socket.send('{"type":"ping","id":1}')
        served_by(daemon).shutdown()
        for _ in range(20):
            socket.transport.write(b"\x89\x80" + bytes(4))
            await asyncio.sleep(0)
        socket.transport.resume_reading()
        assert await close_code(socket) == 1012


@pytest.mark.parametrize("stopping", [True, False])
async def test_a_client_that_never_answers_the_close_is_not_waited_for(
    daemon: Daemon, stopping: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.connections.LEAVING_SECONDS", 600 if stopping else 0.2)
    async with daemon.websocket("/ws", ping_interval=None) as socket:
        served = served_by(daemon)
        socket.transport.pause_reading()
        served.shutdown() if stopping else served.transport.close()
        await until(lambda: served not in daemon.server.server_state.connections)
        socket.transport.abort()


async def test_clients_that_send_too_much_get_4429(tmp_path: Path, model_settings: dict[str, Any]) -> None:
    limits = {"socket_frames_per_minute": 5}
    async with running_daemon(tmp_path / "data", limits=limits, **model_settings) as daemon:

        async def nothing() -> None: ...

        assert await codes_at(daemon, "/ws", nothing) == {4429: SOCKETS}


@pytest.mark.usefixtures("patient")
async def test_a_client_that_reads_again_learns_why_its_socket_was_ended_meanwhile(
    daemon: Daemon, client: httpx2.AsyncClient, session_id: str
) -> None:
    """The code waits behind what the client has not read."""
    token = await daemon.services.access.create("short-lived")
    stream = await daemon.services.events.stream(session_id)
    path = f"/sessions/{session_id}/ws"
    async with daemon.websocket(path, token=token.secret, max_queue=1, ping_interval=None) as stalled:
        await next_frame(stalled, "sync")
        stalled.transport.pause_reading()
        served = served_by(daemon)
        async with asyncio.timeout(WAIT_SECONDS):
            while served.writable.is_set():
                await stream.record([SessionUpdated(title=LONG)])
        assert (await client.delete(f"/api/v1/tokens/{token.row.id}")).status_code == 200
        await until(lambda: served.close_sent or served.transport.is_closing())
        stalled.transport.resume_reading()
        assert await close_code(stalled) == 4401


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(("reads", "code"), [(False, 4008), (True, 1011)])
async def test_a_client_that_answers_no_ping_learns_whether_it_is_too_slow(
    daemon: Daemon, session_id: str, reads: bool, code: int
) -> None:
    stream = await daemon.services.events.stream(session_id)
    path = f"/sessions/{session_id}/ws"
    async with daemon.websocket(path, max_queue=1, ping_interval=None) as silent:
        await next_frame(silent, "sync")
        silent.transport.pause_reading()
        served = served_by(daemon)
        async with asyncio.timeout(WAIT_SECONDS):
            while served.writable.is_set() and not reads:
                await stream.record([SessionUpdated(title=LONG)])
        served.ping_timeout = 0
        served.send_keepalive_ping()
        await until(lambda: served.close_sent)
        silent.transport.resume_reading()
        assert await close_code(silent) == code


async def test_a_defect_in_a_socket_closes_it_with_1011(daemon: Daemon) -> None:
    async def defect(websocket: WebSocket) -> None:
        await websocket.accept()
        raise ZeroDivisionError

    async def silence(websocket: WebSocket) -> None:
        await websocket.accept()

    for path, endpoint in (("/api/v1/defect", defect), ("/api/v1/silence", silence)):
        daemon.app.add_api_websocket_route(path, endpoint)
    for path in ("/defect", "/silence"):
        async with daemon.websocket(path) as socket:
            assert await close_code(socket) == 1011


async def test_a_client_that_leaves_slowly_does_not_delay_the_notice_to_the_others(
    tmp_path: Path, model_settings: dict[str, Any]
) -> None:
    async with AsyncExitStack() as stopping:
        daemon = await stopping.enter_async_context(running_daemon(tmp_path / "data", **model_settings))
        root = write_project(tmp_path / "shop")
        async with daemon.client() as client:
            project = (await client.post("/api/v1/projects/load", json={"path": str(root)})).json()
            session = (await client.post("/api/v1/sessions", json={"project_id": project["id"]})).json()["id"]
        stream = await daemon.services.events.stream(session)
        async with (
            daemon.websocket(f"/sessions/{session}/ws", max_queue=1, ping_interval=None) as leaving,
            daemon.websocket("/ws") as staying,
        ):
            await next_frame(leaving, "sync")
            leaving.transport.pause_reading()
            served = [
                one for one in daemon.server.server_state.connections if isinstance(one, BoundedWebSocket)
            ]
            async with asyncio.timeout(WAIT_SECONDS):
                while all(one.writable.is_set() for one in served):
                    await stream.record([SessionUpdated(title=LONG)])
            leaving.protocol.send_close(1000)
            leaving.transport.write(b"".join(leaving.protocol.data_to_send()))
            await until(lambda: any(one.transport.is_closing() for one in served))
            codes = asyncio.create_task(close_code(staying))
            await stopping.aclose()
            assert await codes == 1012
            leaving.transport.abort()
