"""Streams that the types of OpenAI's SDK serialise for responses are read in every event.

The members of the types are found by introspection: what a new version adds is tested by itself."""

from __future__ import annotations

from typing import Any

import pytest

from app.messages import TextBlock, ThinkingBlock, ToolCallBlock
from tests.harness.providers.vendors.examples import least, members, tag
from tests.harness.providers.vendors.reading import USAGE, Reader

pytestmark = pytest.mark.requirement("providers.vendor_types")


class TestResponses:
    driver = "openai-responses"

    ENDS = frozenset({"response.completed", "response.incomplete"})
    FAILS = frozenset({"error", "response.failed", "response.refusal.done"})

    @property
    def kinds(self) -> dict[str, Any]:
        from openai.types.responses import ResponseStreamEvent

        return {tag(kind): kind for kind in members(ResponseStreamEvent)}

    def event(self, kind: str, **given: Any) -> Any:
        return least(self.kinds[kind], **{"sequence_number": 1, **given})

    def response(self, **given: Any) -> dict[str, Any]:
        from openai.types.responses import Response

        told = {"id": "resp_1", "model": "answering", "status": "completed"}
        made: dict[str, Any] = least(Response, **{**told, **given}).model_dump(
            by_alias=True, exclude_unset=True
        )
        return made

    def item(self, kind: str, **given: Any) -> dict[str, Any]:
        from openai.types.responses import ResponseOutputItem

        [model] = [one for one in members(ResponseOutputItem) if tag(one) == kind]
        made: dict[str, Any] = least(model, **given).model_dump(by_alias=True, exclude_unset=True)
        return made

    def whole(self, index: int, start: dict[str, Any], done: dict[str, Any], *pieces: Any) -> list[Any]:
        return [
            self.event("response.output_item.added", output_index=index, item=start),
            *pieces,
            self.event("response.output_item.done", output_index=index, item=done),
        ]

    def around(self, *events: Any) -> list[Any]:
        """Return the events of an answer, with others in the middle of its text."""
        said = {"type": "output_text", "text": "before after", "annotations": []}

        def piece(text: str) -> Any:
            return self.event("response.output_text.delta", output_index=0, delta=text)

        return [
            self.event("response.created", response=self.response(status="in_progress")),
            *self.whole(
                0,
                self.item("message", content=[]),
                self.item("message", content=[said]),
                piece("before "),
                *events,
                piece("after"),
            ),
            self.event("response.completed", response=self.response(usage=self.counts())),
        ]

    def counts(self) -> dict[str, Any]:
        before = {"cached_tokens": 100, "cache_write_tokens": 11}
        after = {"reasoning_tokens": 20}
        counts: dict[str, Any] = {"input_tokens": 118, "output_tokens": 30, "total_tokens": 148}
        return {**counts, "input_tokens_details": before, "output_tokens_details": after}

    async def test_all_that_events_can_say_of_an_answer_is_read(self, reader: Reader) -> None:
        def piece(kind: str, index: int, text: str, **given: Any) -> Any:
            return self.event(f"response.{kind}.delta", output_index=index, delta=text, **given)

        summary = [{"type": "summary_text", "text": text} for text in ("one", "two")]
        thought = self.item("reasoning", id="rs_1", summary=summary, encrypted_content="sealed")
        shown = self.item(
            "reasoning", id="rs_2", summary=[], content=[{"type": "reasoning_text", "text": "raw"}]
        )
        said = [{"type": "output_text", "text": "I look.", "annotations": []}]
        calls = [
            self.item(
                "function_call", call_id=f"call_{one}", name="file_read", arguments=f'{{"path":"{one}"}}'
            )
            for one in ("a", "b")
        ]
        search = self.item(
            "tool_search_call",
            call_id="call_s",
            arguments={"query": "x"},
            execution="client",
            status="completed",
        )
        read = await reader.read(
            self.driver,
            [
                self.event("response.created", response=self.response(status="in_progress")),
                *self.whole(
                    0,
                    self.item("reasoning", id="rs_1", summary=[]),
                    thought,
                    piece("reasoning_summary_text", 0, "one", summary_index=0),
                    piece("reasoning_summary_text", 0, "two", summary_index=1),
                ),
                *self.whole(
                    1, self.item("reasoning", id="rs_2", summary=[]), shown, piece("reasoning_text", 1, "raw")
                ),
                *self.whole(
                    2,
                    self.item("message", content=[]),
                    self.item("message", content=said),
                    piece("output_text", 2, "I "),
                    piece("output_text", 2, "look."),
                ),
                self.event("response.output_item.added", output_index=3, item={**calls[0], "arguments": ""}),
                self.event("response.output_item.added", output_index=4, item={**calls[1], "arguments": ""}),
                piece("function_call_arguments", 3, '{"path":'),
                piece("function_call_arguments", 4, '{"path":"b"}'),
                piece("function_call_arguments", 3, '"a"}'),
                self.event("response.output_item.done", output_index=3, item=calls[0]),
                self.event("response.output_item.done", output_index=4, item=calls[1]),
                *self.whole(5, search, search),
                self.event("response.completed", response=self.response(usage=self.counts())),
            ],
        )
        own = {"provider": self.driver}
        assert read.blocks == (
            ThinkingBlock(text="one", item_id="rs_1", **own),
            ThinkingBlock(text="two", item_id="rs_1", data="sealed", **own),
            ThinkingBlock(text="raw", item_id="rs_2", signature="reasoning_text", **own),
            TextBlock(text="I look."),
            ToolCallBlock(id="call_a", name="file.read", arguments={"path": "a"}),
            ToolCallBlock(id="call_b", name="file.read", arguments={"path": "b"}),
            ToolCallBlock(id="call_s", name="tool_search", arguments={"query": "x"}),
        )
        assert (read.end.stop_reason, read.end.usage) == ("toolUse", USAGE)
        assert (read.end.model, read.end.response_id) == ("answering", "resp_1")
        assert read.notes == []

    async def test_what_is_said_before_calls_and_at_the_end_stays_apart(self, reader: Reader) -> None:
        events = []
        for index, phase in enumerate(("commentary", "final_answer")):
            said = [{"type": "output_text", "text": phase, "annotations": []}]
            piece = self.event("response.output_text.delta", output_index=index, delta=phase)
            start = self.item("message", content=[], phase=phase)
            events += self.whole(index, start, self.item("message", content=said, phase=phase), piece)
        end = self.event("response.completed", response=self.response(usage=self.counts()))
        read = await reader.read(self.driver, [*events, end])
        assert read.blocks == (
            TextBlock(text="commentary", phase="commentary"),
            TextBlock(text="final_answer", phase="final_answer"),
        )

    async def test_each_event_is_read_or_passed_over_without_loss(self, reader: Reader) -> None:
        for kind in self.kinds:
            events = self.around(self.event(kind))
            if kind in self.FAILS:
                assert (await reader.refused(self.driver, events)).message
                continue
            read = await reader.read(self.driver, events)
            assert read.text.startswith("before ")
            assert kind in self.ENDS or read.text.endswith("after"), kind
            assert kind in self.ENDS or read.end.usage == USAGE
            assert [note for note in read.notes if kind not in note] == []

    async def test_each_item_is_read_or_noted(self, reader: Reader) -> None:
        from openai.types.responses import ResponseOutputItem

        read_items = {"message", "reasoning", "function_call", "tool_search_call"}
        for model in members(ResponseOutputItem):
            item = least(model).model_dump(by_alias=True, exclude_unset=True)
            read = await reader.read(self.driver, self.around(*self.whole(7, item, item)))
            assert read.text == "before after"
            assert bool(read.notes) == (tag(model) not in read_items), tag(model)

    async def test_an_answer_that_was_cut_off_is_one(self, reader: Reader) -> None:
        cut = self.response(status="incomplete", incomplete_details={"reason": "max_output_tokens"})
        read = await reader.read(self.driver, [self.event("response.incomplete", response=cut)])
        assert read.end.stop_reason == "length"
        withheld = self.response(status="incomplete", incomplete_details={"reason": "content_filter"})
        error = await reader.refused(self.driver, [self.event("response.incomplete", response=withheld)])
        assert error.kind == "content_refused"

    async def test_a_new_event_is_passed_over_with_one_note(self, reader: Reader) -> None:
        new = {"type": "response.mind_reading.delta", "output_index": 0, "delta": "lost?"}
        read = await reader.read(self.driver, self.around(new, new))
        assert read.text == "before after"
        [note] = read.notes
        assert "response.mind_reading.delta" in note
