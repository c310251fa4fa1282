"""What a hostile client tries: each attempt is refused with a reason, none is a defect, none costs much."""

from __future__ import annotations

import asyncio
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from app.api import operations
from app.api.json_body import parse_json
from app.errors import BadRequest
from tests.driver.daemon import Daemon, close_code, running_daemon
from tests.driver.daemon_process import WAIT_SECONDS

JSON = {"content-type": "application/json"}


def reason(answer: httpx2.Response) -> tuple[int, str | None]:
    error = answer.json()["error"]
    return answer.status_code, error.get("details", {}).get("reason", error["code"])


@pytest.mark.parametrize(
    "host",
    [
        "localhost:notaport",
        "localhost:99999",
        "localhost:-1",
        "[::1",
        "[::1]evil.example",
        "localhost:1@evil.example",
        "localhost:1/evil.example",
        "localhost:1 evil",
        "::1",
    ],
)
async def test_a_malformed_host_is_refused_before_anything_is_made_of_it(daemon: Daemon, host: str) -> None:
    async with daemon.client(token="") as client:
        answer = await client.get("/api/v1/projects", headers={"host": host})
        link = await client.post("/api/v1/tokens/launch-link", headers={"host": host})
    assert reason(answer) == reason(link) == (403, "host_not_allowed")


async def test_a_proxy_that_lets_a_second_user_id_through_is_not_believed(tmp_path: Path) -> None:
    nonce = "n0nce-n0nce-n0nce-n0nce-n0nce-n0"
    headers = [("x-kaged-user-id", "mallory"), ("x-kaged-user-id", "ada"), ("x-kaged-auth-nonce", nonce)]
    async with (
        running_daemon(tmp_path, auth={"mode": "proxy", "proxy_nonce": nonce}) as daemon,
        daemon.client(token="") as client,
    ):
        answer = await client.get("/api/v1/projects", headers=headers)
    assert reason(answer) == (401, "proxy_user_invalid")


@pytest.mark.parametrize("value", ["9" * 5_000, "9" * 20, "²", ""])
async def test_a_position_that_is_no_number_is_refused(client: httpx2.AsyncClient, value: str) -> None:
    answer = await client.get("/api/v1/sync", params={"sessions": f"ses_x:{value}"})
    assert reason(answer) == (400, "validation_failed")


async def test_a_number_that_no_column_holds_is_refused(client: httpx2.AsyncClient, project_id: str) -> None:
    for number in (2**31 + 1, 2**63):
        body = {"project_id": project_id, "issue_number": number}
        assert reason(await client.post("/api/v1/sessions", json=body)) == (400, "validation_failed")


async def test_a_token_that_outlives_the_calendar_is_refused_and_the_list_stays_readable(
    client: httpx2.AsyncClient,
) -> None:
    body = {"name": "eternal", "expires_at": "9999-12-31T23:59:59-14:00"}
    assert reason(await client.post("/api/v1/tokens", json=body)) == (400, "validation_failed")
    assert (await client.get("/api/v1/tokens")).status_code == 200


@pytest.mark.parametrize(
    "content",
    [
        b'{"project_id":"x","overrides":{"a":[' + b",".join([b"{}"] * 200_000) + b"]}}",
        b"{" + b",".join(b'"k%d":1' % number for number in range(200_000)) + b"}",
        b"[" + b",".join([b"[1,2,3]"] * 50_000) + b"]",
    ],
)
async def test_a_body_of_very_many_values_is_refused(client: httpx2.AsyncClient, content: bytes) -> None:
    answer = await client.post("/api/v1/sessions", content=content, headers=JSON)
    assert reason(answer) == (400, "too_many_values")


@pytest.mark.requirement("daemon.rates")
async def test_a_body_of_very_many_values_holds_up_nobody(client: httpx2.AsyncClient) -> None:
    """A parser that makes them takes several times as long as one that reads as many bytes of text."""
    many, plain = b"[" + b"{}," * 3_000_000 + b"{}]", b'["' + b",[{" * 3_000_000 + b'"]'
    seconds = dict.fromkeys((many, plain), float("inf"))
    for content in (many, plain) * 3:
        began = time.process_time()
        with pytest.raises(BadRequest) if content is many else nullcontext():
            parse_json(content)
        seconds[content] = min(seconds[content], time.process_time() - began)
    assert seconds[many] < 3 * seconds[plain]
    answer = await client.post("/api/v1/sessions", content=many, headers=JSON)
    assert reason(answer) == (400, "too_many_values")


@pytest.mark.requirement("daemon.rates")
@pytest.mark.parametrize(
    "value",
    [
        ["a,b", 'c"', "[[[", "\\", '\\"', "{,"] * 16_000,
        [[]] * 99_999,
        {"text": "," * 300_000 + '"[\\' * 100_000, "more": ["x", {"y": "z"}] * 20_000},
        {f"key {number}": "value" for number in range(5_000)},
    ],
    ids=["texts", "arrays", "separators in texts", "keys"],
)
def test_what_is_within_the_limits_is_read_whatever_its_texts_say(value: Any) -> None:
    assert parse_json(orjson.dumps(value)) == value


@pytest.mark.requirement("daemon.rates")
async def test_an_object_of_very_many_keys_is_refused_wherever_it_is(client: httpx2.AsyncClient) -> None:
    keys = {f"k{number}": 1 for number in range(5_001)}
    for body in (keys, {"project_id": "x", "overrides": keys}):
        assert reason(await client.post("/api/v1/sessions", json=body)) == (400, "too_many_keys")


@pytest.mark.requirement("daemon.rates")
async def test_of_too_many_attachments_none_is_looked_at(client: httpx2.AsyncClient, session_id: str) -> None:
    body = {"content": "Look", "attachments": [{"a": 1}] * 40_000}
    answer = await client.post(f"/api/v1/sessions/{session_id}/messages", json=body)
    assert reason(answer) == (400, "validation_failed")
    assert list(answer.json()["error"]["details"]["fields"]) == ["attachments"]


async def test_an_answer_names_some_of_very_many_wrong_fields(client: httpx2.AsyncClient) -> None:
    body = {"k" * 5_000 + str(number): 1 for number in range(1_000)}
    answer = await client.post("/api/v1/sessions", json=body)
    error = answer.json()["error"]
    assert error["message"].startswith("1001 fields are not valid: ")
    assert len(error["details"]["fields"]) <= 50
    assert len(answer.content) < 20_000


async def test_catching_up_is_bounded_in_bytes_and_still_gets_everywhere(
    client: httpx2.AsyncClient, session_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "MAX_SYNC_BYTES", 1_000)
    for number in range(8):
        await client.patch(f"/api/v1/sessions/{session_id}", json={"title": f"{number} " + "x" * 190})
    seqs: list[int] = []
    after, more, rounds = 0, True, 0
    while more and rounds < 50:
        answer = await client.get("/api/v1/sync", params={"sessions": f"{session_id}:{after}"})
        (part,) = answer.json()["sessions"]
        assert sum(len(orjson.dumps(frame)) for frame in part["frames"]) <= 1_000
        assert part["frames"]
        seqs += [frame["seq"] for frame in part["frames"]]
        after, more, rounds = part["through_seq"], part["has_more"], rounds + 1
    everything = await client.get("/api/v1/sessions/" + session_id)
    assert rounds > 1
    assert seqs == sorted(set(seqs))
    assert len(seqs) >= 8
    assert seqs[-1] == everything.json()["last_seq"]


async def test_a_session_id_of_any_length_opens_no_stream(daemon: Daemon) -> None:
    async with daemon.websocket(f"/sessions/{'s' * 5_000}/ws") as socket:
        assert await close_code(socket) == 1008


async def test_a_refused_client_cannot_leave_its_request_unfinished_for_ever(daemon: Daemon) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    writer.write(b"POST /api/v1/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{")
    async with asyncio.timeout(WAIT_SECONDS):
        head = await reader.readuntil(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    assert b" 401 " in head


async def test_deep_and_odd_numbers_are_refused_as_json(client: httpx2.AsyncClient) -> None:
    attempts: dict[bytes, Any] = {
        b"[" * 100_000: "invalid_json",
        b"[" * 500 + b"]" * 500: "too_deep",
        b'{"a":NaN}': "invalid_json",
        b'{"a":1e999}': "invalid_json",
        b'{"a":"\\ud800"}': "invalid_json",
    }
    for content, expected in attempts.items():
        answer = await client.post("/api/v1/sessions", content=content, headers=JSON)
        assert reason(answer) == (400, expected)
