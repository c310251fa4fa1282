"""Workflows and their runs on the wire."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import ConfigDict, Field

from app.api.schemas.model import AnswerModel, RequestModel, Time
from app.api.schemas.sessions import SessionStateName
from app.events.workflows import WorkflowCause
from app.harness.dsl.compiled import CompiledWorkflow
from app.harness.dsl.spec_sections import InputType
from app.harness.workflows.tool_port import duration_of
from app.storage.models import WorkflowRun

WorkflowRunStateName = Literal["queued", "running", "succeeded", "failed", "cancelled"]


class WorkflowInputAnswer(AnswerModel):
    """What a workflow declares about one input. `default` is null where there is none."""

    type: InputType
    required: bool
    default: str | int | float | bool | None
    description: str | None
    options: list[str] | None = Field(description="The choices of an `enum`.")
    max_length: int | None


class WorkflowAnswer(AnswerModel):
    """A workflow of a project, as it is compiled now. `tools` are those of the root agent that a run has."""

    name: str
    description: str
    inputs: dict[str, WorkflowInputAnswer]
    tools: list[str]
    invokable_by: list[Literal["operator", "guest"]]
    timeout_seconds: int
    concurrency: int
    schedule: str | None = Field(description="Cron expression of five fields, UTC.")
    next_at: Time | None = Field(description="When the schedule starts it next.")
    queued: int = Field(description="How many runs wait for their turn.")
    running: int = Field(description="How many runs are at work, or wait for a human.")

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
        description="Values by the names of the inputs; of a `file` the id of an upload.",
    )
    issue_number: int | None = Field(
        default=None, ge=1, le=2**31 - 1, description="The issue that the run works on."
    )


class Invoker(AnswerModel):
    """Who started a run. An agent acts with an operator's authority: its `id` is `agent:primary`."""

    type: Literal["operator", "guest"]
    id: str


class RunFailure(AnswerModel):
    """Why a run did not succeed."""

    code: str
    message: str


class WorkflowRunSummary(AnswerModel):
    id: str
    project_id: str
    workflow: str
    session_id: str | None = Field(description="The session that it works in; null while it waits.")
    state: WorkflowRunStateName
    session_state: SessionStateName | None = Field(
        description="What its session does: a run under way is `running` also while its session is `paused`."
    )
    pending_interactions: int = Field(description="How many questions of its session wait for a human.")
    cause: WorkflowCause
    invoked_by: Invoker
    issue_number: int | None
    scheduled_for: Time | None = Field(description="The time that a schedule meant.")
    timeout_seconds: int
    elapsed_ms: int = Field(description="How long it has worked, without the time in which it waited.")
    duration_ms: int | None = Field(description="From its beginning to its end; null until then.")
    created_at: Time
    started_at: Time | None
    completed_at: Time | None
    error: RunFailure | None
    cost_usd: float | None = Field(description="US dollars, once it has ended; null when it is not known.")

    @classmethod
    def of(cls, run: WorkflowRun, session_state: str | None, pending: int) -> Self:
        """`pending`: how many questions of the run's session wait for a human."""
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
