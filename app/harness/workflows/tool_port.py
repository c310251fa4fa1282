"""Workflows as the tools of the root agent see them.

Owns: what such a call means for the service, and the words of its errors. Never: the tools' schemas
(`app.tools.planning.workflow`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.errors import KagedError, NotFound, ToolError
from app.harness.dsl.compiled import CompiledWorkflow
from app.harness.issues.author import Author
from app.harness.issues.commands import as_tool_error
from app.harness.workflows.runs import run_not_found
from app.harness.workflows.service import WorkflowService
from app.states import WorkflowRunState
from app.storage.models import WorkflowRun
from app.tools.contract.call import ToolCallContext
from app.tools.planning.workflow import RunError, StatusResult, WorkflowEntry


class WorkflowTools:
    """What `kaged.workflow.list`, `.trigger` and `.status` ask of the daemon."""

    def __init__(self, service: Callable[[], WorkflowService]) -> None:
        """`service` gives the daemon's; it is made of sessions, which are made of tools."""
        self._service = service

    async def workflows(self, context: ToolCallContext, invokable_by: str | None) -> list[WorkflowEntry]:
        try:
            found = self._service().workflows(context.project_id)
        except KagedError as problem:
            raise as_tool_error(problem) from None
        return [
            _entry(name, workflow)
            for name, workflow in found.items()
            if invokable_by is None or invokable_by in workflow.invokable_by
        ]

    async def trigger(self, name: str, inputs: Mapping[str, Any], context: ToolCallContext) -> StatusResult:
        author = Author.of_call(context)
        try:
            _refuse_files(name, self._service().workflow(context.project_id, name), inputs)
            run = await self._service().invoke(context.project_id, name, inputs, author, cause="agent")
        except KagedError as problem:
            raise as_tool_error(problem) from None
        return _shown(run)

    async def status(self, run_id: str, context: ToolCallContext) -> StatusResult:
        try:
            run = await self._service().get(run_id)
            if run.project_id != context.project_id:
                raise run_not_found(run_id)
        except NotFound:
            raise ToolError(
                "run_not_found",
                f"There is no workflow run {run_id[:100]} in this project: give the run_id that "
                "kaged.workflow.trigger returned.",
                detail={"run_id": run_id[:100]},
            ) from None
        except KagedError as problem:
            raise as_tool_error(problem) from None
        return _shown(run)


def _shown(run: WorkflowRun) -> StatusResult:
    error = run.error
    return StatusResult(
        run_id=run.id,
        workflow_name=run.workflow,
        status=WorkflowRunState(run.state).value,
        inputs=dict(run.inputs),
        created_at=run.created_at // 1000,
        completed_at=None if run.completed_at is None else run.completed_at // 1000,
        duration_ms=duration_of(run),
        output=run.output,
        error=None
        if error is None
        else RunError(code=str(error.get("code", "failed")), message=str(error.get("message", ""))),
        cost_usd=run.cost_usd,
    )


def duration_of(run: WorkflowRun) -> int | None:
    """Return the milliseconds from the beginning of a run's work to its end; None before that."""
    if run.completed_at is None:
        return None
    return max(0, run.completed_at - (run.started_at or run.created_at))


def _refuse_files(name: str, workflow: CompiledWorkflow, inputs: Mapping[str, Any]) -> None:
    files = [
        key
        for key, declared in workflow.inputs.items()
        if declared.type == "file" and (declared.required or inputs.get(key) is not None)
    ]
    if files:
        raise ToolError(
            "file_input_not_supported",
            f"The workflow {name} takes a file ({', '.join(files)}), which this tool cannot give. Ask the "
            "operator to start it, with the file.",
            detail={"fields": dict.fromkeys(files, "is a file")},
        )


def _entry(name: str, workflow: CompiledWorkflow) -> WorkflowEntry:
    return WorkflowEntry(
        name=name,
        description=workflow.description,
        inputs={key: one.model_dump(mode="json", exclude_none=True) for key, one in workflow.inputs.items()},
        invokable_by=list(workflow.invokable_by),
        timeout_seconds=workflow.timeout_seconds,
        schedule=workflow.schedule,
    )
