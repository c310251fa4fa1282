"""`kaged.workflow.list`, `.trigger` and `.status`: workflows and their runs.

Owns: the tools' parameters and results, the interface to the daemon. Never: workflows and runs (the harness).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from app.errors import ToolError
from app.messages import Frozen
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import Effects, ToolDefinition, ToolParams, ToolResult, load_description

RunStatus = Literal["queued", "running", "succeeded", "failed", "cancelled"]
LIST, TRIGGER, STATUS = "kaged.workflow.list", "kaged.workflow.trigger", "kaged.workflow.status"
MAX_NAME = 100


class ListParams(ToolParams):
    invokable_by: Literal["operator", "guest"] | None = Field(
        default=None, description="Only workflows that these may start. Omit for all workflows."
    )


class TriggerParams(ToolParams):
    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME)] = Field(
        description="Workflow name as declared in the project file."
    )
    inputs: dict[str, Any] = Field(description="Input values that fit the workflow's inputs.")


class StatusParams(ToolParams):
    run_id: Annotated[str, Field(min_length=1, max_length=MAX_NAME)] = Field(
        description="Run id that kaged.workflow.trigger returned."
    )


class WorkflowEntry(Frozen):
    name: str
    description: str
    inputs: dict[str, dict[str, Any]] = Field(description="What a run is given, by name.")
    invokable_by: list[str]
    timeout_seconds: int
    schedule: str | None = Field(default=None, description="Cron expression of five fields, UTC.")


class ListResult(ToolResult):
    workflows: list[WorkflowEntry]
    count: int


class TriggerResult(ToolResult):
    run_id: str
    workflow_name: str
    status: RunStatus
    created_at: int = Field(description="Seconds since the epoch.")


class RunError(Frozen):
    code: str
    message: str


class StatusResult(ToolResult):
    """`completed_at` and `duration_ms` are there also when they are null."""

    run_id: str
    workflow_name: str
    status: RunStatus
    inputs: dict[str, Any]
    created_at: int = Field(description="Seconds since the epoch.")
    completed_at: int | None = Field(description="Seconds since the epoch; null until the run has ended.")
    duration_ms: int | None = Field(description="From its beginning to its end; null until then.")
    output: str | None = Field(default=None, description="The agent's final answer.")
    error: RunError | None = Field(default=None, description="Why the run did not succeed.")
    cost_usd: float | None = None

    @model_serializer(mode="wrap")
    def _with_nulls(self, handler: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # noqa: ANN202
        # Without a declared type here, so that the schema stays that of the fields.
        return {**handler(self), "completed_at": self.completed_at, "duration_ms": self.duration_ms}


class Workflows(Protocol):
    """The workflows of the caller's project. Every method may raise ToolError."""

    async def workflows(self, context: ToolCallContext, invokable_by: str | None) -> Sequence[WorkflowEntry]:
        """Return the workflows, those that such callers may start when it is given."""

    async def trigger(self, name: str, inputs: Mapping[str, Any], context: ToolCallContext) -> StatusResult:
        """Start a run and return at once. Raises ToolError `workflow_not_found`, `invalid_params` (with
        `fields`), `file_input_not_supported`, `not_invokable`, `queue_full` or `workflow_too_deep`."""

    async def status(self, run_id: str, context: ToolCallContext) -> StatusResult:
        """Return a run of the project. Raises ToolError `run_not_found`."""


def build(workflows: Workflows | None) -> tuple[ToolDefinition, ...]:
    """Return the three tools. Without `workflows` every call answers `unavailable`."""

    def there() -> Workflows:
        if workflows is None:
            raise ToolError("unavailable", "Workflows run only inside the daemon.")
        return workflows

    async def show(params: ListParams, context: ToolCallContext) -> ListResult:
        found = await there().workflows(context, params.invokable_by)
        return ListResult(workflows=list(found), count=len(found))

    async def trigger(params: TriggerParams, context: ToolCallContext) -> TriggerResult:
        run = await there().trigger(params.name, params.inputs, context)
        return TriggerResult(
            run_id=run.run_id, workflow_name=run.workflow_name, status=run.status, created_at=run.created_at
        )

    async def status(params: StatusParams, context: ToolCallContext) -> StatusResult:
        run = await there().status(params.run_id, context)
        row = {"run_id": run.run_id, "workflow_name": run.workflow_name, "status": run.status}
        context.ports.audit("kaged.workflow.status_checked", {**row, "caller": "agent:primary"})
        return run

    return (
        _tool(LIST, "List workflows", "workflow_list.md", ListParams, ListResult, show, read_only=True),
        _tool(TRIGGER, "Start a workflow", "workflow_trigger.md", TriggerParams, TriggerResult, trigger),
        _tool(
            STATUS,
            "Ask for a workflow run",
            "workflow_status.md",
            StatusParams,
            StatusResult,
            status,
            read_only=True,
        ),
    )


def _tool(
    name: str,
    title: str,
    description: str,
    parameters: type[ToolParams],
    result: type[ToolResult],
    run: Any,
    *,
    read_only: bool = False,
) -> ToolDefinition:
    return ToolDefinition(
        name=name,
        title=title,
        description=load_description("app.tools.planning", description),
        parameters=parameters,
        result=result,
        run=run,
        acp_kind="read" if read_only else "execute",
        read_only=read_only,
        principal_scope="root-only",
        root_default=True,
        # Runs of one step are started in the order in which they were asked for.
        effects_of=lambda _: Effects(exclusive=not read_only),
    )
