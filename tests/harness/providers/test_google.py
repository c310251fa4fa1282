"""The Gemini API, over real HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from app.harness.providers import folding
from app.harness.providers.deltas import TextDelta, ThinkingDelta, UsageSoFar
from app.harness.providers.drivers.google.adapter import GoogleProvider
from app.harness.providers.errors import RETRYABLE
from app.messages import (
    AssistantMessage,
    ImageBlock,
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
    Refusal,
    Reply,
    Stall,
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

SKIP = "skip_thought_signature_validator"


def chunk(**members: Any) -> Raw:
    return Raw(b"data: " + orjson.dumps(members) + b"\n\n")


def stopped(reason: str, **more: str) -> Raw:
    return chunk(candidates=[{"finishReason": reason, **more}])


def signature(text: str = "") -> ThinkingBlock:
    return ThinkingBlock(text=text, signature="sig", provider="google")


@pytest.mark.requirement("providers.google")
class TestGoogle(ProtocolContract):
    build = GoogleProvider
    driver = "google"
    model = "gemini-3-pro"
    credential_header = ("x-goog-api-key", KEY)
    context_length = (
        Document(
            400,
            {
                "error": {
                    "code": 400,
                    "message": "The input token count (12) exceeds the maximum number of tokens allowed (9).",
                    "status": "INVALID_ARGUMENT",
                }
            },
        ),
    )
    stream_error = StreamError("The model is overloaded", "UNAVAILABLE")
    usage_told = Usage(input_tokens=7, output_tokens=30, reasoning_tokens=20, cache_read_tokens=100)

    def conversation(self, sent: Mapping[str, Any]) -> list[Any]:
        return list(sent["contents"])

    def sent(self, *messages: Any, options: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        provider, _ = self.provider(**(options or {}))
        value: dict[str, Any] = orjson.loads(provider.encode(self.request(*messages, **more)).body)
        return value

    def parts(self, *blocks: Any, **more: Any) -> list[Any]:
        """Return an answer's parts as they go back."""
        sent = self.sent(user("q"), AssistantMessage(blocks=blocks), user("r"), **more)
        return list(sent["contents"][1]["parts"])

    def says_where(self, call: ToolCallBlock) -> None:
        # The API tells that it could not read a call, not where.
        assert "could not read" in (call.argument_error or "")

    def carries_thinking(self, conversation: list[Any]) -> None:
        assert conversation[1]["parts"][0] == {
            "text": "Let me see.",
            "thought": True,
            "thoughtSignature": "c2lnbmVk",
        }

    async def test_a_server_that_never_hangs_up_does_not_hold_up_a_whole_answer(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(folding, "_FAREWELL_SECONDS", 0.2)
        parts = (Text("x"), stopped("STOP"), Stall())
        async with self.serving(Reply(parts, finish=None), timeout=30) as (_, provider):
            deltas, finished = await collect(provider, self.request())
        assert (deltas, finished.stop_reason) == ([TextDelta("x")], "stop")

    async def test_the_stream_is_asked_for_under_the_model(self) -> None:
        async with self.serving(text_reply("x")) as (fake, provider):
            await collect(provider, self.request(model="gemini 3?"))
        path = "/v1beta/models/gemini%203%3F:streamGenerateContent?alt=sse"
        assert fake.requests[0].path == path

    def test_a_base_url_may_name_the_version(self) -> None:
        provider, _ = self.provider("http://127.0.0.1:9/v1beta")
        assert provider.encode(self.request()).path.startswith("/models/")

    async def test_the_signature_of_a_call_goes_back_on_it(self) -> None:
        reply = Reply(
            (Thinking("", "sig"), ToolCall("file_read", {"path": "a"}, id="c0"), ToolCall("edit_text"))
        )
        async with self.serving(reply) as (_, provider):
            deltas, _ = await collect(provider, self.request())
        answer = assembled(deltas)
        assert [block.signature for block in answer.blocks if isinstance(block, ToolCallBlock)] == [
            "sig",
            None,
        ]
        assert [part.get("thoughtSignature") for part in self.parts(*answer.blocks)] == ["sig", None]

    async def test_a_signature_at_the_end_of_text_goes_back_on_the_text(self) -> None:
        async with self.serving(Reply((Text("a"), Text("b"), Thinking("", "sig")))) as (_, provider):
            deltas, _ = await collect(provider, self.request())
        assert self.parts(*assembled(deltas).blocks) == [{"text": "ab", "thoughtSignature": "sig"}]

    def test_a_loose_signature_goes_to_the_call_that_needs_one(self) -> None:
        call = ToolCallBlock(id="c0", name="file.read")
        assert self.parts(TextBlock(text="x"), call, signature())[1]["thoughtSignature"] == "sig"
        signed = call.model_copy(update={"signature": "own"})
        assert [
            part["thoughtSignature"] for part in self.parts(TextBlock(text="x"), signature(), signed)
        ] == [
            "sig",
            "own",
        ]

    @pytest.mark.parametrize(
        ("model", "expected"),
        [("gemini-3-pro", SKIP), ("gemini-flash-latest", SKIP), ("gemini-2.5-pro", None)],
    )
    def test_calls_of_other_models_carry_the_documented_stand_in(
        self, model: str, expected: str | None
    ) -> None:
        parts = self.parts(*called("a", "b").blocks, model=model)
        assert [part.get("thoughtSignature") for part in parts] == [expected, None]

    def test_thinking_of_others_and_unsigned_thinking_are_left_out(self) -> None:
        blocks = (
            ThinkingBlock(text="a", signature="s", provider="anthropic"),
            ThinkingBlock(text="b", provider="google"),
            ThinkingBlock(text="c"),
            signature("mine"),
            TextBlock(text="said"),
        )
        assert self.parts(*blocks) == [
            {"text": "mine", "thought": True, "thoughtSignature": "sig"},
            {"text": "said"},
        ]

    async def test_calls_without_ids_get_ones_that_repeat_with_the_request(self) -> None:
        reply = Reply(
            (ToolCall("file_read", {"path": "a"}, id=None), ToolCall("file_read", {"path": "b"}, id=None))
        )
        seen = []
        async with self.serving(reply, reply, reply) as (_, provider):
            for text in ("same", "same", "other"):
                deltas, _ = await collect(provider, self.request(user(text)))
                seen.append(
                    [block.id for block in assembled(deltas).blocks if isinstance(block, ToolCallBlock)]
                )
        assert seen[0] == seen[1]
        assert len({*seen[0], *seen[2]}) == 4

    async def test_made_up_ids_are_not_sent_and_given_ones_are(self) -> None:
        reply = Reply((ToolCall("file_read", {}, id=None), ToolCall("edit_text", {}, id="given")))
        async with self.serving(reply) as (_, provider):
            deltas, _ = await collect(provider, self.request())
        answer = assembled(deltas)
        calls = [block for block in answer.blocks if isinstance(block, ToolCallBlock)]
        outcome = ToolResultsMessage(
            results=tuple(
                ToolResult(tool_call_id=call.id, name=call.name, content="x", is_error=call.id == "given")
                for call in calls
            )
        )
        sent = self.sent(user("q"), answer, outcome)["contents"]
        assert [part["functionCall"] for part in sent[1]["parts"]] == [
            {"name": "file_read", "args": {}},
            {"id": "given", "name": "edit_text", "args": {}},
        ]
        assert [part["functionResponse"] for part in sent[2]["parts"]] == [
            {"name": "file_read", "response": {"output": "x"}},
            {"id": "given", "name": "edit_text", "response": {"error": "x"}},
        ]

    async def test_arguments_that_are_no_object_become_a_call_that_says_so(self) -> None:
        call = {"functionCall": {"name": "file_read", "args": [1]}}
        reply = Reply((chunk(candidates=[{"content": {"parts": [call]}}]),))
        async with self.serving(reply) as (_, provider):
            deltas, _ = await collect(provider, self.request())
        [block] = assembled(deltas).blocks
        assert isinstance(block, ToolCallBlock)
        assert block.argument_error == "expected a JSON object, got an array"

    async def test_a_malformed_call_of_no_offered_tool_is_an_error(self) -> None:
        _, error = await self.failure(Reply((ToolCall("rm_everything", "now"),)))
        assert error.kind == "truncated_stream"
        assert "MALFORMED_FUNCTION_CALL" in error.message

    async def test_an_answer_given_up_over_a_models_slip_may_be_asked_for_again(self) -> None:
        _, error = await self.failure(Reply((stopped("UNEXPECTED_TOOL_CALL"),), finish=None))
        assert error.kind in RETRYABLE
        assert "UNEXPECTED_TOOL_CALL" in error.message

    @pytest.mark.parametrize("reason", ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"])
    async def test_withheld_answers_are_refused_content(self, reason: str) -> None:
        _, error = await self.failure(Reply((stopped(reason),), finish=None))
        assert error.kind == "content_refused"
        assert reason in error.message

    @pytest.mark.parametrize("reason", ["OTHER", "LANGUAGE", "SOMETHING_NEW"])
    async def test_other_ends_are_errors_and_never_a_success(self, reason: str) -> None:
        deltas, error = await self.failure(Reply((Text("x"), stopped(reason)), finish=None))
        assert deltas == [TextDelta("x")]
        assert error.kind == "unknown"

    async def test_a_refusal_says_why(self) -> None:
        _, error = await self.failure(Reply((Refusal("not this"),)))
        assert error.kind == "content_refused"
        assert "not this" in error.message

    async def test_a_blocked_prompt_is_refused_content(self) -> None:
        _, error = await self.failure(Reply((chunk(promptFeedback={"blockReason": "SAFETY"}),), finish=None))
        assert error.kind == "content_refused"
        assert "prompt was blocked: SAFETY" in error.message

    async def test_a_used_up_quota_says_when_to_come_back(self) -> None:
        details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "31s"}]
        error = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "quota", "details": details}
        _, failure = await self.failure(Document(429, [{"error": error}]))
        assert (failure.kind, failure.retry_after) == ("rate_limited", 31.0)

    async def test_what_follows_the_finish_reason_is_still_read(self) -> None:
        late = chunk(usageMetadata={"promptTokenCount": 4, "candidatesTokenCount": 2})
        async with self.serving(Reply((Text("x"), stopped("STOP"), late), finish=None)) as (_, provider):
            deltas, finished = await collect(provider, self.request())
        assert deltas == [TextDelta("x")]
        assert finished.usage == Usage(input_tokens=4, output_tokens=2)

    async def test_counts_that_come_before_the_end_are_reported_when_they_come(self) -> None:
        early = chunk(usageMetadata={"promptTokenCount": 4, "candidatesTokenCount": 1})
        async with self.serving(Reply((early, Text("x")))) as (_, provider):
            request = self.request()
            deltas = [delta async for delta in provider.stream(provider.encode(request), request)]
        assert deltas[:2] == [UsageSoFar(Usage(input_tokens=4, output_tokens=1)), TextDelta("x")]

    async def test_thoughts_are_thinking(self) -> None:
        async with self.serving(Reply((Thinking("hm"), Thinking("m"), Text("x")))) as (_, provider):
            deltas, _ = await collect(provider, self.request())
        assert deltas == [ThinkingDelta("hm"), ThinkingDelta("m"), TextDelta("x")]

    def test_the_request_has_the_shape_that_the_api_wants(self) -> None:
        image = UserMessage(blocks=(TextBlock(text="see"), ImageBlock(media_type="image/png", data="aGk=")))
        sent = self.sent(image, called("a"), results("A"), max_output_tokens=50)
        assert sent["systemInstruction"] == {"parts": [{"text": "You help."}]}
        [tool, _] = sent["tools"][0]["functionDeclarations"]
        assert (tool["name"], tool["parametersJsonSchema"]["required"]) == ("file_read", ["path"])
        assert sent["generationConfig"] == {
            "maxOutputTokens": 50,
            "thinkingConfig": {"includeThoughts": True},
        }
        assert [content["role"] for content in sent["contents"]] == ["user", "model", "user"]
        assert sent["contents"][0]["parts"][1] == {"inlineData": {"mimeType": "image/png", "data": "aGk="}}

    @pytest.mark.parametrize(
        ("model", "options", "expected"),
        [
            ("gemini-2.5-flash", {"thinking_budget": 0}, {"includeThoughts": True, "thinkingBudget": 0}),
            ("gemini-3-pro", {"thinking_level": "low"}, {"includeThoughts": True, "thinkingLevel": "low"}),
            ("gemini-2.0-flash", {}, None),
            ("gemini-3-pro", {"include_thoughts": False}, None),
        ],
    )
    def test_thinking_follows_model_and_options(
        self, model: str, options: dict[str, Any], expected: Any
    ) -> None:
        sent = self.sent(user("q"), model=model, options=options)
        assert sent.get("generationConfig", {}).get("thinkingConfig") == expected

    def test_extra_members_are_added(self) -> None:
        options = {"generation": {"temperature": 0.5}, "body": {"safetySettings": []}}
        sent = self.sent(user("q"), options=options)
        assert sent["generationConfig"]["temperature"] == 0.5
        assert sent["safetySettings"] == []
