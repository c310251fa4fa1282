"""Checkpoints and prompts on the wire."""

from __future__ import annotations

from typing import Self

from pydantic import ConfigDict, Field, model_validator

from app.api.schemas.messages import MessageAnswer
from app.api.schemas.model import AnswerModel, RequestModel, Time


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


class RollBack(RequestModel):
    """Where to go back to: a checkpoint, or a message of the root agent (which is kept)."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"checkpoint_id": "ckp_01JZ0000000000000000000000"}}
    )

    checkpoint_id: str | None = Field(default=None, max_length=64)
    message_id: str | None = Field(default=None, max_length=64)

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.checkpoint_id is None) == (self.message_id is None):
            raise ValueError("name either checkpoint_id or message_id")
        return self


class RollbackAnswer(AnswerModel):
    """A rollback. `messages` is how many it took out of the conversation, `compactions` are those that
    it has undone, `checkpoints` those that are taken back with it."""

    id: str
    session_id: str
    checkpoint_id: str | None
    message_cursor: str | None
    created_by: str
    created_at: Time
    undone_at: Time | None
    messages: int
    compactions: list[str]
    checkpoints: list[str]


class PromptsAnswer(AnswerModel):
    """Each agent's system prompt as the next model call would bear it."""

    prompts: list[PromptAnswer]
