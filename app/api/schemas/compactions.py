"""Compactions on the wire."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from app.api.schemas.model import AnswerModel, RequestModel, Time

Strategy = Literal["drop", "summarize", "delegate", "checkpoint"]


class CompactSession(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"strategy": "drop"}})

    strategy: Strategy | None = Field(
        default=None, description="Overrides the strategy of the project file. `checkpoint` only proposes."
    )
    agent_path: str = Field(
        default="primary", max_length=1000, description="The agent; a subagent must be running."
    )


class CompactionAnswer(AnswerModel):
    """One compaction. Estimates are tokens of a whole request plus the reserve for its answer."""

    id: str
    session_id: str
    run_id: str | None
    agent_path: str
    created_at: Time
    state: Literal["proposed", "applied", "rejected"]
    trigger: Literal["threshold_crossed", "provider_overflow_retry", "operator_manual", "scheduled"]
    strategy: Strategy
    threshold_estimate: int
    after_estimate: int
    window_upper: float
    window_lower: float
    superseded_message_ids: list[str]
    summary_message_id: str | None
    summary: str | None
    plugins_fired: list[dict[str, Any]]
    plugin_cost: dict[str, Any] | None = Field(
        description="The usage of the summarizer: tokens and `cost_usd`, null when the price is unknown."
    )
    fallback_occurred: bool
    fallback_reason: str | None
    operator_flag: Literal["good", "bad", "neutral"] | None
    operator_notes: str | None
    checkpoint_id: str | None
    undone_by: str | None = Field(description="The rollback that restored the original messages.")
    details: dict[str, Any]


class CompactAnswer(AnswerModel):
    """The result; `compaction` is null when nothing could be removed."""

    outcome: Literal["completed", "noop", "proposed"]
    compaction: CompactionAnswer | None


class PreviewedMessage(AnswerModel):
    """A message that would remain, shortened. `id` is null for a summary that is not stored yet."""

    id: str | None
    role: str
    content: str
    tokens: int
    always_keep: bool


class CompactionPreview(AnswerModel):
    """A compaction that was not applied, and the conversation that it would leave."""

    record: CompactionAnswer
    messages: list[PreviewedMessage]


class FlagCompaction(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"flag": "good", "notes": "Kept what matters."}})

    flag: Literal["good", "bad", "neutral"] | None
    notes: str | None = Field(default=None, max_length=10_000)


class EditCompaction(RequestModel):
    """Omitted fields do not change."""

    model_config = ConfigDict(json_schema_extra={"example": {"summary": "The tests pass now."}})

    superseded_message_ids: list[str] | None = Field(default=None, min_length=1, max_length=200_000)
    summary: str | None = Field(default=None, max_length=400_000, description="Empty for none.")

    @model_validator(mode="after")
    def _says_something(self) -> EditCompaction:
        if self.superseded_message_ids is None and self.summary is None:
            raise ValueError("give superseded_message_ids, summary, or both")
        return self
