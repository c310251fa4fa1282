"""Changes of a session, differences of files and reverts on the wire."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from app.api.schemas.hunks import HunkAnswer, HunkSign
from app.api.schemas.model import AnswerModel, PageOf, RequestModel, Time
from app.workspace.file_status import ChangeStatus

PATH = (
    "Relative to the session's root. A path that is not UTF-8, or has control characters, is `~bytes:` and "
    "its bytes in URL-safe base64."
)


class EditAnswer(AnswerModel):
    """The call of an agent that wrote the file."""

    agent_path: str
    run_id: str | None
    message_id: str
    call_id: str | None


class ChangeAnswer(AnswerModel):
    """One file that differs from the baseline. Lines of binary files, and of files above 10 MB, are not
    counted: `additions` and `deletions` are null."""

    path: str = Field(description=PATH)
    old_path: str | None = Field(description="The earlier name of a renamed file.")
    status: ChangeStatus
    additions: int | None
    deletions: int | None
    binary: bool
    old_mode: str | None = Field(description="git's mode: 100644, 100755, or 120000 for a symbolic link.")
    new_mode: str | None
    note: str | None = Field(description="The reason why lines are not counted.")
    by: list[EditAnswer] = Field(description="The newest 50 calls of agents that wrote it, the oldest first.")
    others: bool = Field(
        description="Whether a command, a person or another session changed it, too: `by` does not say all."
    )


class ChangePage(PageOf[ChangeAnswer]):
    """One page of changes; `additions` and `deletions` are of all pages."""

    additions: int
    deletions: int
    incomplete: str | None = Field(description="What the list lacks, and the reason.")


class ChangeDiffAnswer(ChangeAnswer):
    """A change with its hunks: empty for a changed mode, null for a binary file and where `note` says why."""

    digest: str = Field(description="Identifies this state of the file, for a revert.")
    old_encoding: str | None
    new_encoding: str | None
    hunks: list[HunkAnswer] | None
    truncated: bool = Field(description="Whether hunks beyond 4 MB are left out.")
    old_text: str | None = Field(description="With `content`: the whole text, up to 1 MB.")
    new_text: str | None


class RevertChange(RequestModel):
    """What to revert: a file, or some of its hunks."""

    model_config = ConfigDict(json_schema_extra={"example": {"path": "bakery/basket.py"}})

    path: str = Field(max_length=8192, description=PATH)
    hunks: list[str] | None = Field(
        default=None,
        min_length=1,
        max_length=1000,
        description="The `digest` of each hunk, all from one answer. Without it, the whole file.",
    )
    digest: str | None = Field(
        default=None, max_length=64, description="The `digest` of the diff which the caller has seen."
    )
    since: str = Field(default="start", max_length=64, description="The baseline, as in the list.")


class RevertAnswer(AnswerModel):
    """A revert. `files` are those that it wrote or removed: two for a renamed file."""

    id: str
    session_id: str
    path: str
    since: str
    hunks: int | None = Field(description="How many hunks were reverted; null for the whole file.")
    lines: list[list[tuple[HunkSign, str]]] | None = Field(
        description="The lines of each reverted hunk, up to 16 kB; null for a whole file or an old revert."
    )
    files: list[str]
    created_at: Time
    created_by: str
    undone_at: Time | None
    undone_by: str | None
