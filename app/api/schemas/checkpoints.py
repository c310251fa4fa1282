"""Checkpoints and prompts on the wire."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from app.api.schemas.changes import PATH
from app.api.schemas.messages import MessageAnswer
from app.api.schemas.model import AnswerModel, PageOf, RequestModel, Time


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
    """One part of a system prompt: `agent`, `workflow`, `instructions:FILE`, `plugin:NAME`, `skills` or
    `environment`."""

    name: str
    text: str


class NextPart(PromptPart):
    """One part of the system prompt of the next call, with its origin: a file, or the name of a plugin."""

    origin: str | None
    tokens: int = Field(description="Estimated.")


class FileWarning(AnswerModel):
    """An instruction file or a skill that cannot be used as it is, or not as a whole."""

    file: str
    reason: str


class SentPromptAnswer(AnswerModel):
    """The system prompt of an agent's last model call. The details of the answer have its digest as
    `systemDigest`; `blocks` is empty once the text was deleted."""

    digest: str
    message_id: str
    run_id: str | None
    created_at: Time
    blocks: list[PromptPart]


class PromptAnswer(AnswerModel):
    """One agent's prompt: its file below the project's root, and the text of the next call."""

    agent_path: str
    file: str
    digest: str
    content: str
    source: Literal["file", "edited"] = Field(description="`edited`: this session has an edit.")
    pending: bool = Field(description="The edit applies from the end of the pause on.")
    file_digest: str
    parts: list[NextPart] = Field(
        description="The whole system prompt of the next call, in order; empty for the prompt of a workflow."
    )
    warnings: list[FileWarning] = Field(description="About instruction files and skills.")
    sent: SentPromptAnswer | None = Field(description="What was last sent; null before the first call.")


class EditPrompt(RequestModel):
    """A new text for one agent's prompt in this session. `write` changes the file itself, for every session
    of the project."""

    model_config = ConfigDict(json_schema_extra={"example": {"content": "You answer in one sentence."}})

    content: str = Field(min_length=1, max_length=1024 * 1024)
    base_hash: str | None = Field(
        default=None,
        max_length=64,
        description="The digest of the text that was edited; another digest is a conflict.",
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
    """A snapshot of the project's files, stored as a git tree. `state` is `taken`, `unchanged`, `failed` or
    `skipped`; `detail` says why."""

    id: str
    state: str
    tree: str | None
    detail: str | None
    size_bytes: int
    created_at: Time


class CheckpointDetail(CheckpointAnswer):
    messages: list[MessageAnswer] = Field(
        description="The conversation at the checkpoint, in order, including messages superseded since."
    )
    prompts: list[PromptAnswer]
    edits: list[PromptEditAnswer]
    worktree: WorktreeAnswer | None
    proposal: str | None = Field(description="The compaction that waits for a decision.")


class RollBack(RequestModel):
    """The target of a rollback: a checkpoint, or a message of the root agent, which is kept."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"checkpoint_id": "ckp_01JZ0000000000000000000000"}}
    )

    checkpoint_id: str | None = Field(default=None, max_length=64)
    message_id: str | None = Field(default=None, max_length=64)
    before: bool = Field(
        default=False,
        description="With `message_id`: the message itself goes, too, as if never posted.",
    )
    files: bool = Field(default=False, description="Also restore files that only agents wrote since.")
    stage: bool = Field(
        default=False, description="With `files`: preview what would be restored, and the conflicts."
    )
    force: bool = Field(
        default=False, description="With `files`: also restore files changed by others or by commands."
    )
    plan: str | None = Field(
        default=None,
        max_length=64,
        description="With `files`: the `plan` of the preview; a conflict when the files changed since.",
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.checkpoint_id is None) == (self.message_id is None):
            raise ValueError("name either checkpoint_id or message_id")
        if self.before and self.message_id is None:
            raise ValueError("before goes with message_id")
        if not self.files and (self.stage or self.force or self.plan is not None):
            raise ValueError("stage, force and plan go with files")
        return self


class UndoRollback(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"force": False}})

    force: bool = Field(default=False, description="Also restore files that changed since.")


class FileLeftAnswer(AnswerModel):
    """A file that is not restored, and why."""

    path: str = Field(description=PATH)
    reason: str


class FileChangeAnswer(AnswerModel):
    """A file that is restored; `diff` leads from now to then, null for binary or long files."""

    path: str = Field(description=PATH)
    change: Literal["modified", "created", "deleted"]
    diff: str | None


class StagedRollbackAnswer(AnswerModel):
    """A preview of a rollback's effect on files. `plan` identifies it."""

    plan: str
    restored: list[FileChangeAnswer]
    conflicts: list[FileLeftAnswer]


class RestoredFilesAnswer(AnswerModel):
    """The effect of a rollback on files. `checkpoint_id` has their state before; `undo_conflicts` are the
    files that undoing it did not restore."""

    checkpoint_id: str
    restored: list[str]
    conflicts: list[FileLeftAnswer]
    undo_conflicts: list[FileLeftAnswer]


class ForkSession(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"message_id": "msg_01JZ0000000000000000000000"}})

    message_id: str = Field(
        max_length=64, description="The last message of the fork; a message of the root agent."
    )


class RollbackAnswer(AnswerModel):
    """A rollback: how many `messages` it removed from the conversation, which `compactions` it undid, and
    which `checkpoints` it superseded."""

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


class PromptList(PageOf[PromptAnswer]):
    """The system prompt of each agent for its next model call, on one page."""
