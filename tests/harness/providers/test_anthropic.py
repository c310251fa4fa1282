"""The Messages API, over real HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from app.harness.providers.deltas import TextDelta
from app.harness.providers.drivers.anthropic.adapter import AnthropicProvider
from app.messages import (
    AssistantMessage,
    ImageBlock,
    SystemBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResult,
    ToolResultsMessage,
    Usage,
    UserMessage,
)
from tests.fakes.provider_script import (
    Document,
    Raw,
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

MARKER = {"type": "ephemeral"}


def _too_long(words: str) -> Document:
    error = {"type": "invalid_request_error", "message": words}
    return Document(400, {"type": "error", "error": error})


def signed(*blocks: Any) -> AssistantMessage:
    return AssistantMessage(blocks=(ThinkingBlock(text="t", signature="s", provider="anthropic"), *blocks))


@pytest.mark.requirement("providers.anthropic")
class TestAnthropic(ProtocolContract):
    build = AnthropicProvider
    driver = "anthropic"
    model = "claude-sonnet-4-5"
    credential_header = ("x-api-key", KEY)
    context_length = (
        _too_long("prompt is too long: 205000 tokens > 200000 maximum"),
        _too_long("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
        Document(413, {"type": "error", "error": {"type": "request_too_large", "message": "too large"}}),
    )
    stream_error = StreamError("Overloaded", "overloaded_error")
    usage_told = Usage(input_tokens=7, output_tokens=30, cache_read_tokens=100, cache_write_tokens=11)

    def conversation(self, sent: Mapping[str, Any]) -> list[Any]:
        return list(sent["messages"])

    def sent(self, *messages: Any, options: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        provider, _ = self.provider(**(options or {}))
        value: dict[str, Any] = orjson.loads(provider.encode(self.request(*messages, **more)).body)
        return value

    def carries_thinking(self, conversation: list[Any]) -> None:
        assert conversation[1]["content"][0] == {
            "type": "thinking",
            "thinking": "Let me see.",
            "signature": "c2lnbmVk",
        }

    async def test_the_version_header_is_sent(self) -> None:
        async with self.serving(text_reply("x")) as (fake, provider):
            await collect(provider, self.request())
        assert fake.requests[0].headers["anthropic-version"] == "2023-06-01"
        assert fake.requests[0].path == "/v1/messages"

    async def test_redacted_thinking_goes_back_unchanged(self) -> None:
        reply = Reply(
            (Thinking("", "opaque"), Thinking("aloud", "sig"), ToolCall("file_read", {"path": "a"}))
        )
        async with self.serving(reply) as (_, provider):
            deltas, _ = await collect(provider, self.request())
        content = self.sent(user("q"), assembled(deltas), results("A"))["messages"][1]["content"]
        assert content[:2] == [
            {"type": "redacted_thinking", "data": "opaque"},
            {"type": "thinking", "thinking": "aloud", "signature": "sig"},
        ]

    async def test_a_signature_without_visible_thinking_goes_back(self) -> None:
        block = b'data: {"type":"content_block_%s","index":0,%s}\n\n'
        hidden = (
            Raw(block % (b"start", b'"content_block":{"type":"thinking","thinking":"","signature":""}')),
            Raw(block % (b"delta", b'"delta":{"type":"signature_delta","signature":"sig"}')),
            Raw(block % (b"stop", b'"x":0')),
        )
        async with self.serving(Reply((*hidden, Text("done")))) as (_, provider):
            deltas, _ = await collect(provider, self.request())
        content = self.sent(user("q"), assembled(deltas), user("more"))["messages"][1]["content"]
        assert content[0] == {"type": "thinking", "thinking": "", "signature": "sig"}

    async def test_a_refusal_says_why(self) -> None:
        stop = b'data: {"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":'
        reply = Reply((Text("I"), Raw(stop + b'{"explanation":"not this"}}}\n\n')))
        deltas, error = await self.failure(reply)
        assert deltas == [TextDelta("I")]
        assert error.kind == "content_refused"
        assert "not this" in error.message

    @pytest.mark.parametrize(
        ("told", "expected"),
        [
            ("end_turn", "stop"),
            ("stop_sequence", "stop"),
            ("pause_turn", "stop"),
            ("something_new", "stop"),
            ("tool_use", "toolUse"),
            ("max_tokens", "length"),
            ("model_context_window_exceeded", "length"),
        ],
    )
    async def test_stop_reasons_are_mapped(self, told: str, expected: str) -> None:
        end = b'data: {"type":"message_delta","delta":{"stop_reason":"%b"}}\n\n' % told.encode()
        async with self.serving(Reply((Text("x"), Raw(end)), finish=None)) as (_, provider):
            _, finished = await collect(provider, self.request())
        assert finished.stop_reason == expected

    async def test_counts_that_are_zero_at_the_end_are_those_of_the_beginning(self) -> None:
        late = b'{"input_tokens":0,"output_tokens":9,"cache_read_input_tokens":0}'
        end = b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":%b}\n\n' % late
        told = Usage(input_tokens=700, cache_read_tokens=50)
        async with self.serving(Reply((Text("x"), Raw(end)), usage=told, finish=None)) as (_, provider):
            _, finished = await collect(provider, self.request())
        assert finished.usage == Usage(input_tokens=700, output_tokens=9, cache_read_tokens=50)

    async def test_a_call_cut_off_by_the_limit_is_reported_as_malformed(self) -> None:
        start = b'"content_block":{"type":"tool_use","id":"c","name":"file_read","input":{}}'
        cut = (
            Raw(b'data: {"type":"content_block_start","index":3,%b}\n\n' % start),
            Raw(
                b'data: {"type":"content_block_delta","index":3,'
                b'"delta":{"type":"input_json_delta","partial_json":"{\\"path\\": "}}\n\n'
            ),
        )
        async with self.serving(Reply(cut, finish="length")) as (_, provider):
            deltas, finished = await collect(provider, self.request())
        [call] = assembled(deltas).blocks
        assert isinstance(call, ToolCallBlock)
        assert call.argument_error
        assert finished.stop_reason == "length"

    def test_markers_stand_on_system_tools_and_the_ends_of_the_conversation(self) -> None:
        messages = (user("q"), called("a"), results("A"), called("b", first=1), results("B", first=1))
        system = (SystemBlock(name="agent", text="One"), SystemBlock(name="instructions", text="Two"))
        sent = self.sent(*messages, system=system)
        assert [block.get("cache_control") for block in sent["system"]] == [None, MARKER]
        assert [tool.get("cache_control") for tool in sent["tools"]] == [None, MARKER]
        marks = [
            (index, position)
            for index, message in enumerate(sent["messages"])
            for position, block in enumerate(message["content"])
            if "cache_control" in block
        ]
        assert marks == [(2, 0), (4, 0)]

    def test_the_cached_prefix_of_a_request_is_found_again_by_the_next_one(self) -> None:
        before = self.sent(user("q"), called("a"), results("A"))
        after = self.sent(user("q"), called("a"), results("A"), called("b", first=1), results("B", first=1))
        marked = [m for m in after["messages"] if "cache_control" in m["content"][-1]]
        assert before["messages"][-1] in marked

    def test_a_message_queued_behind_results_takes_the_marker(self) -> None:
        sent = self.sent(user("q"), called("a"), results("A"), user("also this"))
        assert "cache_control" in sent["messages"][3]["content"][-1]
        assert sum(str(message).count("cache_control") for message in sent["messages"]) == 2

    def test_markers_can_be_switched_off(self) -> None:
        assert "cache_control" not in str(self.sent(user("q"), options={"cache": False}))

    @pytest.mark.parametrize(
        ("model", "asked", "options", "limit", "thinking"),
        [
            ("claude-sonnet-4-5", None, {}, 8192, None),
            ("claude-sonnet-4-5", 100, {}, 100, None),
            ("claude-3-haiku-20240307", None, {}, 4096, None),
            ("claude-sonnet-4-5", None, {"max_output_tokens": 9}, 9, None),
            ("claude-sonnet-4-5", None, {"thinking_budget": 2000}, 10192, 2000),
            ("claude-sonnet-4-20250514", None, {"thinking_budget": 2000}, 10192, 2000),
            ("claude-3-7-sonnet-20250219", None, {"thinking_budget": 5}, 9216, 1024),
            ("claude-sonnet-4-5", 1500, {"thinking_budget": 2000}, 1500, 1125),
            ("claude-sonnet-4-5", 900, {"thinking_budget": 2000}, 900, None),
            ("claude-opus-4-6", None, {"thinking_budget": 2000}, 10192, "adaptive"),
            ("claude-opus-5", None, {"thinking_budget": 2000}, 10192, "adaptive"),
            ("house-model", None, {"thinking": "adaptive"}, 8192, "adaptive"),
        ],
    )
    def test_thinking_fits_the_model_and_the_limit(
        self, model: str, asked: int | None, options: dict[str, Any], limit: int, thinking: Any
    ) -> None:
        sent = self.sent(user("q"), model=model, max_output_tokens=asked, options=options)
        assert sent["max_tokens"] == limit
        expected = {
            None: None,
            "adaptive": {"type": "adaptive", "display": "summarized"},
        }.get(thinking, {"type": "enabled", "budget_tokens": thinking})
        assert sent.get("thinking") == expected

    def test_a_turn_that_another_model_began_goes_on_without_thinking(self) -> None:
        options = {"thinking_budget": 2000}
        own = signed(ToolCallBlock(id="c0", name="file.read"))
        assert "thinking" in self.sent(user("q"), own, results("A"), options=options)
        assert "thinking" not in self.sent(user("q"), called("a"), results("A"), options=options)
        assert "thinking" in self.sent(user("q"), called("a"), results("A"), user("next"), options=options)

    def test_thinking_of_others_and_unsigned_thinking_are_left_out(self) -> None:
        blocks = (
            ThinkingBlock(text="a", signature="s", provider="google"),
            ThinkingBlock(text="b", data="d", provider="openai-responses"),
            ThinkingBlock(text="c", provider="anthropic"),
            ThinkingBlock(text="d"),
            TextBlock(text="said"),
        )
        sent = self.sent(user("q"), AssistantMessage(blocks=blocks), user("r"))
        assert sent["messages"][1]["content"] == [{"type": "text", "text": "said"}]

    def test_an_answer_never_ends_in_thinking(self) -> None:
        sent = self.sent(user("q"), signed(), user("r"), signed(TextBlock(text="x")), user("s"))
        assert [message["role"] for message in sent["messages"]] == ["user", "user", "assistant", "user"]

    def test_results_and_images_have_the_shape_that_the_api_wants(self) -> None:
        image = UserMessage(blocks=(ImageBlock(media_type="image/png", data="aGk="), TextBlock(text=" ")))
        outcome = ToolResultsMessage(
            results=(
                ToolResult(tool_call_id="c:0", name="file.read", content=""),
                ToolResult(tool_call_id="c1", name="file.read", content="", is_error=True),
                ToolResult(tool_call_id="c2", name="file.read", content="no such file", is_error=True),
            )
        )
        sent = self.sent(image, called("a", "b", "c"), outcome, options={"cache": False})
        source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
        assert sent["messages"][0]["content"] == [{"type": "image", "source": source}]
        assert sent["messages"][2]["content"] == [
            {"type": "tool_result", "tool_use_id": "c_0"},
            {"type": "tool_result", "tool_use_id": "c1", "content": "failed", "is_error": True},
            {"type": "tool_result", "tool_use_id": "c2", "content": "no such file", "is_error": True},
        ]

    def test_a_malformed_call_goes_back_as_an_object(self) -> None:
        call = ToolCallBlock(id="c0", name="odd name", raw_arguments="{", argument_error="bad")
        [block] = self.sent(user("q"), AssistantMessage(blocks=(call,)), results("x"))["messages"][1][
            "content"
        ]
        assert block == {"type": "tool_use", "id": "c0", "name": "odd_name", "input": {"INVALID_JSON": "{"}}

    def test_extra_members_of_the_body_are_added(self) -> None:
        options = {"body": {"temperature": 0.5, "model": "other"}, "effort": "low"}
        sent = self.sent(user("q"), options=options)
        assert (sent["temperature"], sent["model"]) == (0.5, self.model)
        assert sent["output_config"] == {"effort": "low"}
