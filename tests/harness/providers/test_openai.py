"""Chat completions, over real HTTP: OpenAI's own server and the ones that are almost like it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import orjson
import pytest

from app.harness.providers import folding
from app.harness.providers.deltas import Finished, TextDelta, ThinkingClosed, ThinkingDelta, ToolCallReady
from app.harness.providers.drivers.openai.adapter import OpenAIProvider
from app.harness.providers.drivers.openai.answer import read_usage
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
    Delay,
    Disconnect,
    Document,
    Raw,
    Refusal,
    Reply,
    Stall,
    StreamError,
    ToolCall,
)
from tests.fakes.provider_script import text_reply as said
from tests.harness.providers.contract import KEY, TOOLS, ProtocolContract, called, collect, results, user

pytestmark = pytest.mark.requirement(
    "providers.openai", "providers.streams", "providers.usage", "providers.disconnect", "loop.context_length"
)


def event(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> Raw:
    """One event as a particular server writes it."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish, **more}
    return Raw(b"data: " + orjson.dumps({"choices": [choice]}) + b"\n\n")


def refused(status: int, error: Any) -> Document:
    return Document(status, {"error": error})


def call_piece(**piece: Any) -> Raw:
    return event({"tool_calls": [piece]})


DONE = Raw(b"data: [DONE]\n\n")


class TestOpenAI(ProtocolContract):
    build = OpenAIProvider
    driver = "openai"
    model = "gpt-4.1-mini"
    credential_header = ("authorization", f"Bearer {KEY}")
    context_length = (
        refused(400, {"message": "This model's maximum context length is 8192 tokens. However, ..."}),
        refused(400, {"message": "too much", "code": "context_length_exceeded"}),
        refused(400, {"code": 400, "message": "x", "type": "exceed_context_size_error"}),
        Document(500, {"error": "input length exceeds the context length"}),
        Document(400, {"object": "error", "message": "longer than the maximum model length of 8192"}),
        Document(413, "Payload Too Large"),
    )
    stream_error = StreamError("The server had an error", "server_error")
    usage_told = Usage(input_tokens=18, output_tokens=30, reasoning_tokens=20, cache_read_tokens=100)

    def conversation(self, sent: Mapping[str, Any]) -> list[Any]:
        return [message for message in sent["messages"] if message["role"] != "system"]

    def carries_thinking(self, conversation: list[Any]) -> None:
        # Servers differ: some refuse thinking that comes back, so it is sent only when asked for.
        assert "reasoning_content" not in conversation[1]

    def sent(self, *messages: Any, options: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        provider, _ = self.provider(**(options or {}))
        value: dict[str, Any] = orjson.loads(provider.encode(self.request(*messages, **more)).body)
        return value

    def sent_to(
        self, address: str, *messages: Any, options: Mapping[str, Any] | None = None, **more: Any
    ) -> dict[str, Any]:
        provider, _ = self.provider(address, **(options or {}))
        value: dict[str, Any] = orjson.loads(provider.encode(self.request(*messages, **more)).body)
        return value

    async def deltas_of(self, *parts: Any) -> tuple[list[Any], Finished]:
        async with self.serving(Reply(parts, finish=None)) as (_, provider):
            return await collect(provider, self.request())

    def test_a_request_has_the_shape_of_chat_completions(self) -> None:
        picture = ImageBlock(media_type="image/png", data="aGk=")
        question = UserMessage(blocks=(TextBlock(text="What is it?"), picture))
        answer = ToolResultsMessage(
            results=(ToolResult(tool_call_id="c0", name="file.read", content="no", is_error=True),)
        )
        system = (SystemBlock(name="agent", text="One."), SystemBlock(name="more", text="Two."))
        sent = self.sent(question, called("a.py"), answer, system=system, max_output_tokens=50)
        assert sent == {
            "model": "gpt-4.1-mini",
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_tokens": 50,
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": tool.wire_name,
                        "description": tool.description,
                        "parameters": tool.parameters,
                    },
                }
                for tool in TOOLS
            ],
            "messages": [
                {"role": "system", "content": "One.\n\nTwo."},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "What is it?"},
                        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
                    ],
                },
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "c0",
                            "type": "function",
                            "function": {"name": "file_read", "arguments": '{"path":"a.py"}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "c0", "content": "no"},
            ],
        }

    def test_the_field_for_the_token_limit_depends_on_the_server(self) -> None:
        assert self.sent(max_output_tokens=9)["max_tokens"] == 9
        own = self.sent(max_output_tokens=9, options={"max_tokens_field": "max_completion_tokens"})
        assert own["max_completion_tokens"] == 9
        official, _ = self.provider("https://api.openai.com/v1")
        body = orjson.loads(official.encode(self.request(max_output_tokens=9)).body)
        assert (body["max_completion_tokens"], "max_tokens" in body) == (9, False)

    @pytest.mark.parametrize(
        ("address", "field"),
        [
            ("https://eu.api.openai.com/v1", "max_completion_tokens"),
            ("https://mine.openai.azure.com/openai/v1", "max_completion_tokens"),
            ("https://mine.services.ai.azure.com/openai/v1", "max_completion_tokens"),
            ("https://mine.services.ai.azure.com/models", "max_tokens"),
            ("https://api.openai.com.example.org/v1", "max_tokens"),
        ],
    )
    def test_regions_and_azure_get_the_field_of_openai(self, address: str, field: str) -> None:
        assert self.sent_to(address, max_output_tokens=9)[field] == 9

    @pytest.mark.parametrize(
        "address",
        ["https://api.deepseek.com", "https://api.moonshot.ai/v1", "https://api.moonshot.cn/v1"],
    )
    def test_thinking_goes_back_where_the_next_step_would_be_refused_without_it(self, address: str) -> None:
        thought = ThinkingBlock(text="hm", provider="openai")
        own = AssistantMessage(blocks=(thought, *called("a").blocks))
        cut = AssistantMessage(blocks=(thought,))
        messages = (user("q"), own, results("A"), called("b", first=1), results("B", first=1), cut, user("?"))
        sent = self.sent_to(address, *messages)["messages"]
        assert [one.get("reasoning_content") for one in sent if one["role"] == "assistant"] == ["hm", ""]
        plain = self.sent_to(address, *messages, options={"reasoning_field": ""})["messages"]
        assert not any("reasoning_content" in message for message in plain)

    def test_mistrals_order_of_messages_and_form_of_ids_are_kept(self) -> None:
        picture = ImageBlock(media_type="image/png", data="aGk=")
        shown = ToolResult(tool_call_id="c1", name="file.read", content="seen", images=(picture,))
        messages = (user("q"), called("a"), results("A"), user("and b?"), called("b", first=1))
        more = (ToolResultsMessage(results=(shown,)), called("c", first=2), results("C", first=2))
        sent = self.sent_to("https://api.mistral.ai/v1", *messages, *more, reminder="Two tasks are open.")
        conversation = self.conversation(sent)
        pairs = pairwise(conversation)
        assert not any((one["role"], two["role"]) == ("tool", "user") for one, two in pairs)
        assert [one["role"] for one in conversation].count("user") == 4
        called_ids = [call["id"] for one in conversation for call in one.get("tool_calls", ())]
        answered = [one["tool_call_id"] for one in conversation if one["role"] == "tool"]
        assert called_ids == answered
        assert len(set(answered)) == 3
        assert all(len(one) == 9 and one.isalnum() for one in answered)

    def test_mistral_is_not_asked_for_counts_which_it_refuses_to_be(self) -> None:
        address = "https://api.mistral.ai/v1"
        assert "stream_options" not in self.sent_to(address)
        assert "stream_options" in self.sent_to(address, options={"include_usage": True})

    def test_an_id_that_mistral_gave_goes_back_to_it(self) -> None:
        call = AssistantMessage(blocks=(ToolCallBlock(id="D681PevKs", name="file.read"),))
        [_, sent] = self.conversation(self.sent_to("https://api.mistral.ai/v1", user("q"), call))
        assert sent["tool_calls"][0]["id"] == "D681PevKs"

    def test_options_shape_the_request(self) -> None:
        options = {
            "include_usage": False,
            "system_role": "developer",
            "reasoning_field": "reasoning_content",
            "body": {"temperature": 0, "reasoning_effort": "low"},
        }
        thought = AssistantMessage(
            blocks=(ThinkingBlock(text="hm", provider="openai"), TextBlock(text="yes"))
        )
        sent = self.sent(user("a"), thought, user("b"), options=options)
        assert "stream_options" not in sent
        assert (sent["temperature"], sent["reasoning_effort"]) == (0, "low")
        assert sent["messages"][0]["role"] == "developer"
        assert sent["messages"][2]["reasoning_content"] == "hm"

    async def test_a_credential_can_go_under_another_header(self) -> None:
        async with self.serving(said("x"), auth_header="api-key") as (fake, provider):
            await collect(provider, self.request())
        assert fake.requests[0].headers["api-key"] == KEY
        assert "authorization" not in fake.requests[0].headers

    def test_thinking_of_another_provider_is_not_sent(self) -> None:
        thought = AssistantMessage(
            blocks=(ThinkingBlock(text="x", provider="anthropic"), TextBlock(text="y"))
        )
        sent = self.sent(user("a"), thought, user("b"), options={"reasoning_field": "reasoning"})
        assert sent["messages"][2] == {"role": "assistant", "content": "y"}

    def test_ids_that_are_too_long_stay_paired(self) -> None:
        long = "call_" + "x" * 60
        call = AssistantMessage(blocks=(ToolCallBlock(id=long, name="file.read"),))
        result = ToolResult(tool_call_id=long, name="file.read", content="r")
        messages = self.sent(user("q"), call, ToolResultsMessage(results=(result,)))["messages"]
        identifier = messages[2]["tool_calls"][0]["id"]
        assert len(identifier) <= 40
        assert messages[3]["tool_call_id"] == identifier

    def test_system_and_tools_are_the_same_bytes_for_equal_tuples(self) -> None:
        provider, _ = self.provider()
        one = provider.encode(self.request(tools=TOOLS))
        copies = tuple(tool.model_copy() for tool in TOOLS)
        assert provider.encode(self.request(tools=copies)) == one
        assert provider.encode(self.request(tools=TOOLS[:1])) != one

    @pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
    async def test_thinking_comes_under_two_names(self, field: str) -> None:
        deltas, _ = await self.deltas_of(
            event({field: "hm"}), event({"content": "yes"}), event({}, "stop"), DONE
        )
        assert deltas == [ThinkingDelta("hm"), ThinkingClosed(provider="openai"), TextDelta("yes")]

    async def test_typed_parts_are_read_as_thinking_and_text(self) -> None:
        part = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
        deltas, _ = await self.deltas_of(
            event({"content": [part]}),
            event({"content": [{"type": "text", "text": "yes"}]}),
            event({}, "stop"),
        )
        assert deltas == [ThinkingDelta("hm"), ThinkingClosed(provider="openai"), TextDelta("yes")]

    async def test_calls_without_ids_get_the_same_ids_every_time(self) -> None:
        parts = (ToolCall("file_read", {"path": "a"}, id=None), ToolCall("file_read", {"path": "b"}, id=None))
        async with self.serving(*[Reply(parts)] * 3) as (_, provider):
            first, _ = await collect(provider, self.request())
            again, _ = await collect(provider, self.request())
            later, _ = await collect(provider, self.request(user("Hello again")))
        ids = [delta.call.id for delta in (*first, *later) if isinstance(delta, ToolCallReady)]
        assert len(set(ids)) == 4
        assert first == again

    async def test_calls_that_share_an_index_are_distinguished(self) -> None:
        def whole(path: str, **more: Any) -> Raw:
            function = {"name": "file_read", "arguments": orjson.dumps({"path": path}).decode()}
            return call_piece(index=0, function=function, **more)

        for first, second in (({"id": "x"}, {"id": "y"}), ({}, {})):
            deltas, finished = await self.deltas_of(
                whole("a", **first), whole("b", **second), event({}, "tool_calls")
            )
            assert [delta.call.arguments for delta in deltas] == [{"path": "a"}, {"path": "b"}]
            assert finished.stop_reason == "toolUse"

    async def test_pieces_of_one_call_may_have_an_id_each(self) -> None:
        def piece(number: int, text: str, **more: Any) -> Raw:
            return call_piece(index=0, id=f"id{number}", function={"arguments": text, **more})

        deltas, _ = await self.deltas_of(
            piece(0, "", name="file_read"), piece(1, '{"path"'), piece(2, ':"a"}'), event({}, "tool_calls")
        )
        assert [(delta.call.id, delta.call.arguments) for delta in deltas] == [("id0", {"path": "a"})]

    async def test_calls_behind_a_finish_reason_are_not_lost(self) -> None:
        def whole(path: str, finish: str | None) -> Raw:
            function = {"name": "file_read", "arguments": orjson.dumps({"path": path}).decode()}
            return event({"tool_calls": [{"id": path, "function": function}]}, finish)

        deltas, finished = await self.deltas_of(whole("a", "stop"), whole("b", "stop"), DONE)
        assert [delta.call.arguments for delta in deltas] == [{"path": "a"}, {"path": "b"}]
        assert finished.stop_reason == "toolUse"

    async def test_a_server_that_never_hangs_up_does_not_hold_up_a_whole_answer(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(folding, "_FAREWELL_SECONDS", 0.3)
        beats = tuple(part for _ in range(200) for part in (Delay(0.1), Raw(b": still here\n\n")))
        for farewell in ((Stall(),), beats):
            deltas, finished = await self.deltas_of(event({"content": "x"}), event({}, "stop"), *farewell)
            assert (deltas, finished.stop_reason) == ([TextDelta("x")], "stop")

    async def test_an_end_that_comes_with_each_piece_is_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(folding, "_FAREWELL_SECONDS", 0.1)
        first, last = event({"content": "Hel"}, "stop"), event({"content": "lo"}, "stop")
        deltas, _ = await self.deltas_of(first, Delay(0.5), last)
        assert deltas == [TextDelta("Hel"), TextDelta("lo")]

    async def test_arguments_that_are_an_object_are_accepted(self) -> None:
        deltas, finished = await self.deltas_of(
            call_piece(index=0, id="c", function={"name": "file_read", "arguments": {"path": "a"}}),
            event({}, "stop"),
        )
        assert deltas[0].call.arguments == {"path": "a"}
        assert finished.stop_reason == "toolUse"

    async def test_a_refusal_is_refused_content_with_the_models_words(self) -> None:
        _, error = await self.failure(Reply((Refusal("I will "), Refusal("not do that."))))
        assert error.kind == "content_refused"
        assert "I will not do that." in error.message

    @pytest.mark.parametrize(
        ("told", "expected"),
        [
            ("stop", "stop"),
            ("eos", "stop"),
            ("model_length", "length"),
            ("MAX_TOKENS", "length"),
            ("model_context_window_exceeded", "length"),
            ("something_new", "stop"),
        ],
    )
    async def test_finish_reasons_are_mapped(self, told: str, expected: str) -> None:
        _, finished = await self.deltas_of(event({"content": "x"}, told))
        assert finished.stop_reason == expected

    @pytest.mark.parametrize(
        ("told", "kind"),
        [
            ("insufficient_system_resource", "overloaded"),
            ("network_error", "overloaded"),
            ("sensitive", "content_refused"),
        ],
    )
    async def test_an_answer_given_up_in_the_middle_is_an_error(self, told: str, kind: str) -> None:
        _, error = await self.failure(Reply((event({"content": "x"}, told),)))
        assert error.kind == kind

    async def test_an_error_beside_a_choice_is_an_error(self) -> None:
        broken = event({}, None, error={"code": 429, "message": "upstream is busy"})
        _, error = await self.failure(Reply((broken,)))
        assert (error.kind, error.status) == ("rate_limited", 429)

    async def test_an_answer_is_complete_when_only_the_counts_are_lost(self) -> None:
        deltas, finished = await self.deltas_of(event({"content": "x"}), event({}, "stop"), Disconnect())
        assert deltas == [TextDelta("x")]
        assert finished.usage == Usage()

    async def test_escaped_lone_surrogates_are_replaced(self) -> None:
        raw = Raw(
            b'data: {"choices":[{"index":0,"delta":{"content":"a\\ud83d"},"finish_reason":"stop"}]}\n\n'
        )
        deltas, _ = await self.deltas_of(raw)
        assert deltas == [TextDelta("a\ufffd")]

    async def test_an_event_that_is_not_json_is_an_error(self) -> None:
        _, error = await self.failure(Reply((Raw(b"data: <html>\n\n"),)))
        assert error.kind == "unknown"
        assert "<html>" in error.message

    async def test_a_conversation_of_two_turns_is_sent_back_whole(self) -> None:
        async with self.serving(Reply((ToolCall("file_read", {"path": "a"}, id="c0"),)), said("done")) as (
            fake,
            provider,
        ):
            await collect(provider, self.request())
            await collect(provider, self.request(user("Hello"), called("a"), results("A")))
        roles = [message["role"] for message in fake.requests[1].json["messages"]]
        assert roles == ["system", "user", "assistant", "tool"]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, Usage()),
        ({"prompt_tokens": 5, "completion_tokens": None}, Usage(input_tokens=5)),
        (
            {"prompt_tokens": 100, "completion_tokens": 9, "prompt_cache_hit_tokens": 60},
            Usage(input_tokens=40, output_tokens=9, cache_read_tokens=60),
        ),
        (
            {"prompt_tokens": 100, "completion_tokens": 9, "cached_tokens": 60},
            Usage(input_tokens=40, output_tokens=9, cache_read_tokens=60),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 35,
                "completion_tokens_details": {"reasoning_tokens": 20},
            },
            Usage(input_tokens=10, output_tokens=25, reasoning_tokens=20),
        ),
        (
            {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 99}},
            Usage(cache_read_tokens=10),
        ),
    ],
)
def test_counts_of_different_servers_are_normalised(counts: dict[str, Any], expected: Usage) -> None:
    assert read_usage(counts) == expected
