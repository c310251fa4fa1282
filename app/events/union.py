"""Every event that a client can be sent, as a closed union in one envelope.

Owns: the payload of each type, its channel, whether it is durable; `openapi/events.schema.json` is made from
it. Never: delivery or storage. Only `message.*` payloads have camelCase names, by their published contract.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field

from app.events.budgets import BUDGET_EVENTS
from app.events.changes import ChangesUpdated
from app.events.compaction import COMPACTION_EVENTS
from app.events.hooks import HookEnded
from app.events.interactions import (
    INTERACTION_EVENTS,
    PermissionAnswered,
    PermissionRequested,
)
from app.events.issues import ISSUE_EVENTS
from app.events.payload import NO_ORIGIN, EventPayload, Origin
from app.events.sessions import (
    MORE_EVENTS,
    PromptFailed,
    PromptReloaded,
    RollbackUndone,
    SessionRolledBack,
    SessionStateChanged,
    SessionUpdated,
)
from app.events.workflows import WORKFLOW_EVENTS
from app.ids import ROOT_AGENT
from app.messages import Cost, Frozen, StopReason, Usage

INLINE_BYTES = 64 * 1024  # what is longer can be read at an address that the frame names


class WireUsage(BaseModel):
    """Token counts as the `message.end` contract names them."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    input_tokens: int = Field(serialization_alias="inputTokens")
    output_tokens: int = Field(serialization_alias="outputTokens")
    reasoning_tokens: int = Field(serialization_alias="reasoningTokens")
    cache_read_tokens: int = Field(serialization_alias="cacheReadTokens")
    cache_write_tokens: int = Field(serialization_alias="cacheWriteTokens")
    total_tokens: int = Field(serialization_alias="totalTokens")

    @classmethod
    def of(cls, usage: Usage) -> WireUsage:
        return cls(**usage.model_dump(), total_tokens=usage.total)


class MessageStats(Frozen):
    """Timing and cost of one model call. `ttft` and `duration` are milliseconds, `tps` output
    tokens per second; `cost` is null when the model's price is not known."""

    ttft: float | None
    duration: float
    tps: float
    cost: Cost | None


class MessageStart(EventPayload):
    TYPE = "message.start"
    CHANNEL = "output"
    run_id: str = Field(serialization_alias="runId")
    message_id: str = Field(serialization_alias="messageId")
    provider: str
    model: str
    attempt: int = 1


class MessageDelta(EventPayload):
    TYPE = "message.delta"
    CHANNEL = "output"
    DURABLE = False
    message_id: str = Field(serialization_alias="messageId")
    delta: str
    kind: Literal["text", "thinking"]
    attempt: int = 1


class MessageToolCall(EventPayload):
    """Arguments above 64 KB are left out (null), and `argumentsRef` is the address of the message
    that has them."""

    TYPE = "message.tool_call"
    CHANNEL = "output"
    message_id: str = Field(serialization_alias="messageId")
    id: str
    name: str
    arguments: Any
    attempt: int = 1
    arguments_ref: str | None = Field(default=None, serialization_alias="argumentsRef")

    def wire(self) -> dict[str, Any]:
        """Leave the address out where there is none."""
        fields = super().wire()
        if self.arguments_ref is None:
            del fields["argumentsRef"]
        return fields


class ShownImage(Frozen):
    """A picture that a model was shown; it is kept with its message."""

    media_type: str = Field(serialization_alias="mediaType")
    size: int = Field(description="Bytes of the picture.")


class MessageToolResult(EventPayload):
    """`content` is what the model reads; above 64 KB only its head is here and `content_ref`
    is the address of the whole message, as it is when there are `images`."""

    TYPE = "message.tool_result"
    CHANNEL = "output"
    SPARSE = True
    message_id: str = Field(serialization_alias="messageId")
    tool_call_id: str = Field(serialization_alias="toolCallId")
    name: str
    content: str
    is_error: bool = Field(serialization_alias="isError")
    duration_ms: float | None = Field(default=None, serialization_alias="durationMs")
    content_ref: str | None = Field(default=None, serialization_alias="contentRef")
    images: tuple[ShownImage, ...] | None = None


class MessageEnd(EventPayload):
    TYPE = "message.end"
    CHANNEL = "output"
    SPARSE = True
    message_id: str = Field(serialization_alias="messageId")
    stop_reason: StopReason = Field(serialization_alias="stopReason")
    usage: WireUsage | None = None
    error_message: str | None = Field(default=None, serialization_alias="errorMessage")
    stats: MessageStats | None = None


class MessageSnapshot(EventPayload):
    """What a client that joins in the middle of a message gets in place of the missed deltas."""

    TYPE = "message.snapshot"
    CHANNEL = "output"
    DURABLE = False
    message_id: str = Field(serialization_alias="messageId")
    attempt: int
    text: str
    thinking: str
    tool_calls: tuple[dict[str, Any], ...]


class MessagePosted(EventPayload):
    """A message entered the conversation from outside the model: operator, system or a steer.

    It is published once more, with `queued` false, when one that waited gets its place. Of a content
    above 64 KB only the head is here, and `content_ref` is the address of the whole message."""

    TYPE = "message.posted"
    SPARSE = True
    message_id: str
    role: str
    content: str
    delivery: str
    queued: bool
    created_by: str
    content_ref: str | None = None


class Sync(EventPayload):
    TYPE = "sync"
    DURABLE = False
    from_seq: int
    through_seq: int


class Resync(EventPayload):
    """The log no longer reaches back to what the client asked for: reload from `snapshot`."""

    TYPE = "resync"
    DURABLE = False
    from_seq: int
    snapshot: str


QueuedFor = Literal["busy", "capacity", "workspace"]
"""Why a message waits: a run is active, too many are, or the session's folder is being made."""


class RunQueued(EventPayload):
    TYPE = "run.queued"
    GLOBAL = True
    message_id: str
    position: int
    reason: QueuedFor


class RunStarted(EventPayload):
    TYPE = "run.started"
    GLOBAL = True
    run_id: str
    model: str
    trigger_message_id: str | None
    checkpoint_id: str | None = None
    parent_run_id: str | None = Field(default=None, description="The run whose subagent this is.")
    background: bool | None = Field(default=None, description="True when the parent does not wait for it.")

    def wire(self) -> dict[str, Any]:
        """Leave out what says nothing about the run of a root agent."""
        fields = super().wire()
        if self.parent_run_id is None:
            del fields["parent_run_id"], fields["background"]
        return fields


class RunEnded(EventPayload):
    TYPE = "run.ended"
    GLOBAL = True
    run_id: str
    state: str
    reason: str
    error: dict[str, Any] | None = None
    steps: int
    usage: Usage
    cost_usd: float | None
    total_usage: Usage
    total_cost_usd: float | None
    duration_ms: float | None


class StepStarted(EventPayload):
    TYPE = "step.started"
    step: int
    message_id: str


class StepEnded(EventPayload):
    TYPE = "step.ended"
    step: int
    message_id: str
    stop_reason: StopReason
    tool_calls: int


class ModelRetry(EventPayload):
    """A model call failed and will be tried again, here or elsewhere. The next attempt starts the answer
    again."""

    TYPE = "model.retry"
    step: int
    attempt: int
    provider: str
    model: str
    error: str
    message: str
    delay_ms: int | None
    fallback_to: str | None


class CheckpointCreated(EventPayload):
    TYPE = "checkpoint.created"
    GLOBAL = True
    checkpoint_id: str
    created_by: str
    reason: str
    detail: str | None
    message_cursor: str | None


class ToolProgress(EventPayload):
    TYPE = "tool.progress"
    DURABLE = False
    tool_call_id: str
    text: str


class Heartbeat(EventPayload):
    TYPE = "heartbeat"
    DURABLE = False


EVENT_TYPES: tuple[type[EventPayload], ...] = (
    MessageStart,
    MessageDelta,
    MessageToolCall,
    MessageToolResult,
    MessageEnd,
    MessageSnapshot,
    MessagePosted,
    Sync,
    Resync,
    RunQueued,
    RunStarted,
    RunEnded,
    StepStarted,
    StepEnded,
    ModelRetry,
    SessionStateChanged,
    SessionUpdated,
    CheckpointCreated,
    PromptReloaded,
    ToolProgress,
    *BUDGET_EVENTS,
    Heartbeat,
    PermissionRequested,
    PermissionAnswered,
    SessionRolledBack,
    RollbackUndone,
    *COMPACTION_EVENTS,
    *ISSUE_EVENTS,
    *WORKFLOW_EVENTS,
    *INTERACTION_EVENTS,
    PromptFailed,
    HookEnded,
    *MORE_EVENTS,
    ChangesUpdated,
)


def rfc3339(milliseconds: int) -> str:
    """Return `2026-01-02T03:04:05.678Z` for milliseconds since the epoch."""
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def head_of(text: str) -> str | None:
    """Return the first 64 KB of a text that is longer than that, None when it is not."""
    if len(text) <= INLINE_BYTES // 4:
        return None
    encoded = text.encode("utf-8", "replace")
    return None if len(encoded) <= INLINE_BYTES else encoded[:INLINE_BYTES].decode("utf-8", "ignore")


def message_address(session_id: str, message_id: str) -> str:
    """Return where a stored message can be read whole."""
    return f"/api/v1/sessions/{session_id}/messages/{message_id}"


def encode_frame(
    seq: int,
    payload: EventPayload,
    *,
    session_id: str,
    created_at: int,
    origin: Origin = NO_ORIGIN,
) -> bytes:
    """Return the JSON of one frame; `created_at` is milliseconds since the epoch.

    A frame without `agent_path` is the root agent's or nobody's, as most are."""
    envelope: dict[str, Any] = {
        "seq": seq,
        "channel": payload.CHANNEL,
        "type": payload.TYPE,
        "session_id": session_id,
    }
    if origin.run_id is not None:
        envelope["run_id"] = origin.run_id
    if origin.agent_path is not None and origin.agent_path != ROOT_AGENT:
        envelope["agent_path"] = origin.agent_path
    if origin.parent_tool_call_id is not None:
        envelope["parent_tool_call_id"] = origin.parent_tool_call_id
    envelope["ts"] = rfc3339(created_at)
    envelope["payload"] = payload.wire()
    try:
        return orjson.dumps(envelope)
    except TypeError:
        # A lone surrogate, which orjson refuses: escaped, it still is JSON that every client reads.
        return json.dumps(envelope, separators=(",", ":")).encode()
