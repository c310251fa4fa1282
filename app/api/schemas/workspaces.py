"""Workspaces on the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, field_validator

from app.api.schemas.changes import PATH
from app.api.schemas.model import AnswerModel, RequestModel, Time
from app.harness.workspaces.merge_notes import WORKING_TREE
from app.harness.workspaces.merging import Merged, MergeWish
from app.harness.workspaces.trees import Difference
from app.workspace.any_names import address_of
from app.workspace.file_status import MergeStatus

WorkspaceKind = Literal["shared", "worktree"]
WorkspaceStateName = Literal["creating", "ready", "merging", "merged", "kept", "discarded", "broken"]


class WorkspaceWish(RequestModel):
    """Where a session works."""

    model_config = ConfigDict(json_schema_extra={"example": {"kind": "worktree", "base": "head"}})

    kind: WorkspaceKind = "worktree"
    base: Annotated[str, Field(max_length=200)] = Field(
        default="head",
        description="What the workspace starts from: `head` (the last commit), `working` (also the "
        "uncommitted changes of the checkout), or a branch, a tag or a commit.",
    )

    @field_validator("base")
    @classmethod
    def _names_a_commit(cls, value: str) -> str:
        if not value or value.startswith("-") or value.split() != [value]:
            raise ValueError(
                "must be `head`, `working`, or a branch, tag or commit: no blanks, and no `-` at its start"
            )
        return value


def _of_one_shape(wish: Any) -> Any:
    # A union reports the complaints of every member, under names of its own.
    if isinstance(wish, dict):
        return WorkspaceWish.model_validate(wish)
    if wish is not None and wish not in get_args(WorkspaceKind):
        raise ValueError("must be `shared`, `worktree`, or an object with `kind` and `base`")
    return wish


WishedWorkspace = Annotated[WorkspaceKind | WorkspaceWish | None, BeforeValidator(_of_one_shape)]


class LastMerge(AnswerModel):
    """The last merge. `into` is `working_tree` (the checkout's files), a branch, which has `commit`, or
    `parent` (the folder of the agent that called the subagent)."""

    into: str
    commit: str | None = None
    at: Time


class WorkspaceAnswer(AnswerModel):
    """Where a session works. For a session in the project's folder `kind` is `shared` and `id` is null.
    `detail` is a problem or a remark."""

    id: str | None
    project_id: str
    session_id: str | None
    agent_path: str | None = Field(
        description="The subagent that works in it; null for the workspace of a session."
    )
    run_id: str | None = Field(description="The run of that subagent.")
    parent_id: str | None = Field(
        description="The workspace from which a subagent's workspace was made; null when it was made from "
        "the project's folder."
    )
    kind: Literal["shared", "worktree", "copy"]
    state: WorkspaceStateName
    root: str
    branch: str | None
    base: str | None
    base_commit: str | None
    detail: str | None
    setup_log: str | None = Field(description="The last 64 KB of output of the project's `setup`.")
    first_port: int | None = Field(description="The first of `ports` consecutive ports reserved for it.")
    ports: int
    size_bytes: int
    merged: LastMerge | None
    created_by: str
    created_at: Time
    updated_at: Time
    ended_at: Time | None
    removed_at: Time | None = Field(description="When its folder was removed. It cannot be restored then.")

    @field_validator("merged", mode="before")
    @classmethod
    def _brought_back(cls, value: Any) -> Any:
        return value if value is None or not isinstance(value, dict) or "into" in value else None


class MergeWorkspace(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"into": WORKING_TREE, "dry_run": True}})

    strategy: Literal["squash", "merge"] = Field(
        default="squash",
        description="For a branch: one commit, or a merge commit that keeps the commits of the workspace.",
    )
    into: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        default=WORKING_TREE,
        description="`working_tree`: the files of the checkout change, and nothing is committed. Otherwise "
        "a branch, which gets a commit. If it is checked out, its files change, too.",
    )
    message: str | None = Field(
        default=None,
        max_length=65_536,
        description="The message of the commit on a branch. Default: the name of the workspace's branch.",
    )
    create: bool = Field(
        default=False,
        description="Create the branch `into` if it does not exist, at the commit that is checked out.",
    )
    hooks: bool = Field(
        default=False,
        description="Run the hooks of the repository. Only for one commit (`squash`) on the branch that is "
        "checked out. The project must be trusted.",
    )
    dry_run: bool = Field(default=False, description="Show what the merge would change; write nothing.")
    conflicts: Literal["refuse", "agent"] = Field(
        default="refuse",
        description="`agent`: when both sides changed the same lines, the workspace gets the target's "
        "changes with conflict markers, and a message tells the agent to resolve them. Merge again "
        "afterwards.",
    )

    def wish(self) -> MergeWish:
        return MergeWish(
            self.strategy, self.into, self.message, self.dry_run, self.conflicts, self.create, self.hooks
        )

    @field_validator("message")
    @classmethod
    def _says_something(cls, value: str | None) -> str | None:
        if value is not None and not value.strip():
            raise ValueError("is blank: write a message, or leave it out")
        return value


class MergedFile(AnswerModel):
    """One file that changes; `additions` and `deletions` are lines, null for binary files."""

    path: str = Field(description=PATH)
    status: MergeStatus = Field(description="A renamed file is a deleted and an added one.")
    additions: int | None
    deletions: int | None

    @classmethod
    def of(cls, one: Difference) -> MergedFile:
        return cls.model_validate(
            {
                "path": address_of(one.path),
                "status": one.status,
                "additions": one.additions,
                "deletions": one.deletions,
            }
        )


class MergeAnswer(AnswerModel):
    """What a merge changed, or with `dry_run` would change. `conflicts` has the files in which both sides
    changed the same lines. `blocked` has the files that cannot be written, each with the reason. With
    either, nothing is merged. `diff` has up to 1 MB, and is empty without `dry_run`."""

    dry_run: bool
    into: str
    files: list[MergedFile]
    conflicts: list[str]
    blocked: dict[str, str]
    diff: str
    commit: str | None
    given_to_agent: bool = Field(description="Whether the agent got the conflicts. If so, nothing is merged.")
    workspace_state: WorkspaceStateName

    @classmethod
    def of(cls, merged: Merged, state: str, *, dry_run: bool) -> MergeAnswer:
        return cls.model_validate(
            {
                "dry_run": dry_run,
                "into": merged.into,
                "files": [MergedFile.of(one) for one in merged.files],
                "conflicts": list(merged.conflicts),
                "blocked": dict(merged.blocked or {}),
                "diff": merged.diff,
                "commit": merged.commit,
                "given_to_agent": merged.given,
                "workspace_state": state,
            }
        )
