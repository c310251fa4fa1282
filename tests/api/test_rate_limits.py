"""What one client may ask for: requests, failed sign-ins, WebSockets, their frames, connections."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from websockets.exceptions import ConnectionClosed

from app.api.rate_limits import MAX_KEYS, Allowance, address_of
from tests.driver.daemon import Daemon, close_code, next_frame, running_daemon
from tests.driver.daemon_process import WAIT_SECONDS

pytestmark = pytest.mark.requirement("daemon.rates")

HOUR = 3_600.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_what_is_used_comes_back_evenly() -> None:
    clock = Clock()
    allowance = Allowance(60, clock)
    assert [allowance.take("a") for _ in range(60)] == [0.0] * 60
    assert allowance.take("a") == pytest.approx(1.0)
    assert allowance.take("b") == 0.0
    clock.now += 2.5
    assert [allowance.take("a"), allowance.take("a")] == [0.0, 0.0]
    assert allowance.take("a") == pytest.approx(0.5)
    clock.now += HOUR
    assert [allowance.take("a") for _ in range(61)].count(0.0) == 60


def test_none_is_no_limit_and_nothing_allows_nothing() -> None:
    assert [Allowance(None).take("a") for _ in range(10_000)] == [0.0] * 10_000
    assert Allowance(0, Clock()).take("a") == 60.0


def test_few_clients_are_remembered_and_those_that_ask_stay() -> None:
    allowance = Allowance(1, Clock())
    assert allowance.take("busy") == 0.0
    for number in range(3 * MAX_KEYS):
        allowance.take(f"client {number}")
        assert allowance.take("busy") > 0.0


@pytest.mark.parametrize(
    ("client", "counted_for"),
    [
        (("192.0.2.1", 1), "192.0.2.1"),
        (("::ffff:192.0.2.1", 1), "192.0.2.1"),
        (("2001:db8:1:2:3::4", 1), "2001:db8:1:2::/64"),
        (("2001:db8:1:2:ffff::9", 9), "2001:db8:1:2::/64"),
        (("a name", 1), "a name"),
        (None, "unknown"),
    ],
)
def test_an_address_counts_for_the_network_that_one_customer_has(
    client: tuple[str, int] | None, counted_for: str
) -> None:
    assert address_of({"client": client}) == counted_for


async def _answers(client: httpx2.AsyncClient, path: str, count: int) -> list[httpx2.Response]:
    return [await client.get(path) for _ in range(count)]


def _refused(answer: httpx2.Response, reason: str) -> None:
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["details"]["reason"]) == (429, "rate_limited", reason)
    assert int(answer.headers["retry-after"]) == error["details"]["retry_after_seconds"] >= 1


async def test_one_token_that_asks_too_often_leaves_the_others_alone(tmp_path: Path) -> None:
    async with (
        running_daemon(tmp_path, limits={"requests_per_minute": 5}) as daemon,
        daemon.client() as client,
    ):
        created = await client.post("/api/v1/tokens", json={"name": "other"})
        mine = await _answers(client, "/api/v1/projects", 5)
        async with daemon.client(token=created.json()["token"]) as other:
            theirs = await other.get("/api/v1/projects")
        async with daemon.websocket("/ws") as socket:
            assert await close_code(socket) == 4429
    assert [answer.status_code for answer in mine] == [200, 200, 200, 200, 429]
    _refused(mine[-1], "too_many_requests")
    assert theirs.status_code == 200


async def test_failed_sign_ins_are_counted_and_a_right_token_still_gets_in(tmp_path: Path) -> None:
    async with running_daemon(tmp_path, limits={"failed_sign_ins_per_minute": 3}) as daemon:
        async with daemon.client(token="kgd_wrong") as guessing:
            answers = await _answers(guessing, "/api/v1/projects", 3)
            launch = await guessing.get("/launch", params={"token": "guess"})
        async with daemon.websocket("/ws", token="kgd_worse") as socket:
            assert await close_code(socket) == 4429
        async with daemon.client() as client:
            right = await client.get("/api/v1/projects")
    assert [answer.status_code for answer in answers] == [401, 401, 401]
    _refused(launch, "too_many_sign_ins")
    assert right.status_code == 200


async def test_who_sends_no_token_is_counted_by_address(tmp_path: Path) -> None:
    async with running_daemon(tmp_path, limits={"anonymous_requests_per_minute": 3}) as daemon:
        async with daemon.client(token="") as nobody:
            answers = await _answers(nobody, "/healthz", 2)
            answers.append(await nobody.get("/healthz", headers={"host": "evil.example"}))
            answers.append(await nobody.get("/healthz"))
            answers.append(await nobody.get("/healthz", headers={"host": "evil.example"}))
        async with daemon.client() as client:
            known = await client.get("/api/v1/projects")
    assert [answer.status_code for answer in answers] == [200, 200, 403, 429, 429]
    _refused(answers[-1], "too_many_requests")
    assert known.status_code == 200


async def test_a_client_has_so_many_sockets_and_another_when_one_closes(tmp_path: Path) -> None:
    async with (
        running_daemon(tmp_path, limits={"sockets_per_client": 2}) as daemon,
        daemon.websocket("/ws") as one,
        daemon.websocket("/ws") as two,
    ):
        await _speaks(one)
        await _speaks(two)
        async with daemon.websocket("/ws") as third:
            assert await close_code(third) == 4429
            assert third.close_reason == "too_many_sockets"
        await two.close()
        await _until_open(daemon)
        await _speaks(one)


async def _speaks(socket: Any) -> None:
    await socket.send('{"type":"ping"}')
    await next_frame(socket, "pong")


async def _until_open(daemon: Daemon) -> None:
    """Wait until the daemon has noticed that a socket was closed."""
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            async with daemon.websocket("/ws") as socket:
                with suppress(ConnectionClosed):  # it has not, and refuses this one
                    await socket.send('{"type":"ping"}')
                    if orjson.loads(await socket.recv())["type"] == "pong":
                        return


async def test_a_client_that_floods_its_socket_with_frames_is_sent_away(tmp_path: Path) -> None:
    async with (
        running_daemon(tmp_path, limits={"socket_frames_per_minute": 20}) as daemon,
        daemon.websocket("/ws") as socket,
        daemon.websocket("/ws") as other,
    ):
        for _ in range(21):
            await socket.send('{"type":"ping"}')
        assert await close_code(socket) == 4429
        await _speaks(other)


async def test_one_address_cannot_have_all_connections(tmp_path: Path) -> None:
    async with (
        running_daemon(tmp_path, limits={"connections_per_address": 3}) as daemon,
        daemon.websocket("/ws") as socket,
    ):
        await _speaks(socket)
        held = [await asyncio.open_connection("127.0.0.1", daemon.port) for _ in range(2)]
        reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
        async with asyncio.timeout(15):  # a silent connection ends after 20 s anyway
            assert await _ended(reader)
        elsewhere = await asyncio.open_connection("127.0.0.1", daemon.port, local_addr=("127.0.0.2", 0))
        elsewhere[1].write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        async with asyncio.timeout(WAIT_SECONDS):
            assert (await elsewhere[0].readline()).startswith(b"HTTP/1.1 200")
        for _, one in (*held, elsewhere, (reader, writer)):
            one.transport.abort()


async def _ended(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read() == b""
    except ConnectionResetError:
        return True


async def test_a_frame_that_nests_deeply_or_holds_a_nul_is_refused(daemon: Daemon, session_id: str) -> None:
    deep = '{"type":"answer","interaction_id":"itx_1","values":{"a":' + "[" * 900 + "]" * 900 + "}}"
    async with daemon.websocket(f"/sessions/{session_id}/ws") as socket:
        for frame, reason in ((deep, "too_deep"), ('{"type":"ping","id":"\\u0000"}', "nul_character")):
            await socket.send(frame)
            refused = await next_frame(socket, "error")
            assert refused["payload"]["details"]["reason"] == reason
        await _speaks(socket)
