"""Answers that no honest provider gives: the call fails with a reason, and nothing grows without bound."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from pydantic import SecretStr

from app.config import ProviderSettings
from app.harness.providers import answer_limits, connection, sse
from app.harness.providers.deltas import Delta, Finished, TextDelta, ToolCallReady
from app.harness.providers.errors import ProviderError
from app.harness.providers.router import AttemptFailed, AttemptStarted, ProviderRouter
from tests.driver.sessions import WAIT_SECONDS
from tests.fakes.provider_script import Document, Raw, Reply, Text, ToolCall
from tests.fakes.provider_server import FakeProvider
from tests.harness.providers.test_router import build

DRIVERS = ("openai", "openai-responses", "anthropic", "google")
DEEP = b"[" * 5_000 + b"]" * 5_000


def event(payload: Any) -> Raw:
    data = payload if isinstance(payload, bytes) else orjson.dumps(payload)
    return Raw(b"data: " + data + b"\n\n")


def piece(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta}]}


@asynccontextmanager
async def hostile(
    *parts: Any, driver: str = "openai", path: str = "", **settings: Any
) -> AsyncIterator[ProviderRouter]:
    """A router over one server that answers once, with `parts`."""
    async with FakeProvider() as fake:
        fake.script(*([parts[0]] if isinstance(parts[0], Document) else [Reply(tuple(parts), usage=None)]))
        options = {
            "driver": driver,
            "base_url": fake.base_url + path,
            "timeout_seconds": WAIT_SECONDS,
            **settings,
        }
        router = ProviderRouter({}, {"evil": ProviderSettings(**options)}, {})
        try:
            yield router
        finally:
            await router.aclose()


async def ask(router: ProviderRouter) -> list[Delta]:
    deltas: list[Delta] = []
    async with asyncio.timeout(WAIT_SECONDS):
        async for item in router.stream(router.resolve("evil:m"), build):
            if not isinstance(item, AttemptStarted | AttemptFailed):
                deltas.append(item)
    return deltas


async def failure(router: ProviderRouter) -> str:
    with pytest.raises(ProviderError) as caught:
        await ask(router)
    return caught.value.message


@pytest.mark.parametrize("driver", DRIVERS)
async def test_an_answer_without_end_is_stopped(driver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_limits, "MAX_CHARACTERS", 10_000)
    async with hostile(*[Text("word " * 100)] * 30, driver=driver) as router:
        assert "more than 10,000 characters" in await failure(router)


@pytest.mark.parametrize("driver", DRIVERS)
async def test_thousands_of_calls_in_one_answer_are_stopped(driver: str) -> None:
    calls = [ToolCall("file_read", {"path": str(number)}, id=f"c{number}") for number in range(300)]
    async with hostile(*calls, driver=driver) as router:
        assert "more than 256 tool calls" in await failure(router)


async def test_a_call_counts_with_its_arguments_name_and_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_limits, "MAX_CHARACTERS", 10_000)
    long = "x" * 11_000
    for call in (
        ToolCall("file_write", {"content": long}),
        ToolCall("file_write", long),
        ToolCall(long, {}),
        ToolCall("file_write", {}, id=long),
    ):
        async with hostile(call) as router:
            assert "more than 10,000 characters" in await failure(router)


async def test_a_long_answer_within_the_limits_arrives_whole() -> None:
    text = "x" * 50_000
    async with hostile(*[Text(text)] * 70) as router:
        deltas = await ask(router)
    assert sum(len(delta.text) for delta in deltas if isinstance(delta, TextDelta)) == 3_500_000
    assert isinstance(deltas[-1], Finished)


async def test_what_one_answer_may_take_on_the_wire_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_ANSWER_BYTES", 100_000)
    async with hostile(*[Raw(b": still thinking\n\n" * 1_000)] * 10) as router:
        assert "sent more than 100,000 bytes" in await failure(router)


@pytest.mark.parametrize("line", [b"x" * 1_000, b"data: x\n" * 100])
async def test_an_event_without_end_is_stopped(line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 50_000)
    async with hostile(Raw(b"data: "), *[Raw(line)] * 1_000) as router:
        assert "an event of more than" in await failure(router)


ODD_EVENTS: tuple[Any, ...] = (
    {"choices": 5},
    {"choices": {"a": 1}, "usage": []},
    {"choices": [1, None, {"delta": 7}]},
    piece(tool_calls=7),
    piece(tool_calls=[None, {"function": 3}, {"index": "x", "id": 3, "function": {"arguments": {"a": 1}}}]),
    piece(content=[{"text": [{"text": 5}]}, None], reasoning=[1]),
    {"type": 5, "message": 1, "delta": [], "content_block": "x", "index": {}},
    {"type": "content_block_start", "index": [], "content_block": {"type": ["tool_use"], "name": {}}},
    {"type": "response.output_item.done", "item": {"type": "function_call", "name": [], "call_id": {}}},
    {"candidates": [{"content": {"parts": [{"functionCall": {"name": [], "args": [1]}}, 3]}}, 7]},
    {"candidates": 3, "usageMetadata": [], "promptFeedback": 1},
)


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("odd", ODD_EVENTS)
async def test_events_of_a_shape_that_nobody_expects_do_not_break_the_reading(driver: str, odd: Any) -> None:
    async with hostile(event(odd), Text("fine"), driver=driver) as router:
        deltas = await ask(router)
    assert TextDelta("fine") in deltas


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize(
    "payload",
    [
        b'{"a":' + DEEP + b"}",
        b'{"error":{"a":' + DEEP[4_600:5_400] + b"}}",
        b'{"error":{"message":"x","code":"' + b"4" * 6_000 + b'"}}',
        b'{"type":"error","error":{"a":' + DEEP[4_600:5_400] + b"}}",
        b'{"choices":[{"finish_reason":' + DEEP[4_600:5_400] + b"}]}",
        b'{"usage":{"prompt_tokens":1e999}}',
    ],
)
async def test_whatever_an_event_holds_the_call_ends_with_an_answer_or_a_reason(
    driver: str, payload: bytes
) -> None:
    async with hostile(event(payload), driver=driver) as router:
        try:
            await ask(router)
        except ProviderError as error:
            assert error.kind in ("unknown", "bad_request", "rate_limited", "overloaded", "truncated_stream")


@pytest.mark.parametrize("driver", DRIVERS)
async def test_an_error_document_of_any_shape_has_a_kind(driver: str) -> None:
    for body in (
        b'{"error":{"message":"m","code":"' + b"4" * 6_000 + b'"}}',
        b'{"error":{"a":' + DEEP[4_600:5_400] + b"}}",
        b"[" * 100_000,
    ):
        async with hostile(Document(400, body), driver=driver) as router:
            assert "HTTP 400" in await failure(router)


@pytest.mark.parametrize("count", [2**63, 10**30])
async def test_counts_that_no_database_holds_are_cut(count: int) -> None:
    usage = b'{"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}' % (count, count)
    async with hostile(Text("x"), event(usage)) as router:
        finished = (await ask(router))[-1]
    assert isinstance(finished, Finished)
    assert (finished.usage.input_tokens, finished.usage.output_tokens) == (10**12, 10**12)


async def test_numbers_beyond_64_bits_in_arguments_become_floats_or_an_error() -> None:
    near, far = "9" * 30, "9" * 400
    first = ToolCall("file_read", '{"path":"\\ud800","offset":' + near + "}", id="a")
    second = ToolCall("file_read", '{"path":"\\ud800","offset":' + far + "}", id="b")
    async with hostile(first, second) as router:
        calls = [delta.call for delta in await ask(router) if isinstance(delta, ToolCallReady)]
    assert calls[0].arguments == {"path": "�", "offset": 1e30}
    assert calls[1].argument_error == "a number in it is out of range"


async def test_a_call_whose_pieces_never_become_json_is_no_defect() -> None:
    start = {"index": 0, "function": {"name": "file_read", "arguments": "[" * 100_000 + "}"}}
    again = {"index": 0, "function": {"name": "file_read", "arguments": "{}"}}
    async with hostile(event(piece(tool_calls=[start])), event(piece(tool_calls=[again]))) as router:
        deltas = await ask(router)
    (call,) = [delta.call for delta in deltas if isinstance(delta, ToolCallReady)]
    assert call.argument_error is not None


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("key", ["credential-1\n", "credential-1\r\nx: y", "crédential-1", "credential-1\0"])
async def test_a_credential_that_no_header_can_hold_is_not_quoted(driver: str, key: str) -> None:
    async with hostile(Text("x"), driver=driver, api_key=SecretStr(key)) as router:
        message = await failure(router)
    assert "look at the credential" in message
    assert "dential-1" not in message


@pytest.mark.parametrize("user", ["me:pass-word-1", "token-word-1"])
async def test_a_password_in_the_address_is_not_shown(user: str) -> None:
    address = f"http://{user}@127.0.0.1:1/v1"
    settings = ProviderSettings(driver="openai", base_url=address, options={"connect_timeout_seconds": 2})
    router = ProviderRouter({}, {"mine": settings}, {})
    try:
        result = await router.test("mine", "m")
        (entry,) = router.list_providers()
    finally:
        await router.aclose()
    assert result.message is not None
    assert "word-1" not in result.message
    assert entry.base_url == "http://********@127.0.0.1:1/v1"


async def test_a_long_refusal_is_shortened() -> None:
    words = "no " * 100_000
    async with hostile(event(piece(refusal=words)), Text("x")) as router:
        assert len(await failure(router)) < 3_000
