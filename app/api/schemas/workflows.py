"""Workflows and their runs on the wire."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from app.api.schemas.attempts import AskAttempts, AttemptGroupAnswer
from app.api.schemas.model import AnswerModel, RequestModel, Time
from app.api.schemas.sessions import SessionStateName
from app.api.schemas.workspaces import WorkspaceKind
from app.events.workflows import WorkflowCause
from app.harness.dsl.compiled import CompiledWorkflow
from app.harness.dsl.spec_sections import InputType
from app.harness.workflows.tool_port import duration_of
from app.storage.models import WorkflowRun

WorkflowRunStateName = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class WorkflowInputAnswer(AnswerModel):
    """One declared input of a workflow. `default` is null when there is none."""

    type: InputType
    required: bool
    default: str | int | float | bool | None
    description: str | None
    options: list[str] | None = Field(description="The choices of an `enum`.")
    max_length: int | None


class WorkflowAnswer(AnswerModel):
    """A workflow of a project, as compiled now. `tools` are the tools of its root agent."""

    name: str
    description: str
    inputs: dict[str, WorkflowInputAnswer]
    tools: list[str]
    invokable_by: list[Literal["operator", "guest"]]
    timeout_seconds: int
    concurrency: int
    workspace: WorkspaceKind | None = Field(
        description="Where the sessions of runs work; null: as the project's `workspace.default` says."
    )
    schedule: str | None = Field(description="Cron expression of five fields, UTC.")
    next_at: Time | None = Field(description="The next scheduled start.")
    queued: int = Field(description="The number of queued runs.")
    running: int = Field(description="The number of active runs, including runs that wait for a person.")

    @classmethod
    def of(
        cls, name: str, workflow: CompiledWorkflow, *, next_at: int | None, queued: int, running: int
    ) -> WorkflowAnswer:
        return cls(
            name=name,
            description=workflow.description,
            inputs={
                key: WorkflowInputAnswer.model_validate(declared) for key, declared in workflow.inputs.items()
            },
            tools=list(workflow.tools),
            invokable_by=list(workflow.invokable_by),
            timeout_seconds=workflow.timeout_seconds,
            concurrency=workflow.concurrency,
            workspace=workflow.workspace,
            schedule=workflow.schedule,
            next_at=next_at,
            queued=queued,
            running=running,
        )


class InvokeWorkflow(RequestModel):
    model_config = ConfigDict(
        json_schema_extra={"example": {"inputs": {"branch": "main", "dry_run": True}, "issue_number": 42}}
    )

    inputs: dict[str, Any] = Field(
        default_factory=dict,
        max_length=64,
        description="Values by input name; for a `file`, the id of an upload.",
    )
    issue_number: int | None = Field(default=None, ge=1, le=2**31 - 1, description="The issue of the run.")
    workspace: WorkspaceKind | None = Field(
        default=None,
        description="Where the run's session works. Default: as the project file says. Not `shared` with "
        "`attempts`, which have workspaces.",
    )
    attempts: AskAttempts | None = Field(
        default=None,
        description="Start several runs, each in its own workspace. They queue like other runs.",
    )

    @model_validator(mode="after")
    def _attempts_have_workspaces(self) -> Self:
        if self.attempts is not None and self.workspace == "shared":
            raise ValueError("attempts work in workspaces of their own: leave out `workspace` or `attempts`")
        return self


class Invoker(AnswerModel):
    """The author of a run. An agent acts with the authority of an operator; its `id` is `agent:primary`."""

    type: Literal["operator", "guest"]
    id: str


class RunFailure(AnswerModel):
    """Why a run failed."""

    code: str
    message: str


class WorkflowRunSummary(AnswerModel):
    id: str
    project_id: str
    workflow: str
    session_id: str | None = Field(description="The session of the run; null while it is queued.")
    state: WorkflowRunStateName
    session_state: SessionStateName | None = Field(
        description="The state of its session. An active run is `running` also while its session is `paused`."
    )
    pending_interactions: int = Field(description="The number of open questions in its session.")
    cause: WorkflowCause
    invoked_by: Invoker
    issue_number: int | None
    scheduled_for: Time | None = Field(description="The scheduled time.")
    workspace: WorkspaceKind | None = Field(description="`workspace` of the invocation.")
    timeout_seconds: int
    elapsed_ms: int = Field(description="Working time, without waiting for people.")
    duration_ms: int | None = Field(description="From start to end; null until then.")
    created_at: Time
    started_at: Time | None
    completed_at: Time | None
    error: RunFailure | None
    cost_usd: float | None = Field(description="US dollars, after the end; null when unknown.")

    @classmethod
    def of(cls, run: WorkflowRun, session_state: str | None, pending: int) -> Self:
        """`pending` is the number of open questions in the run's session."""
        columns = {
            **run.model_dump(exclude={"slot"}),
            "scheduled_for": run.slot,
            "duration_ms": duration_of(run),
            "session_state": session_state,
            "pending_interactions": pending,
        }
        return cls.model_validate(columns)


class WorkflowRunAnswer(WorkflowRunSummary):
    inputs: dict[str, Any]
    output: str | None = Field(description="The agent's final answer.")
    attempt_group: AttemptGroupAnswer | None = Field(
        default=None, description="The attempts that were started; the run is the first of them."
    )
