"""Workspaces on the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, field_validator

from app.api.schemas.model import AnswerModel, RequestModel, Time
from app.harness.workspaces.merging import WORKING_TREE, Merged, MergeWish
from app.harness.workspaces.trees import Difference

WorkspaceKind = Literal["shared", "worktree"]
WorkspaceStateName = Literal["creating", "ready", "merging", "merged", "kept", "discarded", "broken"]


class WorkspaceWish(RequestModel):
    """The folder that a session is to work in."""

    model_config = ConfigDict(json_schema_extra={"example": {"kind": "worktree", "base": "head"}})

    kind: WorkspaceKind = "worktree"
    base: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^-\s][^\s]*$")] = Field(
        default="head",
        description="What it begins with: `head` (the last commit), `working` (with the uncommitted changes "
        "of the checkout), or a branch, a tag or a commit.",
    )


class LastMerge(AnswerModel):
    """What was last brought back: into the checkout (`working_tree`) or a branch, with its commit."""

    into: str
    commit: str | None = None
    at: Time


class WorkspaceAnswer(AnswerModel):
    """The folder that a session works in. Without one of its own, `kind` is `shared` and `id` null: it is the
    project's. `detail` says what is wrong, or worth knowing."""

    id: str | None
    project_id: str
    session_id: str | None
    kind: Literal["shared", "worktree", "copy"]
    state: WorkspaceStateName
    root: str
    branch: str | None
    base: str | None
    base_commit: str | None
    detail: str | None
    setup_log: str | None = Field(description="What the project's `setup` said, the last 64 KB of it.")
    first_port: int | None = Field(description="The first of `ports` free ports that are reserved for it.")
    ports: int
    size_bytes: int
    merged: LastMerge | None
    created_by: str
    created_at: Time
    updated_at: Time
    ended_at: Time | None
    removed_at: Time | None = Field(description="When its folder was removed: it cannot be taken back then.")

    @field_validator("merged", mode="before")
    @classmethod
    def _brought_back(cls, value: Any) -> Any:
        return value if value is None or not isinstance(value, dict) or "into" in value else None


class MergeWorkspace(RequestModel):
    model_config = ConfigDict(json_schema_extra={"example": {"into": WORKING_TREE, "dry_run": True}})

    strategy: Literal["squash", "merge"] = Field(
        default="squash", description="For a branch: one commit, or one that keeps those of the workspace."
    )
    into: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        default=WORKING_TREE,
        description="`working_tree`: the checkout's files change, and nothing is committed. Otherwise a "
        "branch, which gets a commit; a checkout that has it changes with it.",
    )
    message: str | None = Field(default=None, min_length=1, max_length=10_000)
    dry_run: bool = False
    conflicts: Literal["refuse", "agent"] = Field(
        default="refuse",
        description="`agent`: where both sides have changed the same lines, the target's changes come into "
        "the workspace with conflict markers, and the agent is told. Merge again afterwards.",
    )

    def wish(self) -> MergeWish:
        return MergeWish(self.strategy, self.into, self.message, self.dry_run, self.conflicts)


class MergedFile(AnswerModel):
    """One file that changes; `additions` and `deletions` are lines, null for binary files."""

    path: str
    status: Literal["added", "modified", "deleted", "mode"]
    additions: int | None
    deletions: int | None

    @classmethod
    def of(cls, one: Difference) -> MergedFile:
        return cls.model_validate(
            {
                "path": one.path.decode("utf-8", "replace"),
                "status": one.status,
                "additions": one.additions,
                "deletions": one.deletions,
            }
        )


class MergeAnswer(AnswerModel):
    """What a merge has changed, or with `dry_run` would change. `conflicts` are files that both sides have
    changed, `hindered` files that cannot be written, with the reason; with either nothing is merged. `diff`
    is text, up to 1 MB, and only there for a dry run."""

    dry_run: bool
    into: str
    files: list[MergedFile]
    conflicts: list[str]
    hindered: dict[str, str]
    diff: str
    commit: str | None
    given_to_agent: bool = Field(description="Whether the conflicts are the agent's now; nothing was merged.")
    workspace_state: WorkspaceStateName

    @classmethod
    def of(cls, merged: Merged, state: str, *, dry_run: bool) -> MergeAnswer:
        return cls.model_validate(
            {
                "dry_run": dry_run,
                "into": merged.into,
                "files": [MergedFile.of(one) for one in merged.files],
                "conflicts": list(merged.conflicts),
                "hindered": dict(merged.hindered or {}),
                "diff": merged.diff,
                "commit": merged.commit,
                "given_to_agent": merged.given,
                "workspace_state": state,
            }
        )
