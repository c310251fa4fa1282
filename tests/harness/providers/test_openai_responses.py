"""The Responses API, over real HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from app.harness.providers.deltas import TextDelta, ThinkingClosed, ThinkingDelta
from app.harness.providers.drivers.openai_responses.adapter import OpenAIResponsesProvider
from app.messages import (
    AssistantMessage,
    ImageBlock,
    SystemBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    Usage,
    UserMessage,
)
from tests.fakes.provider_script import (
    Document,
    Raw,
    Refusal,
    Reply,
    StreamError,
    Text,
    Thinking,
    ToolCall,
    text_reply,
)
from tests.harness.providers.contract import (
    KEY,
    ProtocolContract,
    assembled,
    called,
    collect,
    results,
    user,
)


def event(kind: str, **members: Any) -> Raw:
    return Raw(b"data: " + orjson.dumps({"type": f"response.{kind}", **members}) + b"\n\n")


def own(**members: Any) -> ThinkingBlock:
    return ThinkingBlock(provider="openai-responses", **members)


@pytest.mark.requirement("providers.responses")
class TestOpenAIResponses(ProtocolContract):
    build = OpenAIResponsesProvider
    driver = "openai-responses"
    model = "gpt-5.1"
    credential_header = ("authorization", f"Bearer {KEY}")
    context_length = (
        Document(
            400,
            {
                "error": {
                    "message": "Your input exceeds the context window of this model.",
                    "type": "invalid_request_error",
                    "code": "context_length_exceeded",
                }
            },
        ),
    )
    stream_error = StreamError("The server had an error", "server_error")
    usage_told = Usage(
        input_tokens=7, output_tokens=30, reasoning_tokens=20, cache_read_tokens=100, cache_write_tokens=11
    )

    def conversation(self, sent: Mapping[str, Any]) -> list[Any]:
        return list(sent["input"])

    def sent(self, *messages: Any, options: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        provider, _ = self.provider(**(options or {}))
        value: dict[str, Any] = orjson.loads(provider.encode(self.request(*messages, **more)).body)
        return value

    def carries_thinking(self, conversation: list[Any]) -> None:
        assert conversation[1] == {
            "type": "reasoning",
            "id": "rs_0",
            "summary": [{"type": "summary_text", "text": "Let me see."}],
            "encrypted_content": "c2lnbmVk",
        }
        assert [item["type"] for item in conversation[2:]] == [
            "message",
            "function_call",
            "function_call_output",
        ]

    def test_nothing_is_stored_at_the_provider(self) -> None:
        sent = self.sent(user("q"), session_id="s1")
        assert sent["store"] is False
        assert sent["stream"] is True
        assert sent["include"] == ["reasoning.encrypted_content"]
        assert sent["prompt_cache_key"] == "s1"

    def test_the_system_prompt_is_the_instructions(self) -> None:
        system = (SystemBlock(name="agent", text="One"), SystemBlock(name="instructions", text="Two"))
        assert self.sent(user("q"), system=system)["instructions"] == "One\n\nTwo"

    def test_tools_are_not_made_strict(self) -> None:
        [tool, _] = self.sent(user("q"))["tools"]
        assert (tool["type"], tool["name"], tool["strict"]) == ("function", "file_read", False)
        assert tool["parameters"]["required"] == ["path"]

    async def test_every_part_of_a_summary_goes_back_as_it_came(self) -> None:
        reply = Reply((Thinking("one\n\ntwo", "enc"), ToolCall("file_read", {"path": "a"}, id="c0")))
        async with self.serving(reply) as (_, provider):
            deltas, _ = await collect(provider, self.request())
        assert deltas[:4] == [
            ThinkingDelta("one"),
            ThinkingClosed(item_id="rs_0", provider="openai-responses"),
            ThinkingDelta("two"),
            ThinkingClosed(data="enc", item_id="rs_0", provider="openai-responses"),
        ]
        item = self.sent(user("q"), assembled(deltas), results("A"))["input"][1]
        assert [part["text"] for part in item["summary"]] == ["one", "two"]
        assert item["encrypted_content"] == "enc"

    async def test_reasoning_without_a_summary_still_goes_back(self) -> None:
        reply = Reply((Thinking("", "enc1"), Thinking("", "enc2"), Text("done")))
        async with self.serving(reply) as (_, provider):
            deltas, _ = await collect(provider, self.request())
        items = self.sent(user("q"), assembled(deltas), user("r"))["input"]
        assert [(item.get("id"), item.get("encrypted_content")) for item in items[1:3]] == [
            ("rs_0", "enc1"),
            ("rs_1", "enc2"),
        ]

    async def test_reasoning_shown_in_full_goes_back_as_content(self) -> None:
        item = {"type": "reasoning", "id": "rs_9", "summary": []}
        parts = (
            event("output_item.added", output_index=0, item=item),
            event("reasoning_text.delta", output_index=0, delta="raw thought"),
            event("output_item.done", output_index=0, item=item),
        )
        async with self.serving(Reply((*parts, Text("done")))) as (_, provider):
            deltas, _ = await collect(provider, self.request())
        sent = self.sent(user("q"), assembled(deltas), user("r"))["input"][1]
        assert sent["content"] == [{"type": "reasoning_text", "text": "raw thought"}]

    def test_reasoning_that_cannot_go_back_is_left_out(self) -> None:
        message = AssistantMessage(
            blocks=(
                own(text="no data", item_id="rs_1"),
                own(text="no item", data="enc"),
                ThinkingBlock(text="x", signature="s", provider="anthropic", item_id="rs_2"),
                TextBlock(text="said"),
                own(text="cut off", data="enc", item_id="rs_3"),
            )
        )
        items = self.sent(user("q"), message, user("r"))["input"]
        assert [(item["type"], item.get("role")) for item in items] == [
            ("message", "user"),
            ("message", "assistant"),
            ("message", "user"),
        ]

    @pytest.mark.parametrize("model", ["gpt-4.1-mini", "openai/gpt-4o", "gpt-5-chat-latest", "gpt-5.2-chat"])
    def test_models_that_do_not_reason_are_not_asked_to(self, model: str) -> None:
        message = AssistantMessage(blocks=(own(text="t", data="enc", item_id="rs_1"), TextBlock(text="x")))
        options = {"reasoning_effort": "high"}
        sent = self.sent(user("q"), message, user("r"), model=model, options=options)
        assert "include" not in sent
        assert "reasoning" not in sent
        assert all(item["type"] == "message" for item in sent["input"])

    def test_one_conversation_serves_models_that_reason_and_models_that_do_not(self) -> None:
        provider, _ = self.provider()
        thought = AssistantMessage(blocks=(own(text="t", data="enc", item_id="rs_1"), TextBlock(text="x")))
        request = self.request(user("q"), thought, user("r"))
        plain = self.request(*request.messages, model="gpt-4.1", cache=request.cache)
        assert b"rs_1" in provider.encode(request).body
        assert b"rs_1" not in provider.encode(plain).body
        assert b"rs_1" in provider.encode(request).body

    def test_options_reach_the_request(self) -> None:
        options = {
            "reasoning_effort": "low",
            "reasoning_summary": "auto",
            "body": {"text": {"verbosity": "low"}},
        }
        sent = self.sent(user("q"), options=options, max_output_tokens=50)
        assert sent["reasoning"] == {"effort": "low", "summary": "auto"}
        assert sent["text"] == {"verbosity": "low"}
        assert sent["max_output_tokens"] == 50

    def test_items_have_the_shape_that_the_api_wants(self) -> None:
        image = UserMessage(blocks=(TextBlock(text="see"), ImageBlock(media_type="image/png", data="aGk=")))
        items = self.sent(image, called("a"), results("A"))["input"]
        assert items == [
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "see"},
                    {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "auto"},
                ],
            },
            {"type": "function_call", "call_id": "c0", "name": "file_read", "arguments": '{"path":"a"}'},
            {"type": "function_call_output", "call_id": "c0", "output": "A"},
        ]

    def test_a_malformed_call_goes_back_as_an_object(self) -> None:
        call = ToolCallBlock(id="c0", name="file.read", raw_arguments="{", argument_error="bad")
        item = self.sent(user("q"), AssistantMessage(blocks=(call,)), results("x"))["input"][1]
        assert item["arguments"] == '{"INVALID_JSON":"{"}'

    async def test_a_refusal_is_refused_content(self) -> None:
        deltas, error = await self.failure(Reply((Text("Well"), Refusal("I will not"))))
        assert deltas == [TextDelta("Well")]
        assert error.kind == "content_refused"
        assert "I will not" in error.message

    @pytest.mark.parametrize(
        ("code", "kind"),
        [
            ("server_error", "overloaded"),
            ("rate_limit_exceeded", "rate_limited"),
            ("context_length_exceeded", "context_length"),
            ("invalid_prompt", "bad_request"),
        ],
    )
    async def test_a_failed_response_is_classified(self, code: str, kind: str) -> None:
        response = {"status": "failed", "error": {"code": code, "message": "it failed"}}
        _, error = await self.failure(Reply((event("failed", response=response),)))
        assert error.kind == kind
        assert "it failed" in error.message

    async def test_a_call_cut_off_by_the_limit_is_reported_as_malformed(self) -> None:
        item = {"type": "function_call", "id": "fc", "call_id": "c9", "name": "file_read", "arguments": ""}
        parts = (
            event("output_item.added", output_index=0, item=item),
            event("function_call_arguments.delta", output_index=0, delta='{"path": '),
        )
        async with self.serving(Reply(parts, finish="length")) as (_, provider):
            deltas, finished = await collect(provider, self.request())
        [call] = assembled(deltas).blocks
        assert isinstance(call, ToolCallBlock)
        assert (call.id, call.raw_arguments) == ("c9", '{"path": ')
        assert finished.stop_reason == "length"

    async def test_text_that_was_never_streamed_is_not_lost(self) -> None:
        content = [{"type": "output_text", "text": "all at once"}]
        item = {"type": "message", "role": "assistant", "content": content}
        done = event("output_item.done", output_index=0, item=item)
        async with self.serving(Reply((done,)), text_reply("x")) as (_, provider):
            deltas, _ = await collect(provider, self.request())
        assert deltas == [TextDelta("all at once")]
