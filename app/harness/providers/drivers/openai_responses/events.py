"""The events of a Responses stream, folded into deltas.

Owns: the meaning of each event, of the ways an answer ends and of the usage counts. Never: I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.harness.providers.connection import Connection
from app.harness.providers.deltas import (
    Delta,
    TextDelta,
    ThinkingClosed,
    ThinkingDelta,
    ToolCallReady,
)
from app.harness.providers.folding import Fold
from app.harness.providers.provider import ModelRequest
from app.harness.providers.wire_json import as_count, as_object, as_objects, as_text, dump, read_call
from app.messages import TOOL_SEARCH, Usage

DRIVER = "openai-responses"

SHOWN_REASONING = "reasoning_text"
"""Stands in a thinking block's `signature` when the text is the reasoning itself, no summary."""

_KNOWN = frozenset(
    {
        "keepalive",
        "response.created",
        "response.queued",
        "response.in_progress",
        "response.content_part.added",
        "response.content_part.done",
        "response.output_text.delta",
        "response.output_text.done",
        "response.refusal.delta",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_part.done",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_text.delta",
        "response.reasoning_text.done",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
    }
)
"""Events that need no note: they only announce or repeat, or bring an empty piece."""


@dataclass(slots=True)
class _Item:
    """An output item that has begun. `summary_index` is the part that is being written."""

    start: Mapping[str, Any]
    arguments: list[str] = field(default_factory=list)
    written: bool = False
    shown: bool = False
    summary_index: int = 0


class ResponsesFold(Fold):
    """One answer of the Responses API being read."""

    def __init__(self, connection: Connection, request: ModelRequest) -> None:
        super().__init__(connection, request)
        self._open: dict[int, _Item] = {}
        self._counts: Any = None

    def take(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        index = as_count(event.get("output_index"))
        item, piece = self._open.get(index), as_text(event.get("delta"))
        match as_text(event.get("type")):
            case "response.output_item.added":
                self._open[index] = _Item(as_object(event.get("item")))
            case "response.output_text.delta" if piece:
                yield self._write(item, TextDelta(piece, _phase(item)))
            case "response.reasoning_summary_text.delta" if piece:
                yield from self._summary(item, piece, as_count(event.get("summary_index")))
            case "response.reasoning_text.delta" if piece:
                if item is not None:
                    item.shown = True
                yield self._write(item, ThinkingDelta(piece))
            case "response.function_call_arguments.delta" if item is not None:
                item.arguments.append(piece)
            case "response.output_item.done":
                self._open.pop(index, None)
                yield from self._close(item or _Item({}), as_object(event.get("item")))
            case "response.refusal.done":
                raise self._refused(event.get("refusal"))
            case "response.completed" | "response.incomplete" | "response.done":
                yield from self._ended(as_object(event.get("response")))
            case "response.failed" | "response.cancelled" | "error":
                raise self._connection.stream_error(event, self._model)
            case kind if kind not in _KNOWN:
                self._connection.pass_over("the event", kind)

    def _write(self, item: _Item | None, delta: Delta) -> Delta:
        if item is not None:
            item.written = True
        return delta

    def _summary(self, item: _Item | None, piece: str, index: int) -> Iterator[Delta]:
        """A reasoning item may have several summary parts: each becomes a block of its own."""
        if item is not None:
            if item.written and index != item.summary_index:
                yield ThinkingClosed(item_id=as_text(item.start.get("id")), provider=DRIVER)
            item.summary_index = index
        yield self._write(item, ThinkingDelta(piece))

    def _close(self, began: _Item, item: Mapping[str, Any]) -> Iterator[Delta]:
        match item.get("type"):
            case "function_call":
                yield self._call(began, item)
            case "tool_search_call" if item.get("execution") != "server":
                self.called = True
                given = item.get("arguments")
                raw = given if isinstance(given, str) else dump(given or {}).decode()
                identifier = str(item.get("call_id") or item.get("id") or "")
                yield ToolCallReady(read_call(identifier, TOOL_SEARCH, raw, self._names))
            case "tool_search_call":
                return  # The vendor's own search answers itself.
            case "reasoning":
                yield from self._close_reasoning(began, item)
            case "message":
                for part in as_objects(item.get("content")):
                    if part.get("type") == "refusal":
                        raise self._refused(part.get("refusal"))
                    if not began.written and (text := as_text(part.get("text"))):
                        yield TextDelta(text, as_text(item.get("phase")) or None)
            case kind:
                self._connection.pass_over("the output item", kind)

    def _close_reasoning(self, began: _Item, item: Mapping[str, Any]) -> Iterator[Delta]:
        item_id, data = as_text(item.get("id")), as_text(item.get("encrypted_content")) or None
        unsaid = [] if began.written else as_objects(item.get("summary"))
        for index, text in enumerate(filter(None, (as_text(part.get("text")) for part in unsaid))):
            if index:
                yield ThinkingClosed(item_id=item_id, provider=DRIVER)
            yield self._write(began, ThinkingDelta(text))
        if began.written or data:
            shown = SHOWN_REASONING if began.shown else None
            yield ThinkingClosed(signature=shown, data=data, item_id=item_id, provider=DRIVER)

    def _call(self, began: _Item, item: Mapping[str, Any]) -> ToolCallReady:
        self.called = True
        raw = as_text(item.get("arguments")) or "".join(began.arguments)
        identifier = str(item.get("call_id") or item.get("id") or "")
        return ToolCallReady(read_call(identifier, str(item.get("name", "")), raw, self._names))

    def _ended(self, response: Mapping[str, Any]) -> Iterator[Delta]:
        self._counts = response.get("usage")
        self._answering_model = as_text(response.get("model")) or None
        self._response_id = as_text(response.get("id")) or None
        if response.get("error"):
            raise self._connection.stream_error(response, self._model)
        why = as_object(response.get("incomplete_details")).get("reason")
        if why == "content_filter":
            raise self._connection.error(
                "content_refused", "the answer was stopped by the content filter", self._model
            )
        for index in sorted(self._open):
            began = self._open.pop(index)
            if began.start.get("type") == "function_call":
                yield self._call(began, began.start)
        incomplete = response.get("status") == "incomplete" or why is not None
        self.stop_reason, self.complete = "length" if incomplete else "stop", True

    def _refused(self, words: Any) -> Exception:
        message = f"the model refused to answer: {words}" if words else "the model refused to answer"
        return self._connection.error("content_refused", message, self._model)

    def usage(self) -> Usage:
        """Return the counts with cache tokens taken out of the input; they are reported inside it."""
        usage = as_object(self._counts)
        before, after = (
            as_object(usage.get("input_tokens_details")),
            as_object(usage.get("output_tokens_details")),
        )
        read, written = as_count(before.get("cached_tokens")), as_count(before.get("cache_write_tokens"))
        return Usage(
            input_tokens=max(0, as_count(usage.get("input_tokens")) - read - written),
            output_tokens=as_count(usage.get("output_tokens")),
            reasoning_tokens=as_count(after.get("reasoning_tokens")),
            cache_read_tokens=read,
            cache_write_tokens=written,
        )


def _phase(item: _Item | None) -> str | None:
    return (as_text(item.start.get("phase")) or None) if item is not None else None
