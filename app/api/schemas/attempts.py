"""Attempts on the wire."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from app.api.schemas.model import AnswerModel, RequestModel, Time
from app.api.schemas.workspaces import MergeAnswer, MergeWorkspace, WorkspaceStateName
from app.harness.attempts.comparison import AttemptStateName, ChangeCounts, Compared, Comparison
from app.harness.attempts.starting import Started
from app.harness.attempts.wish import CHECK_SECONDS, AttemptsWish
from app.harness.workspaces.merge_notes import WORKING_TREE
from app.storage.models import Attempt, AttemptGroup

MOST = 64
AttemptGroupStateName = Literal["running", "done", "picking", "picked", "discarded"]
CheckStateName = Literal["none", "running", "passed", "failed", "stopped"]
ModelName = Annotated[str, Field(min_length=1, max_length=200)]


class AttemptsBudget(RequestModel):
    """The budget of all attempts together. When the sum reaches it, each attempt pauses before its next
    model call."""

    tokens: int | None = Field(default=None, ge=1)
    cost_usd: float | None = Field(default=None, gt=0)


class AskAttempts(RequestModel):
    """Several sessions attempt one task, each in its own workspace, and all from the same commit."""

    model_config = ConfigDict(
        json_schema_extra={"example": {"n": 3, "models": ["fast", "strong"], "check": "make test"}}
    )

    n: int = Field(ge=2, le=MOST, description="How many attempts; at most `workspaces.max_attempts`.")
    models: list[ModelName] = Field(
        default=[],
        max_length=MOST,
        description="At most `n` aliases or `provider:model`; fewer are used in turn. Default: the agent's.",
    )
    check: str | None = Field(
        default=None,
        min_length=1,
        max_length=10_000,
        description="A shell command that runs in each workspace after its run, like the project's `setup`.",
    )
    check_seconds: int = Field(default=CHECK_SECONDS, ge=1, le=3600, description="How long a check may take.")
    base: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^-\s][^\s]*$")] | None = Field(
        default=None,
        description="What all start from, as for a workspace. Default: `working` for a message to a session, "
        "`head` otherwise.",
    )
    budget: AttemptsBudget | None = None

    def wish(self) -> AttemptsWish:
        budget = self.budget or AttemptsBudget()
        return AttemptsWish(
            self.n,
            tuple(self.models),
            self.check,
            self.check_seconds,
            self.base,
            budget.tokens,
            budget.cost_usd,
        )


class PickAttempt(MergeWorkspace):
    model_config = ConfigDict(
        json_schema_extra={
            "example": {"session_id": "ses_01JZ0000000000000000000000", "into": WORKING_TREE, "dry_run": True}
        }
    )

    session_id: Annotated[str, Field(max_length=64, description="The session of the attempt to merge.")]


class AskedCheck(AnswerModel):
    command: str
    seconds: float


class BudgetAnswer(AnswerModel):
    tokens: int | None
    cost_usd: float | None


class CheckAnswer(AnswerModel):
    """The check of an attempt after its newest run. `problem` says why it failed. `exit_code` is null when
    the command did not start or was killed. `output` is the last 16 KB of its output; null in lists."""

    state: CheckStateName
    exit_code: int | None
    seconds: float | None
    output: str | None
    problem: str | None

    @classmethod
    def of(cls, attempt: Attempt, *, whole: bool) -> CheckAnswer:
        said = attempt.checked or {}
        return cls.model_validate(
            {
                "state": attempt.check_state,
                "exit_code": said.get("exit_code"),
                "seconds": said.get("seconds"),
                "output": said.get("output") if whole else None,
                "problem": said.get("problem"),
            }
        )


class CountedChanges(AnswerModel):
    """What an attempt has changed since its first message. `incomplete` says what the counts lack."""

    files: int
    additions: int
    deletions: int
    incomplete: str | None

    @classmethod
    def of(cls, counts: ChangeCounts) -> CountedChanges:
        return cls.model_validate(counts)


class AttemptAnswer(AnswerModel):
    """One attempt: a session in a workspace. `problem` says why it failed. `changes` is null in lists, and
    when the workspace has no files: it is being created, or is removed."""

    session_id: str
    number: int
    title: str
    model: str | None = Field(description="The model of its newest run, or the one that it will use.")
    state: AttemptStateName
    problem: str | None
    workspace_id: str | None
    workspace_state: WorkspaceStateName | None
    branch: str | None
    workflow_run_id: str | None
    changes: CountedChanges | None
    check: CheckAnswer | None
    tokens: int
    cost_usd: float | None = Field(description="US dollars; null when no price is known.")
    duration_ms: int = Field(description="How long its runs have taken.")

    @classmethod
    def of(cls, group: AttemptGroup, one: Compared, *, whole: bool) -> AttemptAnswer:
        workspace = one.workspace
        return cls(
            session_id=one.session.id,
            number=one.attempt.number,
            title=one.session.title,
            model=one.model,
            state=one.state,
            problem=one.problem,
            workspace_id=None if workspace is None else workspace.id,
            workspace_state=None if workspace is None else workspace.state,
            branch=None if workspace is None else workspace.branch,
            workflow_run_id=one.attempt.workflow_run_id,
            changes=None if one.changes is None else CountedChanges.of(one.changes),
            check=None if group.asked_check is None else CheckAnswer.of(one.attempt, whole=whole),
            tokens=one.usage.total,
            cost_usd=one.cost_usd,
            duration_ms=one.duration_ms,
        )


class AttemptGroupAnswer(AnswerModel):
    """Attempts at one task. `state` is `running` while an attempt works, waits for capacity or for a person,
    or is being checked. `tokens` and `cost_usd` are sums. Attempts whose session is deleted are left out."""

    id: str
    project_id: str
    session_id: str | None = Field(description="The session that they are forks of.")
    workflow: str | None
    title: str
    state: AttemptGroupStateName
    base: str
    base_commit: str | None = Field(description="The commit that all start from.")
    check: AskedCheck | None
    budget: BudgetAnswer | None
    tokens: int
    cost_usd: float | None = Field(description="US dollars, of the calls whose price is known.")
    picked_session_id: str | None
    picked_at: Time | None
    created_by: str
    created_at: Time
    attempts: list[AttemptAnswer]

    @classmethod
    def of(cls, found: Comparison, *, whole: bool = True) -> AttemptGroupAnswer:
        group = found.group
        rest = "running" if found.at_work else "discarded" if found.given_up else "done"
        return cls.model_validate(
            {
                **group.model_dump(exclude={"asked_check", "journal", "state"}),
                "state": rest if group.state == "open" else group.state,
                "check": group.asked_check,
                "tokens": found.tokens,
                "cost_usd": found.cost_usd,
                "attempts": [AttemptAnswer.of(group, one, whole=whole) for one in found.items],
            }
        )

    @classmethod
    def begun(cls, started: Started) -> AttemptGroupAnswer:
        """Return attempts as they are stored first."""
        return cls.of(started.comparison)


class PickAnswer(AnswerModel):
    """What a pick did, or with `dry_run` would do. `discarded` has the sessions whose workspaces are
    discarded. It is empty when the agent gets the conflicts, and when the attempt was already picked."""

    attempt_group: AttemptGroupAnswer
    merge: MergeAnswer
    discarded: list[str]
