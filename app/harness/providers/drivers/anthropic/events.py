"""The events of an Anthropic message stream, folded into deltas.

Owns: the meaning of each event, of the stop reasons and of the usage counts. Never: I/O.
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
    UsageSoFar,
)
from app.harness.providers.folding import Fold
from app.harness.providers.provider import ModelRequest
from app.harness.providers.wire_json import as_count, as_object, as_text, dump, read_call
from app.messages import StopReason, Usage

DRIVER = "anthropic"

_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    # Only tools that run at the provider pause a turn, and kaged sends none.
    "pause_turn": "stop",
    "tool_use": "toolUse",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}

_BLOCKS = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})
_DELTAS = frozenset({"text_delta", "thinking_delta", "signature_delta", "input_json_delta"})


@dataclass(slots=True)
class _Block:
    """A content block that has begun. `parts` are pieces of JSON for a call."""

    kind: str
    start: Mapping[str, Any]
    parts: list[str] = field(default_factory=list)
    signature: str = ""


class AnthropicFold(Fold):
    """One answer of the Messages API being read."""

    def __init__(self, connection: Connection, request: ModelRequest) -> None:
        super().__init__(connection, request)
        self._open: dict[int, _Block] = {}
        self._counts: dict[str, int] = {}

    def take(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        match as_text(event.get("type")):
            case "message_start":
                response = as_object(event.get("message"))
                self._answering_model = as_text(response.get("model")) or None
                self._response_id = as_text(response.get("id")) or None
                self._count(response.get("usage"))
                if (usage := self.usage()).total:
                    yield UsageSoFar(usage)
            case "content_block_start":
                yield from self._start(event)
            case "content_block_delta":
                yield from self._piece(
                    self._open.get(as_count(event.get("index"))), as_object(event.get("delta"))
                )
            case "content_block_stop":
                yield from self._close(as_count(event.get("index")))
            case "message_delta":
                self._count(event.get("usage"))
                yield from self._stopped(as_object(event.get("delta")))
            case "message_stop":
                self.complete = True
            case "error":
                raise self._connection.stream_error(event, self._model)
            case kind if kind != "ping":
                self._connection.pass_over("the event", kind)

    def usage(self) -> Usage:
        return Usage(
            input_tokens=self._counts.get("input_tokens", 0),
            output_tokens=self._counts.get("output_tokens", 0),
            reasoning_tokens=self._counts.get("thinking_tokens", 0),
            cache_read_tokens=self._counts.get("cache_read_input_tokens", 0),
            cache_write_tokens=self._counts.get("cache_creation_input_tokens", 0),
        )

    def _start(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        content = as_object(event.get("content_block"))
        block = _Block(str(content.get("type", "")), content)
        self._open[as_count(event.get("index"))] = block
        if block.kind == "text" and (text := as_text(content.get("text"))):
            yield TextDelta(text)
        elif block.kind == "thinking":
            block.signature = as_text(content.get("signature"))
            if thought := as_text(content.get("thinking")):
                yield ThinkingDelta(thought)
        elif block.kind not in _BLOCKS:
            self._connection.pass_over("the content block", block.kind)

    def _piece(self, block: _Block | None, delta: Mapping[str, Any]) -> Iterator[Delta]:
        match as_text(delta.get("type")):
            case "text_delta" if text := as_text(delta.get("text")):
                yield TextDelta(text)
            case "thinking_delta" if thought := as_text(delta.get("thinking")):
                yield ThinkingDelta(thought)
            case "signature_delta" if block is not None:
                block.signature += as_text(delta.get("signature"))
            case "input_json_delta" if block is not None:
                block.parts.append(as_text(delta.get("partial_json")))
            case kind if kind not in _DELTAS:
                self._connection.pass_over("the delta", kind)

    def _close(self, index: int) -> Iterator[Delta]:
        block = self._open.pop(index, None)
        if block is None:
            return
        if block.kind == "thinking":
            yield ThinkingClosed(signature=block.signature or None, provider=DRIVER)
        elif block.kind == "redacted_thinking":
            yield ThinkingClosed(data=as_text(block.start.get("data")), provider=DRIVER)
        elif block.kind == "tool_use":
            self.called = True
            given = block.start.get("input")
            raw = "".join(block.parts) or (dump(given).decode() if given else "")
            name, identifier = str(block.start.get("name", "")), str(block.start.get("id", ""))
            yield ToolCallReady(read_call(identifier, name, raw, self._names))

    def _stopped(self, delta: Mapping[str, Any]) -> Iterator[Delta]:
        reason = delta.get("stop_reason")
        if not reason:
            return
        if reason == "refusal":
            why = as_object(delta.get("stop_details")).get("explanation")
            message = f"the model refused to answer{f': {why}' if why else ''}"
            raise self._connection.error("content_refused", message, self._model)
        for index in sorted(self._open):
            yield from self._close(index)
        if str(reason) not in _STOP_REASONS:
            self._connection.pass_over("the stop reason", reason)
        self.stop_reason = _STOP_REASONS.get(str(reason), "stop")

    def _count(self, usage: Any) -> None:
        """Take counts over. Later ones are totals: a count that is left out has not changed, nor one that
        a server which only imitates the API reports as 0 at the end."""
        counts = as_object(usage)
        for part in (counts, as_object(counts.get("output_tokens_details"))):
            for key, value in part.items():
                self._counts[key] = as_count(value) or self._counts.get(key, 0)
