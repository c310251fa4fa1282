"""HTTP is read strictly: what can be read in two ways is refused, what does not arrive is cut off."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import pytest

from app.api import boundary
from app.api.json_body import parse_json
from app.errors import BadRequest
from tests.driver.daemon import Daemon, running_daemon
from tests.driver.daemon_process import WAIT_SECONDS

pytestmark = pytest.mark.requirement("security.strict_http")

HEAD = b"POST /api/v1/projects/load HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "
GET = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
SMUGGLED = b"0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


async def answers(daemon: Daemon, content: bytes, seconds: float = 15.0) -> bytes:
    """Return all that comes until the daemon closes the connection, which it does to a silent one anyway
    after `connections.HEAD_SECONDS`."""
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    try:
        writer.write(content)
        async with asyncio.timeout(seconds):
            return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize(
    "request_of",
    [
        lambda token: (
            HEAD + token + b"\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n" + SMUGGLED
        ),
        lambda token: (
            HEAD + token + b"\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n" + SMUGGLED
        ),
        lambda token: (
            (HEAD + token).replace(b"HTTP/1.1", b"HTTP/1.0")
            + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
            + SMUGGLED
        ),
        lambda token: GET.replace(b"\r\n", b"\n") + b"\n",
        lambda token: GET + b"X-One: a\nX-Two: b\r\n\r\n",
        lambda token: GET + b"X-One: a\r\n b\r\n\r\n",
        lambda token: GET + b"X-One: a\r\n\tb\r\n\r\n",
        lambda token: GET + b"X-One: a\rX-Two: b\r\n\r\n",
        lambda token: b"\n" + GET + b"\r\n",
        lambda token: HEAD + token + b"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Trailer: a\nX: b\r\n\r\n",
    ],
    ids=[
        "both",
        "both, turned",
        "old",
        "bare LF",
        "a bare LF",
        "folded",
        "tab",
        "bare CR",
        "first",
        "trailer",
    ],
)
async def test_a_request_that_can_be_read_in_two_ways_is_refused_and_the_connection_closed(
    daemon: Daemon, request_of: object
) -> None:
    assert callable(request_of)
    said = await answers(daemon, request_of(daemon.token.encode()))
    assert said.startswith(b"HTTP/1.1 400 "), said
    assert said.count(b"HTTP/1.1 ") == 1, said


async def test_what_the_standard_allows_is_read_in_any_pieces(daemon: Daemon) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    for byte in GET + b"X-Empty:\r\nX-Long:  a b \t\r\n\r\n":
        writer.write(bytes([byte]))
        await asyncio.sleep(0)
    async with asyncio.timeout(WAIT_SECONDS):
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    writer.close()


@pytest.mark.parametrize(
    "body",
    [
        b'{"path": "/a", "path": "/b"}',
        b'{"path": "/a", "p\\u0061th": "/b"}',
        b'{"a": {"b": [{"c": 1, "c": 1}]}}',
        b'{"a:\\"": {"": 1, "": "::"}}',
        b'{"many": {' + b",".join(b'"k": "%d"' % number for number in range(4_000)) + b"}}",
    ],
)
async def test_a_key_that_is_there_twice_is_refused(daemon: Daemon, body: bytes) -> None:
    async with daemon.client(headers={"content-type": "application/json"}) as client:
        answer = await client.post("/api/v1/projects/load", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["reason"] == "duplicate_key"


@pytest.mark.parametrize(
    "body", [b'{"a:b": "c:d", "e": {"a:b": "\\":\\\\"}}', b'[{"a": 1}, {"a": 1}]', b'":"']
)
def test_colons_in_texts_and_keys_of_other_objects_are_none_too_many(body: bytes) -> None:
    assert parse_json(body) is not None


def test_a_long_body_is_not_read_twice_to_say_which_key() -> None:
    with pytest.raises(BadRequest, match="repeats a key"):
        parse_json(b'{"a": "%s", "a": 1}' % (b"x" * 200_000))


async def test_a_body_that_trickles_in_is_cut_off(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundary, "BODY_SECONDS", 0.5)
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    writer.write(HEAD + daemon.token.encode() + b"\r\nContent-Length: 1000\r\n\r\n")

    async def trickle() -> None:
        while True:
            writer.write(b" ")
            await asyncio.sleep(0.05)

    async with asyncio.timeout(WAIT_SECONDS):
        task = asyncio.create_task(trickle())
        said = await reader.readuntil(b"\r\n\r\n")
        task.cancel()
        said += await reader.readuntil(b"body_too_slow")
    writer.close()
    assert said.startswith(b"HTTP/1.1 408 "), said
    assert b"connection: close" in said.lower()


async def test_a_body_that_comes_fast_enough_may_take_longer(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boundary, "BODY_SECONDS", 1.0)
    monkeypatch.setattr(boundary, "BODY_BYTES_PER_SECOND", 1)  # what has arrived gives minutes

    async def body() -> object:
        for _ in range(8):
            yield b" " * 100
            await asyncio.sleep(0.2)
        yield b'{"path": "/nowhere"}'

    async with daemon.client(headers={"content-type": "application/json"}) as client:
        answer = await client.post("/api/v1/projects/load", content=body())
    assert answer.status_code == 404, answer.text


@pytest.mark.parametrize("site", ["cross-site", "same-site", "something new"])
async def test_a_launch_link_that_another_site_has_opened_shows_a_button(daemon: Daemon, site: str) -> None:
    link = daemon.services.access.launch_url(daemon.url)
    async with daemon.client(token="") as browser:
        shown = await browser.get(link, headers={"sec-fetch-site": site, "accept": "text/html"})
        assert shown.status_code == 200
        assert "set-cookie" not in shown.headers
        assert daemon.services.access.launch_code() in shown.text
        assert "Sign in</button>" in shown.text
        pressed = await browser.get(link, headers={"sec-fetch-site": "same-origin"})
    assert pressed.status_code == 303
    assert "kaged_session" in pressed.headers["set-cookie"]


async def test_the_code_of_a_link_is_text_on_the_page_with_the_button(daemon: Daemon) -> None:
    async with daemon.client(token="") as browser:
        shown = await browser.get(
            "/launch", params={"token": '"><script>alert(1)'}, headers={"sec-fetch-site": "cross-site"}
        )
    assert shown.text.count("<script") == 1 and "<script>" not in shown.text  # the page's own, of its theme


@pytest.mark.parametrize("headers", [{}, {"sec-fetch-site": "none"}])
async def test_a_link_that_is_typed_or_opened_by_a_program_signs_in(
    daemon: Daemon, headers: dict[str, str]
) -> None:
    async with daemon.client(token="") as browser:
        answer = await browser.get(daemon.services.access.launch_url(daemon.url), headers=headers)
    assert answer.status_code == 303


async def test_a_client_that_is_to_come_back_learns_when(tmp_path: Path) -> None:
    limits = {"sessions_per_project": 1, "anonymous_requests_per_minute": 5}
    async with running_daemon(tmp_path, limits=limits) as daemon, daemon.client(token="") as client:
        refused: httpx2.Response = await client.get("/healthz")
        for _ in range(10):
            refused = await client.get("/healthz")
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) > 0
        await daemon.services.storage.close()
        async with daemon.client() as known:
            away = await known.get("/api/v1/projects")
        assert away.status_code == 503, away.text
        assert int(away.headers["retry-after"]) > 0
