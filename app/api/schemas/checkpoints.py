"""Checkpoints and prompts on the wire."""

from __future__ import annotations

from pydantic import Field

from app.api.schemas.messages import MessageAnswer
from app.api.schemas.model import AnswerModel, Time


class CheckpointAnswer(AnswerModel):
    id: str
    session_id: str
    run_id: str | None
    created_by: str
    reason: str
    detail: str | None
    message_cursor: str | None
    rolled_back: bool
    superseded_by: str | None
    created_at: Time
    resumed_at: Time | None


class PromptAnswer(AnswerModel):
    """One agent's system prompt: its file below the project's root, and the text."""

    agent_path: str
    file: str
    digest: str
    content: str


class CheckpointDetail(CheckpointAnswer):
    messages: list[MessageAnswer] = Field(description="The conversation up to the cursor, in order.")
    prompts: list[PromptAnswer]


class PromptsAnswer(AnswerModel):
    """Each agent's system prompt as the next model call would bear it."""

    prompts: list[PromptAnswer]
