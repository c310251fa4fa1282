"""Runs, their steps and tool calls on the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from app.api.schemas.model import AnswerModel, RequestModel, Time
from app.messages import Usage

RunStateName = Literal["pending", "running", "succeeded", "failed", "cancelled", "interrupted"]


class RunAnswer(AnswerModel):
    """The run of a subagent has `parent_run_id` and `parent_call_id`; with `background` the parent did not
    wait for it. `usage` and `cost_usd` are those of the run alone; `total_usage` and `total_cost_usd` include
    all runs below it so far."""

    id: str
    session_id: str
    agent_path: str
    state: RunStateName
    reason: str | None
    error: dict[str, Any] | None
    trigger_message_id: str | None
    checkpoint_id: str | None
    retry_of: str | None = Field(default=None, description="The failed run that this run retries.")
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
    """The run of a subagent in the detail of its parent's run. `call_id` is the tool call of the parent."""

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
    """One model call. `stats` has usage, cost, time to the first token, duration, attempts, and in `context`
    about how many tokens of what it was sent were system prompt, tools, messages and results."""

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
    """`cost_incomplete`: `cost_usd` lacks model calls whose price is unknown."""

    cost_incomplete: bool
    steps: list[StepAnswer]
    tool_calls: list[ToolCallAnswer]
    children: list[ChildRunAnswer]


class SentRequestAnswer(AnswerModel):
    """The request of one model call. `verified`: the bytes of `body` have the `request_digest` (128-bit xxh3)
    that was computed when they were sent. Otherwise the configuration of the provider changed since, and
    `body` is what would be sent today."""

    run_id: str
    step: int
    provider: str
    driver: str
    model: str
    path: str
    request_digest: str
    verified: bool
    body: dict[str, Any]


class RetryRun(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"model": "strong"}})

    model: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="An alias or `provider:model` for this run; by default that of the message or session.",
    )


class ResumeSession(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"checkpoint_id": None}})

    checkpoint_id: str | None = Field(
        default=None,
        max_length=64,
        description="The checkpoint to resume from; by default the newest open one.",
    )


class ResumedAnswer(AnswerModel):
    """The new run; null when nothing was left to do."""

    run: RunAnswer | None


class PauseSession(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"reason": "lunch"}})

    reason: str | None = Field(default=None, max_length=500)
