"""Runs, their steps and tool calls on the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from app.api.schemas.model import AnswerModel, RequestModel, Time
from app.messages import Usage

RunStateName = Literal["pending", "running", "succeeded", "failed", "cancelled", "interrupted"]


class RunAnswer(AnswerModel):
    """A run of a subagent has the run and the tool call of its parent; with `background` the parent did
    not wait for it. `usage` and `cost_usd` are the run's own; `total_usage` and `total_cost_usd` are with
    those of all runs below it, as far as they have come."""

    id: str
    session_id: str
    agent_path: str
    state: RunStateName
    reason: str | None
    error: dict[str, Any] | None
    trigger_message_id: str | None
    checkpoint_id: str | None
    retry_of: str | None = Field(default=None, description="The failed run that this one tries again.")
    model: str | None
    step_count: int
    usage: Usage
    cost_usd: float | None
    total_usage: Usage
    total_cost_usd: float | None
    created_at: Time
    started_at: Time | None
    ended_at: Time | None
    parent_run_id: str | None = None
    parent_call_id: str | None = None
    background: bool = False


class ChildRunAnswer(AnswerModel):
    """The run of a subagent, as its parent's run shows it. `call_id` is that of the parent's tool call."""

    id: str
    agent_path: str
    call_id: str | None
    background: bool
    state: RunStateName
    reason: str | None
    usage: Usage
    cost_usd: float | None
    total_usage: Usage
    total_cost_usd: float | None


class StepAnswer(AnswerModel):
    """One model call. `stats` has usage, cost, time to the first token, duration and attempts."""

    number: int
    message_id: str
    provider: str
    model: str
    stop_reason: str | None
    request_digest: str | None
    stats: dict[str, Any]
    started_at: Time
    ended_at: Time | None


class ToolCallAnswer(AnswerModel):
    id: str
    step: int | None
    message_id: str | None
    agent_path: str
    call_id: str
    name: str
    arguments: dict[str, Any]
    state: str
    error_code: str | None
    result_message_id: str | None
    started_at: Time | None
    ended_at: Time | None


class RunDetail(RunAnswer):
    """`cost_incomplete`: a model call used tokens that have no known price; `cost_usd` is without it."""

    cost_incomplete: bool
    steps: list[StepAnswer]
    tool_calls: list[ToolCallAnswer]
    children: list[ChildRunAnswer]


class SentRequestAnswer(AnswerModel):
    """What one model call was sent. With `verified`, the bytes of `body` have the digest that was
    taken when they left (`request_digest`, xxh3 with 128 bits); without, the provider is configured
    differently by now, and `body` is what it would be sent today."""

    run_id: str
    step: int
    provider: str
    driver: str
    model: str
    path: str
    request_digest: str
    verified: bool
    body: dict[str, Any]


class ResumeSession(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"checkpoint_id": None}})

    checkpoint_id: str | None = Field(
        default=None,
        max_length=64,
        description="Which checkpoint to go on from; null is the newest open one.",
    )


class ResumedAnswer(AnswerModel):
    """The run that was started; null when nothing was left to do."""

    run: RunAnswer | None


class PauseSession(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"reason": "lunch"}})

    reason: str | None = Field(default=None, max_length=500)
