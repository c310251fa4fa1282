"""Streams that the types of Anthropic's SDK serialise are read in every event.

The members of the types are found by introspection: what a new version adds is tested by itself."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from app.messages import TextBlock, ThinkingBlock, ToolCallBlock
from tests.harness.providers.vendors.examples import least, members, tag
from tests.harness.providers.vendors.reading import USAGE, Reader

pytestmark = pytest.mark.requirement("providers.vendor_types")


class TestMessages:
    driver = "anthropic"

    @property
    def kinds(self) -> dict[str, Any]:
        from anthropic.types import RawMessageStreamEvent

        return {tag(kind): kind for kind in members(RawMessageStreamEvent)}

    def event(self, kind: str, **given: Any) -> Any:
        return least(self.kinds[kind], **given)

    def block(self, index: int, start: Any, *deltas: Any) -> list[Any]:
        return [
            self.event("content_block_start", index=index, content_block=start),
            *(self.event("content_block_delta", index=index, delta=delta) for delta in deltas),
            self.event("content_block_stop", index=index),
        ]

    def around(self, *events: Any, reason: str = "end_turn") -> list[Any]:
        counts = {"input_tokens": 7, "output_tokens": 1}
        counts |= {"cache_read_input_tokens": 100, "cache_creation_input_tokens": 11}
        message = {"id": "resp_1", "model": "answering", "content": [], "usage": counts}
        message |= {"role": "assistant", "type": "message"}
        end = {"output_tokens": 30, "output_tokens_details": {"thinking_tokens": 20}}
        return [
            self.event("message_start", message=message),
            {"type": "ping"},
            *self.block(0, {"type": "text", "text": "be"}, {"type": "text_delta", "text": "fore "}),
            *events,
            *self.block(9, {"type": "text", "text": ""}, {"type": "text_delta", "text": "after"}),
            self.event("message_delta", delta={"stop_reason": reason}, usage=end),
            self.event("message_stop"),
        ]

    async def test_all_that_events_can_say_of_an_answer_is_read(self, reader: Reader) -> None:
        def call(index: int, path: str) -> list[Any]:
            start = {"type": "tool_use", "id": f"call_{path}", "name": "file_read", "input": {}}
            pieces = ('{"path":', f'"{path}"}}')
            return self.block(
                index, start, *({"type": "input_json_delta", "partial_json": one} for one in pieces)
            )

        thought = {"type": "thinking", "thinking": "", "signature": ""}
        whole = {"type": "tool_use", "id": "call_c", "name": "file_read", "input": {"path": "c"}}
        events = self.around(
            *self.block(
                1,
                thought,
                {"type": "thinking_delta", "thinking": "Let me "},
                {"type": "thinking_delta", "thinking": "see."},
                {"type": "signature_delta", "signature": "sig"},
            ),
            *self.block(2, {"type": "redacted_thinking", "data": "sealed"}),
            *call(3, "a"),
            *call(4, "b"),
            *self.block(5, whole),
            reason="tool_use",
        )
        read = await reader.read(self.driver, events)
        assert read.blocks == (
            TextBlock(text="before "),
            ThinkingBlock(text="Let me see.", signature="sig", provider=self.driver),
            ThinkingBlock(data="sealed", provider=self.driver),
            *(ToolCallBlock(id=f"call_{one}", name="file.read", arguments={"path": one}) for one in "abc"),
            TextBlock(text="after"),
        )
        assert (read.end.stop_reason, read.end.usage) == ("toolUse", USAGE)
        assert (read.end.model, read.end.response_id) == ("answering", "resp_1")
        assert read.notes == []

    async def test_each_event_is_read_or_passed_over_without_loss(self, reader: Reader) -> None:
        for kind in self.kinds:
            events = self.around(self.event(kind))
            if kind == "message_stop":  # before the reason why the answer ended
                assert (await reader.refused(self.driver, events)).kind == "truncated_stream"
                continue
            read = await reader.read(self.driver, events)
            assert read.text.startswith("before "), kind
            assert read.text.endswith("after"), kind

    async def test_each_block_is_read_or_noted(self, reader: Reader) -> None:
        from anthropic.types import ContentBlock

        read_blocks = {"text", "thinking", "redacted_thinking", "tool_use"}
        for model in members(ContentBlock):
            start = least(model).model_dump(by_alias=True, exclude_unset=True)
            read = await reader.read(self.driver, self.around(*self.block(1, start)))
            assert read.text == f"before {'x' if tag(model) == 'text' else ''}after"
            assert bool(read.notes) == (tag(model) not in read_blocks), tag(model)

    async def test_each_delta_is_read_or_noted(self, reader: Reader) -> None:
        from anthropic.types import RawContentBlockDelta

        read_deltas = {"text_delta", "thinking_delta", "signature_delta", "input_json_delta"}
        for model in members(RawContentBlockDelta):
            delta = least(model).model_dump(by_alias=True, exclude_unset=True)
            thought = {"type": "thinking", "thinking": "", "signature": ""}
            read = await reader.read(self.driver, self.around(*self.block(1, thought, delta)))
            assert read.text.startswith("before ")
            assert read.text.endswith("after")
            assert bool(read.notes) == (tag(model) not in read_deltas), tag(model)

    async def test_each_stop_reason_ends_an_answer(self, reader: Reader) -> None:
        from anthropic.types import StopReason

        ends = {"tool_use": "toolUse", "max_tokens": "length", "model_context_window_exceeded": "length"}
        for reason in get_args(StopReason):
            events = self.around(reason=reason)
            if reason == "refusal":
                assert (await reader.refused(self.driver, events)).kind == "content_refused"
                continue
            read = await reader.read(self.driver, events)
            assert (read.end.stop_reason, read.notes) == (ends.get(reason, "stop"), [])

    async def test_what_is_new_is_passed_over_with_one_note_each(self, reader: Reader) -> None:
        new = {"type": "content_block_dream", "index": 1}
        block = {"type": "content_block_start", "index": 1, "content_block": {"type": "dream", "text": "no"}}
        delta = {"type": "content_block_delta", "index": 1, "delta": {"type": "dream_delta", "text": "no"}}
        read = await reader.read(self.driver, self.around(new, new, block, delta, delta))
        assert read.text == "before after"
        assert [any(word in note for note in read.notes) for word in ("_dream'", "'dream'", "_delta'")] == [
            True
        ] * 3
        assert len(read.notes) == 3
