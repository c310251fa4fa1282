"""How much one answer may hold: what a model sends is not trusted to end.

Owns: the limits on what an answer says and on how many calls it asks for. Never: bytes on the wire,
which `connection` counts, or what becomes of the part that has arrived (the turn keeps it).
"""

from __future__ import annotations

from app.harness.providers.deltas import (
    Delta,
    Finished,
    TextDelta,
    ThinkingClosed,
    ThinkingDelta,
    ToolCallReady,
    UsageSoFar,
)
from app.harness.providers.errors import ProviderError
from app.harness.providers.wire_json import dump
from app.messages import ToolCallBlock

MAX_CHARACTERS = 4_000_000
"""Text, thinking, opaque values and calls together; several times the longest answer of any model,
and as much as an operator may post."""

MAX_CALLS = 256


class AnswerLimits:
    """Counts the deltas of one answer of `provider`."""

    def __init__(self, provider: str, model: str) -> None:
        self._provider = provider
        self._model = model
        self._characters = 0
        self._calls = 0

    def count(self, delta: Delta) -> None:
        """Take one delta into account. Raises `ProviderError` when the answer is too large with it."""
        self._characters += _size(delta)
        self._calls += isinstance(delta, ToolCallReady)
        if self._characters > MAX_CHARACTERS:
            raise self.error(f"one answer had more than {MAX_CHARACTERS:,} characters; it was stopped there")
        if self._calls > MAX_CALLS:
            raise self.error(f"one answer had more than {MAX_CALLS} tool calls; it was stopped there")

    def error(self, what: str) -> ProviderError:
        """Return the error for an answer that cannot be read to its end."""
        message = f"{self._provider}: {what}"
        return ProviderError("unknown", message, provider=self._provider, model=self._model)


def _size(delta: Delta) -> int:
    match delta:
        case TextDelta(text) | ThinkingDelta(text):
            return len(text)
        case ThinkingClosed(signature, data, item_id):
            return sum(len(value) for value in (signature, data, item_id) if value)
        case ToolCallReady(call):
            return _size_of_call(call)
        case UsageSoFar():
            return 0
        case Finished():
            return len(delta.model or "") + len(delta.response_id or "")


def _size_of_call(call: ToolCallBlock) -> int:
    arguments = len(dump(call.arguments)) if call.raw_arguments is None else len(call.raw_arguments)
    return arguments + len(call.id) + len(call.name) + len(call.signature or "")
