"""Reads a chat-completions stream: events in, deltas out.

Owns: the differences between the servers that speak this protocol (call ids left out, one index for
all calls, thinking under two names, counts in three places). Never: bytes or HTTP.
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
from app.harness.providers.drivers.openai.reasoning_details import ReasoningDetails
from app.harness.providers.errors import ProviderError
from app.harness.providers.folding import Fold
from app.harness.providers.provider import ModelRequest, WireRequest
from app.harness.providers.wire_json import (
    as_count,
    as_object,
    as_objects,
    as_text,
    clean_text,
    dump,
    load,
    read_call,
)
from app.messages import StopReason, Usage

_STOP_REASONS: dict[str, StopReason] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "tool_calls": "toolUse",
    "function_call": "toolUse",
}
_DELTA_FIELDS = frozenset(
    {
        "role",
        "content",
        "reasoning_content",
        "reasoning",
        "reasoning_details",
        "refusal",
        "tool_calls",
        "function_call",
    }
)
_BROKEN_OFF = frozenset({"error", "abort", "insufficient_system_resource", "network_error"})
_WITHHELD = frozenset({"content_filter", "sensitive"})


@dataclass(slots=True)
class _PartialCall:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class ChatFold(Fold):
    """One chat completion being read."""

    def __init__(
        self, connection: Connection, request: ModelRequest, wire: WireRequest, *, keeps_details: bool = False
    ) -> None:
        super().__init__(connection, request)
        self._wire = wire
        self._calls: list[_PartialCall] = []
        self._by_index: dict[int, _PartialCall] = {}
        self._thinking = False
        self._details = ReasoningDetails() if keeps_details else None
        self._refusal: list[str] = []
        self._usage = Usage()

    def usage(self) -> Usage:
        return self._usage

    def take(self, event: Mapping[str, Any]) -> Iterator[Delta]:
        if event.get("error") or event.get("object") == "error":
            raise self._connection.stream_error(event, self._model)
        self._read_counts(event)
        for choice in as_objects(event.get("choices")):
            # Only one answer is asked for; a server that sends more repeats itself.
            if not choice.get("index"):
                yield from self._read_choice(choice)

    def finish(self) -> Iterator[Delta]:
        """Yield the calls, too: some servers send more of them after a finish reason."""
        end = super().finish()
        if self.stop_reason is not None:
            if self._details is not None and (kept := self._details.kept()) is not None:
                yield ThinkingClosed(data=kept, provider="openai")
            for number, call in enumerate(self._calls):
                identifier = call.id or self._wire.call_id(number)
                yield ToolCallReady(read_call(identifier, call.name, "".join(call.arguments), self._names))
        self.called = bool(self._calls)
        yield from end

    def _read_choice(self, choice: Mapping[str, Any]) -> Iterator[Delta]:
        if choice.get("error"):
            raise self._connection.stream_error({"error": choice["error"]}, self._model)
        delta = choice.get("delta")
        if isinstance(delta, Mapping):
            yield from self._read_delta(delta)
        reason = choice.get("finish_reason")
        if reason and self.stop_reason is None:
            yield from self._close(str(reason).lower())

    def _read_delta(self, delta: Mapping[str, Any]) -> Iterator[Delta]:
        if not _DELTA_FIELDS.issuperset(delta):
            for name in (key for key, value in delta.items() if value and key not in _DELTA_FIELDS):
                self._connection.pass_over("the field", name)
        thought, text = _content(delta)
        if thought:
            self._thinking = True
            yield ThinkingDelta(clean_text(thought))
        if text:
            yield from self._end_thinking()
            yield TextDelta(clean_text(text))
        if self._details is not None:
            self._details.add(as_objects(delta.get("reasoning_details")))
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refusal.append(refusal)
        pieces = as_objects(delta.get("tool_calls"))
        if not pieces and (older := as_object(delta.get("function_call"))):
            pieces = [{"index": 0, "function": older}]
        if pieces:
            yield from self._end_thinking()
            for position, piece in enumerate(pieces):
                self._add_piece(piece, position)

    def _end_thinking(self) -> Iterator[Delta]:
        if self._thinking:
            self._thinking = False
            yield ThinkingClosed(provider="openai")

    def _add_piece(self, piece: Mapping[str, Any], position: int) -> None:
        function = piece.get("function")
        function = function if isinstance(function, Mapping) else {}
        name, identifier = str(function.get("name") or ""), str(piece.get("id") or "")
        index = piece.get("index")
        index = index if isinstance(index, int) else position
        call = self._by_index.get(index)
        if call is None or _starts_another(call, identifier, name):
            call = _PartialCall()
            self._calls.append(call)
            self._by_index[index] = call
        call.id = call.id or identifier
        call.name = call.name or name
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            call.arguments.append(arguments)
        elif arguments is not None:
            call.arguments.append(dump(arguments).decode())

    def _close(self, reason: str) -> Iterator[Delta]:
        yield from self._end_thinking()
        if reason in _WITHHELD or self._refusal:
            raise self._refused(reason)
        if reason in _BROKEN_OFF:
            raise self._connection.error("overloaded", f"gave up in the middle: {reason}", self._model)
        self.stop_reason = _STOP_REASONS.get(reason, "stop")

    def _refused(self, reason: str) -> ProviderError:
        words = "".join(self._refusal) or f"the answer was withheld ({reason})"
        return self._connection.error("content_refused", words, self._model)

    def _read_counts(self, payload: Mapping[str, Any]) -> None:
        if self._response_id is None and isinstance(payload.get("id"), str):
            self._response_id = payload["id"]
        if self._answering_model is None and isinstance(payload.get("model"), str):
            self._answering_model = payload["model"]
        counts = payload.get("usage")
        if not counts and isinstance(payload.get("x_groq"), Mapping):
            counts = payload["x_groq"].get("usage")
        if not counts and (choices := as_objects(payload.get("choices"))):
            counts = choices[0].get("usage")
        if isinstance(counts, Mapping):
            self._usage = read_usage(counts)


def read_usage(counts: Mapping[str, Any]) -> Usage:
    """Normalise the counts: input without cache tokens, output with reasoning tokens."""
    prompt, completion = _count(counts, "prompt_tokens"), _count(counts, "completion_tokens")
    details = _details(counts, "prompt_tokens_details")
    cached = _count(details, "cached_tokens") or _count(counts, "prompt_cache_hit_tokens")
    cached = cached or _count(counts, "cached_tokens")
    cached = min(cached, prompt)
    written = min(_count(details, "cache_write_tokens"), prompt - cached)
    reasoning = _count(_details(counts, "completion_tokens_details"), "reasoning_tokens")
    # Some servers (xAI) count reasoning beside the completion; the total shows it.
    if reasoning and _count(counts, "total_tokens") == prompt + completion + reasoning:
        completion += reasoning
    return Usage(
        input_tokens=prompt - cached - written,
        output_tokens=completion,
        reasoning_tokens=min(reasoning, completion),
        cache_read_tokens=cached,
        cache_write_tokens=written,
    )


def _starts_another(call: _PartialCall, identifier: str, name: str) -> bool:
    """Tell whether a piece with the index of `call` begins a new call (Ollama numbers them all 0)."""
    if identifier and call.id:
        # Some servers (vLLM before 0.9) give each piece an id of its own: only a name begins a call.
        return bool(name) and identifier != call.id
    whole = bool(name and call.name and call.arguments) and call.arguments[-1].rstrip().endswith("}")
    return whole and _is_complete("".join(call.arguments))


def _is_complete(arguments: str) -> bool:
    try:
        load(arguments)
    except (ValueError, RecursionError):
        return False
    return True


def _content(delta: Mapping[str, Any]) -> tuple[str, str]:
    """Return the thinking and the text of one delta."""
    thought = delta.get("reasoning_content") or delta.get("reasoning") or ""
    text = delta.get("content") or ""
    if isinstance(text, list):
        # Mistral's reasoning models send a list of typed parts.
        thought = "".join(_plain(part.get("thinking")) for part in text if isinstance(part, Mapping))
        text = "".join(_plain(part.get("text")) for part in text if isinstance(part, Mapping))
    return thought if isinstance(thought, str) else "", text if isinstance(text, str) else ""


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return "".join(as_text(part.get("text")) for part in as_objects(value))
    return as_text(value)


def _details(counts: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return as_object(counts.get(key))


def _count(counts: Mapping[str, Any], key: str) -> int:
    return as_count(counts.get(key))
