"""Streams that the types of OpenAI's SDK serialise for chat completions are read in every field.

The members of the types are found by introspection: what a new version adds is tested by itself."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from app.messages import TextBlock, ToolCallBlock
from tests.harness.providers.vendors.examples import least, some
from tests.harness.providers.vendors.reading import USAGE, Reader

pytestmark = pytest.mark.requirement("providers.vendor_types")


class TestChatCompletions:
    driver = "openai"

    def chunk(self, finish: str | None = None, usage: Any = None, **delta: Any) -> Any:
        from openai.types.chat import ChatCompletionChunk

        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        choices = [] if usage is not None else [choice]
        return least(ChatCompletionChunk, choices=choices, usage=usage, id="resp_1", model="answering")

    async def test_all_that_a_chunk_can_say_of_an_answer_is_read(self, reader: Reader) -> None:
        def piece(index: int, **function: Any) -> dict[str, Any]:
            begins = {"id": f"call_{index}", "type": "function"} if "name" in function else {}
            return {"index": index, "function": function, **begins}

        counts = {"prompt_tokens": 118, "completion_tokens": 30, "total_tokens": 148}
        counts |= {"prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 11}}
        counts |= {"completion_tokens_details": {"reasoning_tokens": 20}}
        read = await reader.read(
            self.driver,
            [
                self.chunk(role="assistant", content=""),
                self.chunk(content="I "),
                self.chunk(content="look."),
                self.chunk(tool_calls=[piece(0, name="file_read", arguments="")]),
                self.chunk(tool_calls=[piece(1, name="file_read", arguments='{"path":')]),
                self.chunk(tool_calls=[piece(0, arguments='{"path":"a"}'), piece(1, arguments='"b"}')]),
                self.chunk("tool_calls"),
                self.chunk(usage=counts),
            ],
        )
        assert read.blocks == (
            TextBlock(text="I look."),
            ToolCallBlock(id="call_0", name="file.read", arguments={"path": "a"}),
            ToolCallBlock(id="call_1", name="file.read", arguments={"path": "b"}),
        )
        assert (read.end.stop_reason, read.end.usage) == ("toolUse", USAGE)
        assert (read.end.model, read.end.response_id) == ("answering", "resp_1")
        assert read.notes == []

    async def test_a_call_in_the_form_before_tools_is_read(self, reader: Reader) -> None:
        read = await reader.read(
            self.driver,
            [
                self.chunk(function_call={"name": "file_read", "arguments": '{"pa'}),
                self.chunk(function_call={"arguments": 'th":"a"}'}),
                self.chunk("function_call"),
            ],
        )
        [call] = read.blocks
        assert isinstance(call, ToolCallBlock)
        assert (call.name, call.arguments, read.end.stop_reason) == ("file.read", {"path": "a"}, "toolUse")

    async def test_each_field_of_a_delta_is_read_or_noted(self, reader: Reader) -> None:
        from openai.types.chat.chat_completion_chunk import ChoiceDelta

        read_fields = {"content", "role", "tool_calls", "function_call"}
        for name, field in ChoiceDelta.model_fields.items():
            value = {"id": "audio_1"} if name == "audio" else some(field.annotation)
            events = [self.chunk(content="before "), self.chunk(**{name: value})]
            events += [self.chunk(content=" after"), self.chunk("stop")]
            if name == "refusal":
                assert (await reader.refused(self.driver, events)).kind == "content_refused"
                continue
            read = await reader.read(self.driver, events)
            assert read.text.startswith("before ")
            assert read.text.endswith(" after")
            assert bool(read.notes) == (name not in read_fields), name

    async def test_each_finish_reason_ends_an_answer(self, reader: Reader) -> None:
        from openai.types.chat.chat_completion_chunk import Choice

        [reasons, _] = get_args(Choice.model_fields["finish_reason"].annotation)
        for reason in get_args(reasons):
            events = [self.chunk(content="x"), self.chunk(reason)]
            if reason == "content_filter":
                assert (await reader.refused(self.driver, events)).kind == "content_refused"
            else:
                assert (await reader.read(self.driver, events)).notes == []
