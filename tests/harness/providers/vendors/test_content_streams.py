"""Streams that the types of Google's SDK serialise are read in every kind of part.

The members of the types are found by introspection: what a new version adds is tested by itself."""

from __future__ import annotations

from typing import Any

import pytest

from app.messages import TextBlock, ThinkingBlock, ToolCallBlock, Usage
from tests.harness.providers.vendors.examples import some
from tests.harness.providers.vendors.reading import Reader

pytestmark = pytest.mark.requirement("providers.vendor_types")


class TestGenerateContent:
    driver = "google"

    def chunk(self, *parts: Any, reason: str | None = None, **given: Any) -> Any:
        from google.genai.types import GenerateContentResponse

        content = {"role": "model", "parts": list(parts)}
        candidate = {"content": content, "index": 0, **({"finishReason": reason} if reason else {})}
        return GenerateContentResponse.model_validate(
            {"candidates": [candidate], "modelVersion": "answering", "responseId": "resp_1", **given}
        )

    def around(self, *parts: Any) -> list[Any]:
        counts = {"promptTokenCount": 118, "cachedContentTokenCount": 100, "candidatesTokenCount": 10}
        end = self.chunk({"text": "after"}, reason="STOP", usageMetadata={**counts, "thoughtsTokenCount": 20})
        return [self.chunk({"text": "before "}), *(self.chunk(part) for part in parts), end]

    async def test_all_that_a_chunk_can_say_of_an_answer_is_read(self, reader: Reader) -> None:
        read = await reader.read(
            self.driver,
            self.around(
                {"text": "Let me see.", "thought": True},
                {"text": "", "thoughtSignature": "c2ln"},
                {"functionCall": {"id": "call_a", "name": "file_read", "args": {"path": "a"}}},
                {
                    "functionCall": {"id": "call_b", "name": "file_read", "args": {"path": "b"}},
                    "thoughtSignature": "c2ln",
                },
            ),
        )
        assert read.blocks == (
            TextBlock(text="before "),
            ThinkingBlock(text="Let me see.", signature="c2ln", provider=self.driver),
            ToolCallBlock(id="call_a", name="file.read", arguments={"path": "a"}),
            ToolCallBlock(id="call_b", name="file.read", arguments={"path": "b"}, signature="c2ln"),
            TextBlock(text="after"),
        )
        # The API does not tell apart what was written to its cache.
        counted = {"input_tokens": 18, "cache_read_tokens": 100, "output_tokens": 30, "reasoning_tokens": 20}
        assert (read.end.stop_reason, read.end.usage) == ("toolUse", Usage(**counted))
        assert (read.end.model, read.end.response_id) == ("answering", "resp_1")
        assert read.notes == []

    async def test_each_kind_of_part_is_read_or_noted(self, reader: Reader) -> None:
        from google.genai.types import Part

        read_parts = {"text", "thought", "thought_signature", "function_call"}
        for name, field in Part.model_fields.items():
            part = {name: some(field.annotation)}
            read = await reader.read(self.driver, self.around(part))
            assert read.text == f"before {'x' if name == 'text' else ''}after", name
            assert bool(read.notes) == (name not in read_parts), name

    async def test_each_finish_reason_is_an_end_or_an_error(self, reader: Reader) -> None:
        from google.genai.types import FinishReason

        ends = {"STOP": "stop", "MAX_TOKENS": "length", "CONTINUATION": "length"}
        kinds = {
            "MALFORMED_FUNCTION_CALL": "truncated_stream",
            "UNEXPECTED_TOOL_CALL": "truncated_stream",
            "MALFORMED_RESPONSE": "truncated_stream",
            "MISSING_THOUGHT_SIGNATURE": "bad_request",
            "PUP_LIMITED_DISABLED": "auth",
            "LANGUAGE": "unknown",
            "OTHER": "unknown",
            "IMAGE_OTHER": "unknown",
            "NO_IMAGE": "unknown",
            "TOO_MANY_TOOL_CALLS": "unknown",
            "FINISH_REASON_UNSPECIFIED": "truncated_stream",
        }
        for reason in FinishReason:
            events = [self.chunk({"text": "x"}), self.chunk(reason=reason.value)]
            if reason.value in ends:
                assert (await reader.read(self.driver, events)).end.stop_reason == ends[reason.value]
            else:
                error = await reader.refused(self.driver, events)
                assert error.kind == kinds.get(reason.value, "content_refused"), reason

    async def test_each_reason_to_block_a_prompt_is_refused_content(self, reader: Reader) -> None:
        from google.genai.types import BlockedReason, GenerateContentResponse

        for reason in BlockedReason:
            feedback = {"blockReason": reason.value, "blockReasonMessage": "not this"}
            event = GenerateContentResponse.model_validate({"promptFeedback": feedback})
            error = await reader.refused(self.driver, [event])
            assert (error.kind, "not this" in error.message) == ("content_refused", True)
