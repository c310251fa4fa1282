"""OpenRouter's reasoning details come in pieces and go back whole."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from app.config import ProviderSettings
from app.harness.providers.connection import Connection
from app.harness.providers.drivers.openai import adapter as openai
from app.harness.providers.drivers.openai.adapter import OpenAIProvider
from app.harness.providers.drivers.openai.reasoning_details import ReasoningDetails, given_back
from app.harness.providers.drivers.openai.servers import Server, known_server
from app.harness.providers.provider import ModelRequest
from app.messages import AssistantMessage, TextBlock, ThinkingBlock
from tests.fakes.provider_script import Raw, Reply, ToolCall, text_reply
from tests.fakes.provider_server import FakeProvider
from tests.harness.providers.contract import TOOLS, assembled, collect, results, user

ENCRYPTED = {"type": "reasoning.encrypted", "data": "b3BhcXVl", "id": "c0", "format": "google-gemini-v1"}


def text(words: str | None, **more: Any) -> dict[str, Any]:
    return {"type": "reasoning.text", "text": words, "format": "anthropic-claude-v1", "index": 0, **more}


def collected(*events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    details = ReasoningDetails()
    for event in events:
        details.add(event)
    return given_back([details.kept() or "[]"])


def test_pieces_of_one_detail_are_put_together_and_others_are_kept_apart() -> None:
    summary = {"type": "reasoning.summary", "summary": "Su", "index": 0}
    events = ([text("Let")], [text(" me.")], [text(None, signature="s1")], [text("More.", signature="s2")])
    assert collected(*events, [summary, {**summary, "summary": "m."}], [ENCRYPTED], [ENCRYPTED]) == [
        text("Let me.", signature="s1"),
        text("More.", signature="s2"),
        {**summary, "summary": "Sum."},
        ENCRYPTED,
        ENCRYPTED,
    ]


def test_odd_details_are_no_failure() -> None:
    assert collected([{}], [{"type": ["x"]}], [{"type": "reasoning.text", "text": 7}])
    assert given_back(["{", "7", '[1,{"a":2}]']) == [{"a": 2}]


def test_only_openrouter_is_sent_details() -> None:
    thought = ThinkingBlock(data=orjson.dumps([ENCRYPTED]).decode(), provider="openai")
    answer = AssistantMessage(blocks=(thought, TextBlock(text="yes")))
    for address, sent in (("https://openrouter.ai/api/v1", [ENCRYPTED]), ("https://api.groq.com/v1", None)):
        settings = ProviderSettings(driver="openai", base_url=address)
        provider = OpenAIProvider("mine", settings, Connection("mine", settings, default_base_url=""))
        body = orjson.loads(provider.encode(ModelRequest("m", (), [user("q"), answer, user("?")])).body)
        assert body["messages"][1].get("reasoning_details") == sent


@pytest.mark.requirement("providers.streams")
async def test_the_details_of_a_call_go_back_with_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai, "known_server", lambda _: Server(reasoning_details=True))
    assert known_server("https://openrouter.ai/api/v1") == Server(reasoning_details=True)
    delta = {"reasoning": "Hm", "reasoning_details": [text("Hm"), ENCRYPTED]}
    event = Raw(b"data: " + orjson.dumps({"choices": [{"index": 0, "delta": delta}]}) + b"\n\n")
    async with FakeProvider() as fake:
        fake.script(Reply((event, ToolCall("file_read", {"path": "a"}, id="c0"))), text_reply("Done."))
        settings = ProviderSettings(driver="openai", base_url=fake.base_url)
        connection = Connection("mine", settings, default_base_url="")
        provider = OpenAIProvider("mine", settings, connection)
        answer = assembled((await collect(provider, ModelRequest("m", (), [user("q")], TOOLS)))[0])
        await collect(provider, ModelRequest("m", (), [user("q"), answer, results("A")], TOOLS))
        await connection.aclose()
    sent = fake.requests[1].json["messages"][1]
    assert sent["reasoning_details"] == [text("Hm"), ENCRYPTED]
    assert sent["tool_calls"][0]["id"] == "c0"
    assert answer.blocks[0] == ThinkingBlock(text="Hm", provider="openai")
