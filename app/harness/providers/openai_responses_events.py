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
    Finished,
    TextDelta,
    ThinkingClosed,
    ThinkingDelta,
    ToolCallReady,
)
from app.harness.providers.wire_json import ToolNames, read_call
from app.messages import StopReason, Usage

DRIVER = "openai-responses"

SHOWN_REASONING = "reasoning_text"
"""Stands in a thinking block's `signature` when the text is the reasoning itself, no summary."""


@dataclass(slots=True)
class _Item:
    """An output item that has begun. `summary_index` is the part that is being written."""

    start: Mapping[str, Any]
    arguments: list[str] = field(default_factory=list)
    written: bool = False
    shown: bool = False
    summary_index: int = 0


class ResponsesFold:
    """One answer of the Responses API being read."""

    def __init__(self, connection: Connection, model: str, names: ToolNames) -> None:
        self._connection = connection
        self._model = model
        self._names = names
        self._open: dict[int, _Item] = {}
        self._response: Mapping[str, Any] = {}
        self._stop_reason: StopReason | None = None
        self._called = False

    @property
    def complete(self) -> bool:
        return self._stop_reason is not None

    def take(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        item = self._open.get(event.get("output_index", 0))
        match event.get("type"):
            case "response.output_item.added":
                self._open[event.get("output_index", 0)] = _Item(event.get("item") or {})
            case "response.output_text.delta" if event.get("delta"):
                yield self._write(item, TextDelta(event["delta"]))
            case "response.reasoning_summary_text.delta" if event.get("delta"):
                yield from self._summary(item, event)
            case "response.reasoning_text.delta" if event.get("delta"):
                if item is not None:
                    item.shown = True
                yield self._write(item, ThinkingDelta(event["delta"]))
            case "response.function_call_arguments.delta" if item is not None:
                item.arguments.append(event.get("delta") or "")
            case "response.output_item.done":
                self._open.pop(event.get("output_index", 0), None)
                yield from self._close(item or _Item({}), event.get("item") or {})
            case "response.refusal.done":
                raise self._refused(event.get("refusal"))
            case "response.completed" | "response.incomplete" | "response.done":
                yield from self._ended(event.get("response") or {})
            case "response.failed" | "response.cancelled" | "error":
                raise self._connection.stream_error(event, self._model)

    def finish(self) -> Finished | None:
        if self._stop_reason is None:
            return None
        reason = "toolUse" if self._called and self._stop_reason == "stop" else self._stop_reason
        usage = _usage(self._response.get("usage"))
        return Finished(reason, usage, self._response.get("model"), self._response.get("id"))

    def _write(self, item: _Item | None, delta: Delta) -> Delta:
        if item is not None:
            item.written = True
        return delta

    def _summary(self, item: _Item | None, event: Mapping[str, Any]) -> Iterator[Delta]:
        """A reasoning item may have several summary parts: each becomes a block of its own."""
        index = event.get("summary_index", 0)
        if item is not None and item.written and index != item.summary_index:
            yield ThinkingClosed(item_id=event.get("item_id"), provider=DRIVER)
        if item is not None:
            item.summary_index = index
        yield self._write(item, ThinkingDelta(event["delta"]))

    def _close(self, began: _Item, item: Mapping[str, Any]) -> Iterator[Delta]:
        match item.get("type"):
            case "function_call":
                yield self._call(began, item)
            case "reasoning":
                yield from self._close_reasoning(began, item)
            case "message":
                for part in item.get("content") or ():
                    if part.get("type") == "refusal":
                        raise self._refused(part.get("refusal"))
                    if not began.written and part.get("text"):
                        yield TextDelta(part["text"])

    def _close_reasoning(self, began: _Item, item: Mapping[str, Any]) -> Iterator[Delta]:
        item_id, data = item.get("id"), item.get("encrypted_content")
        texts = [] if began.written else [part.get("text") or "" for part in item.get("summary") or ()]
        for index, text in enumerate(filter(None, texts)):
            if index:
                yield ThinkingClosed(item_id=item_id, provider=DRIVER)
            yield self._write(began, ThinkingDelta(text))
        if began.written or data:
            shown = SHOWN_REASONING if began.shown else None
            yield ThinkingClosed(signature=shown, data=data, item_id=item_id, provider=DRIVER)

    def _call(self, began: _Item, item: Mapping[str, Any]) -> ToolCallReady:
        self._called = True
        raw = item.get("arguments") or "".join(began.arguments)
        identifier = str(item.get("call_id") or item.get("id") or "")
        return ToolCallReady(read_call(identifier, str(item.get("name", "")), raw, self._names))

    def _ended(self, response: Mapping[str, Any]) -> Iterator[Delta]:
        self._response = response
        if response.get("error"):
            raise self._connection.stream_error(response, self._model)
        why = (response.get("incomplete_details") or {}).get("reason")
        if why == "content_filter":
            raise self._connection.error(
                "content_refused", "the answer was stopped by the content filter", self._model
            )
        for index in sorted(self._open):
            began = self._open.pop(index)
            if began.start.get("type") == "function_call":
                yield self._call(began, began.start)
        incomplete = response.get("status") == "incomplete" or why is not None
        self._stop_reason = "length" if incomplete else "stop"

    def _refused(self, words: Any) -> Exception:
        message = f"the model refused to answer: {words}" if words else "the model refused to answer"
        return self._connection.error("content_refused", message, self._model)


def _usage(usage: Any) -> Usage:
    """Return the counts with cache tokens taken out of the input; they are reported inside it."""
    if not isinstance(usage, Mapping):
        return Usage()
    before, after = usage.get("input_tokens_details") or {}, usage.get("output_tokens_details") or {}
    read, written = before.get("cached_tokens") or 0, before.get("cache_write_tokens") or 0
    return Usage(
        input_tokens=max(0, (usage.get("input_tokens") or 0) - read - written),
        output_tokens=usage.get("output_tokens") or 0,
        reasoning_tokens=after.get("reasoning_tokens") or 0,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
