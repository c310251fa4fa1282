"""The answer of one model call while it arrives: blocks, timing, usage, and how it is stored.

Owns: the shapes of `message.end` and of a message row's details. Never: I/O.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from app.events.union import MessageEnd, MessageStats, WireUsage
from app.harness.providers.called_tool import called_tool
from app.harness.providers.deltas import (
    BlockAssembler,
    Delta,
    Finished,
    TextDelta,
    ThinkingDelta,
    ToolCallReady,
    UsageSoFar,
)
from app.harness.providers.errors import ProviderError
from app.harness.providers.wire_json import ToolNames
from app.harness.run.processor import Generation
from app.messages import AssistantBlock, Cost, StopReason, TextBlock, ToolCallBlock, ToolSpec, Usage
from app.states import ToolCallState
from app.storage.models import MessageDetails

MAX_NAME_CHARACTERS = 200
"""The limit for a tool's name and for the ids that a model gives: rows, events and requests have them."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A tool call that has a row: its id there and the state it was last stored in."""

    id: str
    state: ToolCallState = ToolCallState.PENDING


class Answer:
    """Collects deltas. Durations are milliseconds, measured from the opening of the stream. `taken` are
    the ids of earlier calls: some servers count each answer's calls from 0, and others refuse that.
    `tools` are those that the model may call."""

    def __init__(self, taken: Collection[str] = (), tools: Sequence[ToolSpec] = ()) -> None:
        self._taken = taken
        self._names = ToolNames(tools)
        self.usage = Usage()
        self.stop_reason: StopReason = "stop"
        self.characters = 0
        self.recorded: dict[str, RecordedCall] = {}
        self._assembler = BlockAssembler()
        self._created = time.monotonic()
        self._opened: float | None = None
        self._first: float | None = None
        self._last: float | None = None
        self._response_id: str | None = None
        self._stale = False

    def opened(self) -> None:
        """A request goes out now; what an earlier one that failed has counted is not this one's. Its text
        stays until the first piece of this one."""
        self.usage = Usage()
        self._opened = time.monotonic()
        self._stale = self._last is not None

    def forget(self) -> None:
        """Forget the pieces that arrived: another attempt starts the answer again."""
        self._assembler = BlockAssembler()
        self.characters, self.stop_reason = 0, "stop"
        self._first = self._last = self._response_id = None
        self._stale = False

    def tamed(self, delta: Delta) -> Delta:
        """Return the delta. A call is the tool's own, not that of `call_tool`; it has a name and an id of
        bounded length, and no other's id."""
        if not isinstance(delta, ToolCallReady):
            return delta
        call = called_tool(delta.call, self._names)
        name, identifier = call.name[:MAX_NAME_CHARACTERS], call.id[:MAX_NAME_CHARACTERS]
        number, free = 2, identifier
        while free in self.recorded or free in self._taken:
            number, free = number + 1, f"{identifier}_{number}"
        if (name, free) == (call.name, call.id):
            return delta if call is delta.call else ToolCallReady(call)
        return ToolCallReady(call.model_copy(update={"name": name, "id": free}))

    def add(self, delta: Delta) -> None:
        if isinstance(delta, UsageSoFar):
            self.usage = delta.usage
            return
        if self._stale:
            self.forget()
        self._last = time.monotonic()
        if self._first is None and isinstance(delta, TextDelta | ThinkingDelta):
            self._first = self._last
        if isinstance(delta, Finished):
            self.usage = delta.usage
            self.stop_reason = delta.stop_reason
            self._response_id = delta.response_id[:MAX_NAME_CHARACTERS] if delta.response_id else None
        if isinstance(delta, TextDelta | ThinkingDelta):
            self.characters += len(delta.text)
        self._assembler.add(delta)

    @property
    def response_id(self) -> str | None:
        return self._response_id

    def blocks(self) -> tuple[AssistantBlock, ...]:
        return self._assembler.blocks()

    def calls(self) -> tuple[ToolCallBlock, ...]:
        return tuple(block for block in self.blocks() if isinstance(block, ToolCallBlock))

    def text(self) -> str:
        return "".join(block.text for block in self.blocks() if isinstance(block, TextBlock))

    def stats(self, cost: Cost | None) -> MessageStats | None:
        """Return timing and cost, or None when nothing was measured."""
        if self._opened is None or self._last is None:
            return None
        duration = (self._last - self._opened) * 1000
        return MessageStats(
            ttft=None if self._first is None else round((self._first - self._opened) * 1000, 2),
            duration=round(duration, 2),
            tps=round(self.usage.output_tokens / max(duration / 1000, 0.001), 2),
            cost=cost,
        )

    def message_end(
        self, message_id: str, stop_reason: StopReason, cost: Cost | None, error: ProviderError | None
    ) -> MessageEnd:
        return MessageEnd(
            message_id=message_id,
            stop_reason=stop_reason,
            usage=WireUsage.of(self.usage) if self.usage.total else None,
            error_message=error.message if error is not None else None,
            stats=self.stats(cost),
        )

    def generation(
        self, step: int, provider: str, model: str, stop_reason: StopReason, cost: Cost | None
    ) -> Generation:
        stats = self.stats(cost)
        return Generation(
            step=step,
            provider=provider,
            model=model,
            stop_reason=stop_reason,
            usage=self.usage,
            cost=cost,
            duration_ms=stats.duration if stats is not None else 0.0,
            tool_calls=tuple(call.name for call in self.calls()),
        )

    def partial_details(self, step: int) -> MessageDetails:
        return {"step": step, "contentBlocks": self._stored_blocks()}

    def details(
        self,
        provider: str,
        model: str,
        end: MessageEnd,
        request_digest: str | None,
        error: ProviderError | None,
        system_digest: str | None = None,
    ) -> MessageDetails:
        """Return what is stored beside the text, under the names of the published contract."""
        details: MessageDetails = {"provider": provider, "model": model, "stopReason": end.stop_reason}
        wire = end.wire()
        if "usage" in wire:
            details["usage"] = wire["usage"]
        if "stats" in wire:
            details["stats"] = wire["stats"]
        if "errorMessage" in wire:
            details["errorMessage"] = wire["errorMessage"]
        if error is not None:
            details["errorKind"] = error.kind
            if error.status is not None:
                details["errorStatus"] = error.status
        if request_digest is not None:
            details["requestDigest"] = request_digest
        if system_digest is not None:
            details["systemDigest"] = system_digest
        if self._response_id is not None:
            details["responseId"] = self._response_id
        blocks = self._stored_blocks()
        if blocks:
            details["contentBlocks"] = blocks
        return details

    def _stored_blocks(self) -> list[dict[str, Any]]:
        """Return the blocks as stored; an answer of one text block is its row's content."""
        blocks = self.blocks()
        if len(blocks) == 1 and isinstance(blocks[0], TextBlock) and blocks[0].phase is None:
            return []
        return [{"type": block.type, **block.model_dump(exclude_defaults=True)} for block in blocks]
