"""The repository of a project on the wire."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from app.api.schemas.hunks import HunkAnswer
from app.api.schemas.model import AnswerModel, PageOf, RequestModel
from app.workspace.file_status import FileStatus

Operation = Literal["rebase", "am", "merge", "cherry_pick", "revert", "bisect"]
FilePath = Annotated[str, StringConstraints(min_length=1, max_length=8192)]
Digest = Annotated[str, StringConstraints(min_length=1, max_length=128)]
BranchName = Annotated[str, StringConstraints(min_length=1, max_length=250)]
MAX_FILES = 500
MAX_HUNKS = 5_000


class GitLinesAnswer(AnswerModel):
    """The number of lines that a file has more and less."""

    additions: int
    deletions: int


class GitFileAnswer(AnswerModel):
    """A file that differs from the last commit."""

    path: str = Field(
        description="Relative to the project. A name that is not UTF-8, or has control characters, is "
        "`~bytes:` and its bytes in URL-safe base64."
    )
    old_path: str | None = Field(description="The earlier path of a staged rename.")
    staged: FileStatus | None = Field(description="From the last commit to the index.")
    unstaged: FileStatus | None = Field(description="From the index to the working tree.")
    untracked: bool
    conflict: str | None = Field(description="How both sides of a merge changed it, as `both_modified`.")
    staged_lines: GitLinesAnswer | None = Field(
        description="Lines from the last commit to the index; null for a binary file, submodule or conflict."
    )
    unstaged_lines: GitLinesAnswer | None = Field(
        description="Lines from the index to the working tree; null also for an untracked file."
    )


class GitCountsAnswer(AnswerModel):
    """The number of files in each state. A file can be in two."""

    staged: int
    unstaged: int
    untracked: int
    conflicted: int


class GitStatusAnswer(PageOf[GitFileAnswer]):
    """The state of the repository, and a page of the files that differ."""

    branch: str | None = Field(description="Null when HEAD is detached.")
    commit: str | None = Field(description="Null before the first commit.")
    upstream: str | None
    ahead: int | None = Field(description="Commits that the upstream branch lacks; null without an upstream.")
    behind: int | None
    operation: Operation | None = Field(description="The operation in progress.")
    counts: GitCountsAnswer
    left_out: list[str] = Field(
        description="Files of the daemon in the project, such as its settings. kaged hides them from git, so "
        "they are not compared."
    )
    staged_outside: int = Field(
        description="Staged files outside of the project. A commit without `paths` includes them."
    )


class GitDiffAnswer(AnswerModel):
    """The diff of one file. It has no hunks when the file is binary, or only its mode differs."""

    path: str
    staged: bool
    binary: bool
    old_mode: str | None
    new_mode: str | None
    hunks: list[HunkAnswer]


class StageFiles(RequestModel):
    """Files or folders as a whole (`paths`; `.` is the project), or hunks of one file (`path`, `hunks`)."""

    model_config = ConfigDict(json_schema_extra={"example": {"paths": ["bakery/basket.py"]}})

    paths: list[FilePath] | None = Field(default=None, min_length=1, max_length=MAX_FILES)
    path: FilePath | None = None
    hunks: list[Digest] | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_HUNKS,
        description="Digests of hunks of the diff of `path`.",
    )

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if (self.paths is None) == (self.path is None) or (self.path is None) != (self.hunks is None):
            raise ValueError("give `paths`, or `path` with `hunks`")
        return self


class GitStagingAnswer(AnswerModel):
    """What was staged or unstaged, and the state after it."""

    paths: list[str]
    counts: GitCountsAnswer


class CommitFiles(RequestModel):
    """What to commit: what is staged, or only `paths` as they are now."""

    model_config = ConfigDict(json_schema_extra={"example": {"message": "Fix the total of the basket"}})

    message: str | None = Field(
        default=None, max_length=65_536, description="Without it an amended commit keeps its message."
    )
    paths: list[FilePath] | None = Field(default=None, min_length=1, max_length=MAX_FILES)
    amend: bool = Field(default=False, description="Replace the last commit.")
    hooks: bool = Field(
        default=False, description="Run the hooks of the repository. The project must be trusted."
    )
    allow_empty: bool = False
    unsigned: bool = Field(
        default=False, description="Commit without a signature even if git's settings require one."
    )


class GitCommitAnswer(AnswerModel):
    """A commit that was made."""

    commit: str
    parents: list[str]
    branch: str | None = Field(description="Null when HEAD is detached.")
    subject: str
    files: list[str] = Field(
        description="The first 100 files that it changes, by their paths in the repository."
    )
    total_files: int


class GitBranchAnswer(AnswerModel):
    """A branch of the repository, or with `remote` a remote-tracking branch."""

    name: str
    commit: str
    subject: str = Field(description="The first line of its newest commit.")
    current: bool
    remote: bool
    upstream: str | None
    ahead: int
    behind: int
    upstream_gone: bool = Field(description="Whether its upstream branch no longer exists.")
    elsewhere: bool = Field(description="Whether another working tree has it checked out.")


class CreateBranch(RequestModel):
    """A new branch. It starts at `from`, a commit or branch (default: the current commit)."""

    model_config = ConfigDict(json_schema_extra={"example": {"name": "fix-total", "switch": True}})

    name: BranchName
    start: Annotated[str, StringConstraints(min_length=1, max_length=1000)] | None = Field(
        default=None, alias="from"
    )
    switch: bool = Field(default=False, description="Also check it out.")


class SwitchBranch(RequestModel):
    """The branch to check out."""

    model_config = ConfigDict(json_schema_extra={"example": {"name": "main"}})

    name: BranchName


class GitHeadAnswer(AnswerModel):
    """A branch, and whether it is checked out now."""

    branch: str
    commit: str
    switched: bool
