"""Checkpoints and prompts on the wire."""

from __future__ import annotations

from typing import Literal, Self

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


class PromptPart(AnswerModel):
    """One part of a system prompt: `agent`, `instructions`, `plugin:NAME`, `skills` or `environment`."""

    name: str
    text: str


class SentPromptAnswer(AnswerModel):
    """The whole system prompt that an agent's last answer was given to. Its digest stands in the details
    of that message as `systemDigest`; `blocks` is empty when it is not kept any more."""

    digest: str
    message_id: str
    run_id: str | None
    created_at: Time
    blocks: list[PromptPart]


class PromptAnswer(AnswerModel):
    """One agent's prompt: its file below the project's root, and the text that the next call bears."""

    agent_path: str
    file: str
    digest: str
    content: str
    source: Literal["file", "edited"] = Field(description="`edited`: an edit of this session holds.")
    pending: bool = Field(description="The edit holds from the end of the pause on.")
    file_digest: str
    sent: SentPromptAnswer | None = Field(description="What was really sent; null before the first call.")


class EditPrompt(RequestModel):
    """A new text for one agent's prompt, for this session; with `write` the file itself is changed, for
    every session of the project."""

    model_config = ConfigDict(json_schema_extra={"example": {"content": "You answer in one sentence."}})

    content: str = Field(min_length=1, max_length=1024 * 1024)
    base_hash: str | None = Field(
        default=None, max_length=64, description="The digest of the text that was edited; 409 for another."
    )
    write: bool = False


class PromptEditAnswer(AnswerModel):
    id: str
    checkpoint_id: str
    target: str
    old_hash: str
    new_hash: str
    edited_by: str
    edited_at: Time
    applied_at: Time | None


class WorktreeAnswer(AnswerModel):
    """The project's files as they were then, a tree of git's. `state` is `taken`, `unchanged`, `failed` or
    `skipped`; `detail` says why."""

    id: str
    state: str
    tree: str | None
    detail: str | None
    size_bytes: int
    created_at: Time


class CheckpointDetail(CheckpointAnswer):
    messages: list[MessageAnswer] = Field(
        description="The conversation as it was then, in order, whatever became of it since."
    )
    prompts: list[PromptAnswer]
    edits: list[PromptEditAnswer]
    worktree: WorktreeAnswer | None
    proposal: str | None = Field(description="The compaction that waits for the operator's decision.")


class RollBack(RequestModel):
    """Where to go back to: a checkpoint, or a message of the root agent (which is kept)."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"checkpoint_id": "ckp_01JZ0000000000000000000000"}}
    )

    checkpoint_id: str | None = Field(default=None, max_length=64)
    message_id: str | None = Field(default=None, max_length=64)
    files: bool = Field(
        default=False, description="Also restore the files that agents have written since, and nobody else."
    )
    stage: bool = Field(
        default=False, description="With `files`: only answer what would be restored and what is in the way."
    )
    force: bool = Field(
        default=False, description="With `files`: also restore what was changed by others, or by commands."
    )
    plan: str | None = Field(
        default=None,
        max_length=64,
        description="With `files`: the `plan` of what was staged; 409 when it would be another one now.",
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.checkpoint_id is None) == (self.message_id is None):
            raise ValueError("name either checkpoint_id or message_id")
        if not self.files and (self.stage or self.force or self.plan is not None):
            raise ValueError("stage, force and plan go with files")
        return self


class UndoRollback(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"force": False}})

    force: bool = Field(default=False, description="Also bring back files that were changed since.")


class FileLeftAnswer(AnswerModel):
    """A file that is not restored, and why."""

    path: str
    reason: str


class FileChangeAnswer(AnswerModel):
    """A file that is restored; `diff` is from now to then, null for what is no text or too long."""

    path: str
    change: Literal["modified", "created", "deleted"]
    diff: str | None


class StagedRollbackAnswer(AnswerModel):
    """What a rollback would do to the files; nothing was changed. `plan` names exactly this."""

    plan: str
    restored: list[FileChangeAnswer]
    conflicts: list[FileLeftAnswer]


class RestoredFilesAnswer(AnswerModel):
    """What a rollback did to files. `checkpoint_id` keeps how they were before; `undo_conflicts` are those
    that undoing it left alone."""

    checkpoint_id: str
    restored: list[str]
    conflicts: list[FileLeftAnswer]
    undo_conflicts: list[FileLeftAnswer]


class ForkSession(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"message_id": "msg_01JZ0000000000000000000000"}})

    message_id: str = Field(max_length=64, description="The last message of the fork, of the root agent.")


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
    files: RestoredFilesAnswer | None


class PromptsAnswer(AnswerModel):
    """Each agent's system prompt as the next model call would bear it."""

    prompts: list[PromptAnswer]
