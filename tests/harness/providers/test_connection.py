"""One provider's HTTP connection, against a real server."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from pydantic import SecretStr

from app.config import ProviderSettings
from app.harness.providers.connection import Connection, StreamEvent
from app.harness.providers.errors import ProviderError
from app.harness.providers.provider import WireRequest
from tests.driver.sessions import WAIT_SECONDS
from tests.fakes.provider_script import Delay, Document, Raw, Reply, Stall, Text, text_reply
from tests.fakes.provider_server import FakeProvider

WIRE = WireRequest("/chat/completions", b'{"model":"m"}', (("x-sealed", "yes"),))
SECRET = "a-very-secret-credential"


def settings_for(base_url: str, timeout: float = WAIT_SECONDS, **options: Any) -> ProviderSettings:
    return ProviderSettings(
        driver="openai",
        base_url=base_url,
        api_key=SecretStr(SECRET),
        headers={"X-Team": "blue", "X-Api-Token": "team-token-1"},
        timeout_seconds=timeout,
        options=options,
    )


@asynccontextmanager
async def connected(
    *answers: Reply | Document, timeout: float = WAIT_SECONDS, **options: Any
) -> AsyncIterator[tuple[FakeProvider, Connection]]:
    async with FakeProvider() as fake:
        fake.script(*answers)
        connection = Connection("mine", settings_for(fake.base_url, timeout, **options), default_base_url="")
        try:
            yield fake, connection
        finally:
            await connection.aclose()


async def read(connection: Connection, wire: WireRequest = WIRE) -> list[StreamEvent]:
    async with asyncio.timeout(WAIT_SECONDS):
        return [event async for event in connection.events(wire, model="m", headers={"x-key": SECRET})]


async def failure(connection: Connection) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await read(connection)
    assert caught.value.provider == "mine"
    assert caught.value.model == "m"
    assert SECRET not in caught.value.message
    return caught.value


async def test_configured_sealed_and_credential_headers_are_sent() -> None:
    async with connected(text_reply("x")) as (fake, connection):
        await read(connection)
    headers = fake.requests[0].headers
    assert headers["x-team"] == "blue"
    assert headers["x-sealed"] == "yes"
    assert headers["x-key"] == SECRET
    assert headers["content-type"] == "application/json"
    assert headers["accept-encoding"] == "identity"
    assert fake.requests[0].body == WIRE.body


async def test_the_connection_is_used_again_after_a_complete_answer_and_after_an_error() -> None:
    async with connected(text_reply("x"), Document(500, "x"), text_reply("y")) as (fake, connection):
        await read(connection)
        await failure(connection)
        await read(connection)
        assert fake.connection_count == 1


async def test_a_server_that_nobody_runs_is_a_network_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        error = await failure(Connection("mine", settings_for(url), default_base_url=""))
    assert error.kind == "network"
    assert url in error.message


async def test_no_first_byte_within_its_time_out_is_a_network_error() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        settings = settings_for(
            f"http://127.0.0.1:{silent.getsockname()[1]}",
            timeout=30,
            first_byte_timeout_seconds=0.2,
            connect_timeout_seconds=WAIT_SECONDS,
        )
        error = await failure(Connection("mine", settings, default_base_url=""))
    assert error.kind == "network"
    assert "nothing arrived for 0.2 s (options.first_byte_timeout_seconds" in error.message


@pytest.mark.requirement("durability.first_byte")
@pytest.mark.parametrize(
    "sent",
    [
        b": still here\n\n",
        b'event: ping\ndata: {"type": "ping"}\n\n',
        b'event: keepalive\ndata: {"type": "keepalive", "sequence_number": 1}\n\n',
        b"event: ping\ndata: {}\n\nevent: ping\ndata:\n\n",
        b'data: {"type": "ping"}\n\n',
    ],
)
async def test_comments_and_pings_alone_begin_no_answer(sent: bytes) -> None:
    gone = asyncio.Event()

    async def beat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        with suppress(ConnectionError):
            for _ in range(60):
                writer.write(sent)
                await writer.drain()
                await asyncio.sleep(0.05)
        writer.close()
        gone.set()

    async with await asyncio.start_server(beat, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        settings = settings_for(url, timeout=30, first_byte_timeout_seconds=0.4)
        async with asyncio.timeout(WAIT_SECONDS):
            error = await failure(Connection("mine", settings, default_base_url=""))
            await gone.wait()
    assert (error.kind, "nothing arrived for 0.4 s" in error.message) == ("network", True)


async def test_silence_is_bounded_apart_from_the_first_byte() -> None:
    async with connected(
        Reply((Text("a"), Delay(0.05), Text("b"), Stall())), timeout=30, idle_timeout_seconds=0.3
    ) as (fake, connection):
        error = await failure(connection)
        await fake.until_disconnects()
    assert (error.kind, "0.3 s" in error.message) == ("network", True)


async def test_comments_keep_a_slow_answer_alive() -> None:
    beats = tuple(part for _ in range(25) for part in (Delay(0.1), Raw(b": still here\n\n")))
    async with connected(Reply((*beats, Text("done"))), timeout=30, idle_timeout_seconds=2.0) as (
        _,
        connection,
    ):
        events = await read(connection)
    assert any(event.payload["choices"][0]["delta"].get("content") == "done" for event in events[:-1])


async def test_empty_events_and_blanks_around_the_end_are_no_failure() -> None:
    beat, last = Raw(b"data: \n\ndata:\n\n"), Raw(b"data: [DONE] \n\n")
    async with connected(Reply((beat, Text("done"), last), finish=None)) as (_, connection):
        events = await read(connection)
    assert events[-1].payload["choices"][0]["delta"] == {"content": "done"}


async def test_a_character_that_is_cut_by_the_server_is_replaced() -> None:
    halves = [Raw(b'data: {"a":"' + half + b'"}\n\n') for half in (b"x\xf0\x9f", b"\x98\x80y")]
    async with connected(Reply(tuple(halves), finish=None)) as (_, connection):
        events = await read(connection)
    first, second = (event.payload["a"] for event in events[-2:])
    assert (first[0], second[-1], set(first[1:] + second[:-1])) == ("x", "y", {"\ufffd"})


@pytest.mark.parametrize("start", [b"event: error\ndata: ", b"error: "])
async def test_an_event_that_is_named_an_error_is_one(start: bytes) -> None:
    told = b'{"code":400,"message":"the request exceeds the available context size","type":"x"}\n\n'
    async with connected(Reply((Raw(start + told), Raw(b"data: [DONE]\n\n")), finish=None)) as (
        _,
        connection,
    ):
        error = await failure(connection)
    assert (error.kind, error.status) == ("context_length", 400)


@pytest.mark.parametrize("body", ["<html>login</html>", {"id": "x", "choices": []}])
async def test_an_answer_that_is_no_stream_is_an_error(body: Any) -> None:
    headers = {"content-type": "text/html" if isinstance(body, str) else "application/json"}
    async with connected(Document(200, body, headers)) as (_, connection):
        error = await failure(connection)
    assert error.kind == "unknown"
    assert "in place of an event stream" in error.message


async def test_a_compressed_answer_is_read_although_none_was_asked_for() -> None:
    body = gzip.compress(b'{"error": {"message": "prompt is too long"}}')
    headers = {"content-encoding": "gzip", "content-type": "application/json"}
    async with connected(Document(400, body, headers)) as (_, connection):
        assert (await failure(connection)).kind == "context_length"


async def test_a_redirect_is_not_followed_with_the_credential() -> None:
    async with connected(Document(307, "", {"location": "http://127.0.0.1:9/elsewhere"})) as (
        fake,
        connection,
    ):
        error = await failure(connection)
        assert fake.request_count == 1
    assert error.kind == "bad_request"


async def test_an_address_that_is_none_is_a_bad_request() -> None:
    error = await failure(Connection("mine", settings_for("http://[::bad"), default_base_url=""))
    assert error.kind == "bad_request"


async def test_private_header_values_are_redacted_and_others_are_not() -> None:
    words = f"team blue, team-token-1, {SECRET}"
    async with connected(Document(401, {"error": {"message": words}})) as (_, connection):
        error = await failure(connection)
    assert error.message.endswith("team blue, [redacted], [redacted]")


async def test_closing_the_events_early_closes_the_connection() -> None:
    async with connected(Reply((Text("a"), Stall()))) as (fake, connection):
        events = connection.events(WIRE, model="m", headers={})
        await anext(events)
        await events.aclose()
        await fake.until_disconnects()


async def test_a_document_is_read_and_its_errors_are_classified() -> None:
    async with connected() as (_, connection):
        assert (await connection.get_json("/models", headers={}))["data"][0] == {"id": "model-a"}
        with pytest.raises(ProviderError) as caught:
            await connection.get_json("/nothing", headers={})
    assert caught.value.kind == "bad_request"


async def test_a_large_body_arrives_whole() -> None:
    body = b'{"model":"m","pad":"' + b"x" * 5_000_000 + b'"}'
    async with connected(text_reply("x")) as (fake, connection):
        await read(connection, WireRequest("/chat/completions", body))
        assert fake.requests[0].body == body


async def test_an_answer_that_has_arrived_already_leaves_turns_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.harness.providers.connection._TURN_SECONDS", 0.0)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with connected(Reply((Raw(b'data: {"choices":[]}\n\n' * 5_000),))) as (_, connection):
        other = asyncio.create_task(others())
        begun = turns
        found = await read(connection)
        other.cancel()
    assert len(found) >= 5_000
    assert turns - begun >= 5_000
