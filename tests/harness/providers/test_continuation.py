"""A conversation made with one provider goes on with any other."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import orjson
import pytest

from app.config import ProviderSettings
from app.harness.providers.connection import Connection
from app.harness.providers.drivers.anthropic.adapter import AnthropicProvider
from app.harness.providers.drivers.google.adapter import GoogleProvider
from app.harness.providers.drivers.openai.adapter import OpenAIProvider
from app.harness.providers.drivers.openai_responses.adapter import OpenAIResponsesProvider
from app.harness.providers.provider import EncodingCache, ModelRequest
from app.messages import ModelMessage, ToolCallBlock, ToolResult, ToolResultsMessage
from tests.fakes.provider_script import Reply, Text, Thinking, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.providers.contract import TOOLS, assembled, collect, user

DRIVERS: dict[str, tuple[Any, str]] = {
    "openai": (OpenAIProvider, "gpt-4.1"),
    "openai-responses": (OpenAIResponsesProvider, "gpt-5.1"),
    "anthropic": (AnthropicProvider, "claude-sonnet-4-5"),
    "google": (GoogleProvider, "gemini-3-pro"),
}
SIGNATURE = "b3BhcXVl"


def connect(driver: Any, base_url: str = "http://127.0.0.1:9") -> tuple[Any, Connection]:
    options = {"thinking_budget": 2000} if driver == "anthropic" else {}
    settings = ProviderSettings(driver=driver, base_url=base_url, options=options)
    connection = Connection(driver, settings, default_base_url=base_url)
    return DRIVERS[driver][0](driver, settings, connection), connection


def answers(call_id: str | None) -> tuple[Reply, Reply]:
    calls = (
        ToolCall("file_read", {"path": "a"}, id=call_id),
        ToolCall("file_read", {"path": "b"}, id=call_id and f"{call_id}2"),
    )
    return Reply((Thinking("I think.", SIGNATURE), Text("Reading."), *calls)), text_reply("Done.")


@pytest.mark.parametrize(("first", "second"), list(permutations(DRIVERS, 2)))
async def test_a_turn_begun_with_one_provider_ends_with_another(first: str, second: str) -> None:
    cache = EncodingCache()
    messages: list[ModelMessage] = [user("Read a and b")]
    async with FakeProvider() as fake:
        fake.script(*answers(None if first == "google" else "call|1"))
        for driver in (first, second):
            provider, connection = connect(driver, fake.base_url)
            request = ModelRequest(DRIVERS[driver][1], (), messages, TOOLS, cache=cache)
            deltas, finished = await collect(provider, request)
            await connection.aclose()
            messages.append(answer := assembled(deltas))
            calls = [block for block in answer.blocks if isinstance(block, ToolCallBlock)]
            if calls:
                done = [ToolResult(tool_call_id=call.id, name=call.name, content="text") for call in calls]
                messages.append(ToolResultsMessage(results=tuple(done)))
    assert finished.stop_reason == "stop"
    sent = fake.requests[-1].body.decode()
    assert SIGNATURE not in sent
    assert "I think." not in sent
    assert sent.count("file_read") >= 3
    assert ids_match(second, orjson.loads(sent))


def ids_match(driver: str, sent: dict[str, Any]) -> bool:
    """Say whether both results name the calls that they answer, in order."""
    match driver:
        case "openai":
            asked = [call["id"] for call in sent["messages"][1]["tool_calls"]]
            told = [message["tool_call_id"] for message in sent["messages"][2:]]
        case "openai-responses":
            asked = [item["call_id"] for item in sent["input"] if item["type"] == "function_call"]
            told = [item["call_id"] for item in sent["input"] if item["type"] == "function_call_output"]
        case "anthropic":
            asked = [block["id"] for block in sent["messages"][1]["content"] if block["type"] == "tool_use"]
            told = [block["tool_use_id"] for block in sent["messages"][2]["content"]]
        case _:
            parts = [part for content in sent["contents"][1:] for part in content["parts"]]
            asked = [part["functionCall"].get("id") for part in parts if "functionCall" in part]
            told = [part["functionResponse"].get("id") for part in parts if "functionResponse" in part]
    return len(asked) == 2 and asked == told
