"""The WebSockets: handshake, frames both ways, close codes. Order and replay are the hub's tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import jsonschema_rs
import orjson
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.typing import Subprotocol

from app.api import stream
from app.events.sessions import SessionUpdated
from tests.driver.daemon import Daemon, close_code, next_frame, running_daemon, write_project
from tests.driver.loop_clock import put_all_forward
from tests.fakes.provider_script import Reply, Stall, Text, text_reply
from tests.fakes.provider_server import FakeProvider

UNKNOWN = "ses_01JZ0000000000000000000000"
PUBLISHED_FRAMES = Path(__file__).parents[2] / "openapi" / "events.schema.json"


async def send(socket: ClientConnection, frame: Any) -> None:
    await socket.send(orjson.dumps(frame).decode())


@pytest.fixture
async def quick_daemon(tmp_path: Path, model_settings: dict[str, Any]) -> AsyncIterator[Daemon]:
    """A daemon whose clocks run fast."""
    fast = {"heartbeat_seconds": 0.1, "idle_timeout_seconds": 1.6}
    async with running_daemon(tmp_path / "data", daemon=fast, **model_settings) as running:
        yield running


async def session_in(daemon: Daemon, root: Path) -> str:
    async with daemon.client() as client:
        project = (await client.post("/api/v1/projects/load", json={"path": str(write_project(root))})).json()
        session = await client.post("/api/v1/sessions", json={"project_id": project["id"]})
        return str(session.json()["id"])


@pytest.mark.parametrize("token", ["", "kgd_wrong"])
@pytest.mark.requirement("websocket.closes")
async def test_without_a_valid_token_the_socket_closes_with_4401(
    daemon: Daemon, session_id: str, token: str
) -> None:
    for path in (f"/sessions/{session_id}/ws", "/ws"):
        async with daemon.websocket(path, token=token) as socket:
            assert await close_code(socket) == 4401


@pytest.mark.parametrize("origin", ["http://evil.example", "null"])
@pytest.mark.requirement("websocket.closes", "bad_input.origin")
async def test_a_foreign_origin_closes_with_4403_even_with_a_token(
    daemon: Daemon, session_id: str, origin: str
) -> None:
    async with daemon.websocket(f"/sessions/{session_id}/ws", origin=origin) as socket:
        assert await close_code(socket) == 4403


async def test_a_wrong_host_closes_with_4403(daemon: Daemon, session_id: str) -> None:
    async with daemon.websocket(f"/sessions/{session_id}/ws", name="evil.example") as socket:
        assert await close_code(socket) == 4403


@pytest.mark.requirement("websocket.closes")
async def test_an_unknown_session_closes_with_4404(daemon: Daemon) -> None:
    async with daemon.websocket(f"/sessions/{UNKNOWN}/ws") as socket:
        assert await close_code(socket) == 4404


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("after_seq=-1", "after_seq: Input should be greater than or equal to 0"),
        ("after_seq=x", "after_seq: Input should be a valid integer"),
        ("after_seq=99999999999999999999999", "after_seq: Input should be less than"),
        ("snapshots=none", "snapshots: Input should be 'missed' or 'all'"),
    ],
)
async def test_a_wrong_query_closes_with_1008(
    daemon: Daemon, session_id: str, query: str, wrong: str
) -> None:
    async with daemon.websocket(f"/sessions/{session_id}/ws?{query}") as socket:
        assert await close_code(socket) == 1008
        assert str(socket.close_reason).startswith(f"validation_failed: {wrong}")


async def test_a_browser_sends_its_token_as_a_subprotocol(daemon: Daemon, session_id: str) -> None:
    bearer = Subprotocol(f"kaged.bearer.{daemon.token}")
    path = f"/sessions/{session_id}/ws"
    async with daemon.websocket(path, token="", subprotocols=[bearer]) as socket:
        assert (await next_frame(socket))["type"] == "sync"
    async with daemon.websocket(path, token="", subprotocols=[bearer, Subprotocol("kaged.v1")]) as socket:
        assert socket.subprotocol == "kaged.v1"
        assert (await next_frame(socket))["type"] == "sync"


async def test_a_browser_that_launched_connects_with_its_cookie(daemon: Daemon, session_id: str) -> None:
    async with daemon.client(token="") as browser:
        await browser.get(daemon.services.access.launch_url(daemon.url))
        cookie = "; ".join(f"{entry.name}={entry.value}" for entry in browser.cookies.jar)
    async with daemon.websocket(
        f"/sessions/{session_id}/ws", token="", origin=daemon.url, additional_headers={"cookie": cookie}
    ) as socket:
        assert (await next_frame(socket))["type"] == "sync"


@pytest.mark.requirement("websocket.order")
async def test_a_run_is_streamed_from_start_to_end(
    daemon: Daemon, client: httpx2.AsyncClient, session_id: str, model: FakeProvider
) -> None:
    model.script(text_reply("It is", " about", " a shop."))
    async with daemon.websocket(f"/sessions/{session_id}/ws?after_seq=0") as socket:
        assert (await next_frame(socket))["type"] == "sync"
        await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "What is this?"})
        frames = [await next_frame(socket)]
        while frames[-1]["type"] != "run.ended":
            frames.append(await next_frame(socket))
    seqs = [frame["seq"] for frame in frames]
    assert seqs == sorted(set(seqs))
    assert {frame["session_id"] for frame in frames} == {session_id}
    text = "".join(frame["payload"]["delta"] for frame in frames if frame["type"] == "message.delta")
    assert text == "It is about a shop."
    kinds = [frame["type"] for frame in frames]
    assert kinds.count("message.start") == kinds.count("message.end") == 1


@pytest.mark.requirement("websocket.order", "websocket.resume")
async def test_coming_back_with_after_seq_gives_the_rest_and_nothing_twice(
    daemon: Daemon, client: httpx2.AsyncClient, session_id: str, model: FakeProvider
) -> None:
    model.script(text_reply("A shop."))
    seen: list[dict[str, Any]] = []
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "What is this?"})
        while not seen or seen[-1]["type"] != "run.ended":
            seen.append(await next_frame(socket))
    durable = [f for f in seen if f["type"] not in ("sync", "message.delta", "heartbeat", "tool.progress")]
    middle = durable[len(durable) // 2]["seq"]
    async with daemon.websocket(f"/sessions/{session_id}/ws?after_seq={middle}") as socket:
        sync = await next_frame(socket)
        rest = [await next_frame(socket) for frame in durable if frame["seq"] > middle]
    assert (sync["type"], sync["payload"]["from_seq"]) == ("sync", middle + 1)
    assert rest == [frame for frame in durable if frame["seq"] > middle]


@pytest.mark.requirement("websocket.frames")
async def test_a_ping_is_answered_with_its_id(daemon: Daemon, session_id: str) -> None:
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        await send(socket, {"type": "ping", "id": "a1"})
        pong = await next_frame(socket, "pong")
        await send(socket, {"type": "ack", "seq": 0})
        await send(socket, {"type": "ping"})
        second = await next_frame(socket, "pong", "error")
        await send(socket, {"type": "dance"})
        error = await next_frame(socket, "error")
    assert pong["payload"] == {"id": "a1"}
    assert "seq" not in pong
    assert second["type"] == "pong"
    schema = jsonschema_rs.Draft202012Validator(
        orjson.loads(PUBLISHED_FRAMES.read_bytes()), validate_formats=True
    )
    for frame in (pong, second, error):
        schema.validate(frame)


@pytest.mark.requirement("websocket.frames")
async def test_a_client_gets_only_the_channels_that_it_asked_for(
    daemon: Daemon, client: httpx2.AsyncClient, session_id: str, model: FakeProvider
) -> None:
    model.script(text_reply("A shop."))
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        await send(socket, {"type": "subscribe", "channels": ["output"]})
        await send(socket, {"type": "ping"})
        await next_frame(socket, "pong")
        await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "What is this?"})
        frames = [await next_frame(socket)]
        while frames[-1]["type"] != "message.end":
            frames.append(await next_frame(socket))
    assert {frame["channel"] for frame in frames} == {"output"}


@pytest.mark.requirement("websocket.frames")
async def test_cancel_over_the_socket_stops_the_run(
    daemon: Daemon, client: httpx2.AsyncClient, session_id: str, model: FakeProvider
) -> None:
    model.script(Reply((Text("one moment"), Stall())))
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "go"})
        await next_frame(socket, "message.delta")
        await send(socket, {"type": "cancel"})
        ended = await next_frame(socket, "run.ended")
        await send(socket, {"type": "pause"})
        refused = await next_frame(socket, "error")
    assert ended["payload"]["state"] == "cancelled"
    assert refused["payload"]["code"] == "conflict"
    assert refused["payload"]["details"]["state"] == "idle"


async def test_an_answer_that_is_malformed_is_reported_by_the_names_of_its_fields(
    daemon: Daemon, session_id: str
) -> None:
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        given = {"answers": {"database": "SQLite"}, "values": {"photo": ["upl_1"]}}
        await send(socket, {"type": "answer", "interaction_id": "itx_1", **given})
        error = await next_frame(socket, "error")
    assert set(error["payload"]["details"]["fields"]) == {"answers.database", "values.photo"}


async def test_a_read_only_token_watches_and_does_not_steer(daemon: Daemon, session_id: str) -> None:
    created = await daemon.services.access.create("viewer", scope="read-only")
    async with daemon.websocket(f"/sessions/{session_id}/ws", token=created.secret) as socket:
        assert (await next_frame(socket))["type"] == "sync"
        await send(socket, {"type": "cancel"})
        refused = await next_frame(socket, "error")
    assert refused["payload"]["code"] == "forbidden"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not json", "invalid_json"),
        ("[]", None),
        ('{"type": "dance"}', None),
        ('{"seq": 3}', None),
        ('{"type": "ack", "seq": "3"}', None),
        ('{"type": "ack", "seq": -1}', None),
        ('{"type": "ping", "extra": 1}', None),
        ('{"type": "subscribe", "channels": ["gossip"]}', None),
        ('{"type": "ping", "id": "' + "x" * 70_000 + '"}', "frame_too_large"),
    ],
)
async def test_a_malformed_frame_is_answered_and_the_socket_stays(
    daemon: Daemon, session_id: str, text: str, reason: str | None
) -> None:
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        await socket.send(text)
        error = await next_frame(socket, "error")
        await send(socket, {"type": "ping"})
        assert (await next_frame(socket, "pong"))["type"] == "pong"
    assert error["payload"]["code"] in ("bad_request", "validation_failed")
    assert error["payload"]["message"]
    if reason is not None:
        assert error["payload"]["details"]["reason"] == reason


@pytest.mark.parametrize(("frame", "code"), [("nonsense", 1008), (b"\x00\x01", 1003)])
async def test_a_client_that_keeps_sending_nonsense_is_sent_away(
    daemon: Daemon, session_id: str, frame: str | bytes, code: int
) -> None:
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        for _ in range(10):
            await socket.send(frame)
        assert await close_code(socket) == code


async def test_a_frame_that_is_far_too_large_closes_with_1009(daemon: Daemon, session_id: str) -> None:
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        await socket.send("x" * (2 * 1024 * 1024))
        assert await close_code(socket) == 1009


async def test_the_socket_for_all_sessions_shows_states(
    daemon: Daemon, client: httpx2.AsyncClient, session_id: str, model: FakeProvider
) -> None:
    model.script(text_reply("A shop."))
    async with daemon.websocket("/ws") as socket:
        await send(socket, {"type": "cancel"})
        assert (await next_frame(socket, "error"))["payload"]["details"]["reason"] == "no_session"
        await client.post(f"/api/v1/sessions/{session_id}/messages", json={"content": "What is this?"})
        states = []
        while "idle" not in states:
            frame = await next_frame(socket, "session.state")
            assert frame["session_id"] == session_id
            states.append(frame["payload"]["state"])
    assert states == ["running", "idle"]


@pytest.mark.requirement("websocket.closes")
async def test_a_silent_client_of_a_silent_session_is_closed_with_4408(
    quick_daemon: Daemon, tmp_path: Path
) -> None:
    session = await session_in(quick_daemon, tmp_path / "shop")
    async with quick_daemon.websocket(f"/sessions/{session}/ws") as socket:
        assert await close_code(socket) == 4408


@pytest.mark.requirement("websocket.frames")
async def test_a_client_that_pings_stays(
    tmp_path: Path, model_settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock is put forward from heartbeat to heartbeat: a busy machine makes no client late."""
    clocks = {"heartbeat_seconds": 15.0, "idle_timeout_seconds": 60.0}
    async with running_daemon(tmp_path / "data", daemon=clocks, **model_settings) as daemon:
        session = await session_in(daemon, tmp_path / "shop")
        async with daemon.websocket(f"/sessions/{session}/ws") as socket:
            for passed in range(16, 161, 16):
                put_all_forward(monkeypatch, passed)
                await next_frame(socket, "heartbeat")
                await send(socket, {"type": "ping"})
                await next_frame(socket, "pong")
            assert socket.close_code is None


@pytest.mark.requirement("daemon.revoked")
async def test_a_revoked_token_loses_its_sockets_at_once(
    daemon: Daemon, client: httpx2.AsyncClient, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon looks at its clock with each heartbeat; the sockets do not wait for that."""
    monkeypatch.setattr(stream, "WATCH_SECONDS", 15.0)
    created = await daemon.services.access.create("short-lived")
    async with (
        daemon.websocket(f"/sessions/{session_id}/ws", token=created.secret) as one,
        daemon.websocket("/ws", token=created.secret) as every,
        daemon.websocket(f"/sessions/{session_id}/ws") as others,
    ):
        for socket in (one, every, others):
            await send(socket, {"type": "ping"})
            await next_frame(socket, "pong")
        assert (await client.delete(f"/api/v1/tokens/{created.row.id}")).status_code == 200
        async with asyncio.timeout(12):
            assert [await close_code(one), await close_code(every)] == [4401, 4401]
        assert one.close_reason == "token_revoked"
        await send(others, {"type": "ping"})
        await next_frame(others, "pong")


@pytest.mark.requirement("websocket.closes")
async def test_a_restarting_daemon_closes_with_1012(daemon: Daemon, session_id: str) -> None:
    async with daemon.websocket(f"/sessions/{session_id}/ws") as one, daemon.websocket("/ws") as all_sessions:
        await next_frame(one, "sync")
        daemon.services.events.close()
        assert await close_code(one) == 1012
        assert await close_code(all_sessions) == 1012
    async with daemon.websocket(f"/sessions/{session_id}/ws") as late:
        assert await close_code(late) == 1012


@pytest.mark.requirement("websocket.bounds")
async def test_a_client_that_does_not_read_is_closed_with_4008_and_delays_nobody(
    daemon: Daemon, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It reads again only when the other one has everything, which takes its time on a busy machine.
    monkeypatch.setattr("app.connections.LEAVING_SECONDS", 600.0)
    events = await daemon.services.events.stream(session_id)
    path = f"/sessions/{session_id}/ws"
    async with (
        daemon.websocket(path, max_queue=1, ping_interval=None) as stalled,
        daemon.websocket(path) as reader,
    ):
        await next_frame(reader, "sync")
        stalled.transport.pause_reading()
        for number in range(400):
            await events.record([SessionUpdated(title=f"{number} " + "x" * 50_000)])
            frame = await next_frame(reader, "session.updated")
            assert frame["payload"]["title"].startswith(f"{number} ")
        stalled.transport.resume_reading()
        assert await close_code(stalled) == 4008


async def test_a_hundred_sockets_come_and_go_without_a_trace(daemon: Daemon, session_id: str) -> None:
    async def visit() -> None:
        async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
            await next_frame(socket, "sync")

    await asyncio.gather(*(visit() for _ in range(100)))
    events = await daemon.services.events.stream(session_id)
    for _ in range(3_000):
        if not events.subscribers:
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"{len(events.subscribers)} subscribers are left")


@pytest.mark.requirement("websocket.resume")
async def test_a_client_comes_back_after_a_restart_and_misses_nothing(
    tmp_path: Path, model: FakeProvider, model_settings: dict[str, Any]
) -> None:
    model.script(text_reply("A shop."), text_reply("Still a shop."))
    seen: list[dict[str, Any]] = []
    async with running_daemon(tmp_path / "data", **model_settings) as daemon:
        session = await session_in(daemon, tmp_path / "shop")
        await converse(daemon, session, 0, seen)
    before = list(seen)
    async with running_daemon(tmp_path / "data", **model_settings) as daemon:
        await converse(daemon, session, seen[-1]["seq"], seen)
        async with daemon.websocket(f"/sessions/{session}/ws") as socket:
            whole = [await next_frame(socket, "sync")]
            while whole[-1]["seq"] < seen[-1]["seq"]:
                whole.append(await next_frame(socket))
    seqs = [frame["seq"] for frame in seen]
    assert seqs == sorted(set(seqs))
    assert seen[len(before)]["seq"] > before[-1]["seq"]
    assert whole[1:] == [frame for frame in seen if frame["type"] != "message.delta"]


async def converse(daemon: Daemon, session: str, after: int, seen: list[dict[str, Any]]) -> None:
    """Post a message and add all frames later than `after` to `seen`, to the end of the run."""
    async with (
        daemon.client() as client,
        daemon.websocket(f"/sessions/{session}/ws?after_seq={after}") as socket,
    ):
        assert (await next_frame(socket))["type"] == "sync"
        await client.post(f"/api/v1/sessions/{session}/messages", json={"content": "What is this?"})
        while True:
            frame = await next_frame(socket)
            if frame["type"] != "heartbeat":
                seen.append(frame)
            if frame["type"] == "session.state" and frame["payload"]["state"] == "idle":
                return
