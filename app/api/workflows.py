"""Routes for workflows and their runs.

Owns: parsing and answering. Never: what a run does (`harness.workflows`).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Annotated

from fastapi import APIRouter, Path, Query

from app.api.dependencies import AuthorDep, PageDep, ProjectId, ServicesDep
from app.api.kaged_route import IDEMPOTENT, noun_router
from app.api.pagination import answer_page, page_by_name
from app.api.schemas.attempts import AttemptGroupAnswer
from app.api.schemas.model import PageOf
from app.api.schemas.workflows import (
    InvokeWorkflow,
    WorkflowAnswer,
    WorkflowRunAnswer,
    WorkflowRunStateName,
    WorkflowRunSummary,
)
from app.daemon.services import Services
from app.harness.attempts.starting import Started
from app.harness.dsl.compiled import CompiledWorkflow
from app.harness.workflows.schedule import next_slot
from app.ids import now_ms
from app.states import WorkflowRunState
from app.storage.keyed_effect import answer_with
from app.storage.models import WorkflowRun

router: APIRouter = noun_router("Workflows")

WorkflowName = Annotated[str, Path(description="A workflow's name in the project file.", max_length=64)]
WorkflowRunId = Annotated[str, Path(description="A workflow run's id, `wfr_...`.", max_length=64)]


@router.get("/projects/{project_id}/workflows", summary="List a project's workflows")
async def list_workflows(
    services: ServicesDep, project_id: ProjectId, page: PageDep
) -> PageOf[WorkflowAnswer]:
    """The workflows of the project file as compiled now, by name, with their inputs."""
    known = services.management.workflows.workflows(project_id)
    found = page_by_name("workflows", known.items(), itemgetter(0), page)
    queued, running = await services.storage.read(
        lambda uow: (
            uow.workflow_runs.count_by_workflow(WorkflowRunState.QUEUED.value),
            uow.workflow_runs.count_by_workflow(WorkflowRunState.RUNNING.value),
        )
    )

    def answer(named: tuple[str, CompiledWorkflow]) -> WorkflowAnswer:
        name, workflow = named
        return WorkflowAnswer.of(
            name,
            workflow,
            next_at=None if workflow.schedule is None else next_slot(workflow.schedule, now_ms()),
            queued=queued[project_id, name],
            running=running[project_id, name],
        )

    return answer_page(found, answer)


@router.post(
    "/projects/{project_id}/workflows/{workflow}/invoke",
    summary="Start a workflow",
    status_code=201,
    dependencies=[IDEMPOTENT],
)
async def invoke_workflow(
    services: ServicesDep,
    author: AuthorDep,
    project_id: ProjectId,
    workflow: WorkflowName,
    body: InvokeWorkflow,
) -> WorkflowRunAnswer:
    """The run is stored before the answer. It is `queued` while the limit of concurrent runs is reached.
    Errors of an input are reported as `inputs.<name>`."""
    if body.attempts is not None:
        answer_with(Started, lambda started: (201, _started(started)))
        return _started(
            await services.management.attempts.workflow(
                project_id, workflow, body.inputs, body.attempts.wish(), author, body.issue_number
            )
        )
    answer_with(WorkflowRun, lambda run: (201, WorkflowRunAnswer.of(run, None, 0)))
    run = await services.management.workflows.invoke(
        project_id,
        workflow,
        body.inputs,
        author,
        issue_number=body.issue_number,
        workspace=body.workspace,
    )
    return await _answer(services, run)


@router.get("/workflow-runs", summary="List workflow runs, newest first")
async def list_workflow_runs(
    services: ServicesDep,
    page: PageDep,
    project_id: Annotated[str | None, Query(max_length=64)] = None,
    workflow: Annotated[str | None, Query(max_length=64)] = None,
    state: WorkflowRunStateName | None = None,
    issue_number: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    session_id: Annotated[
        str | None, Query(max_length=64, description="Only the run of this session.")
    ] = None,
) -> PageOf[WorkflowRunSummary]:
    filters = {"project_id": project_id, "workflow": workflow, "state": state, "session_id": session_id}
    found = await services.management.workflows.list(
        {**filters, "issue_number": issue_number, "limit": page.limit, "cursor": page.cursor}
    )
    work = await _work(services, found.items)
    return answer_page(found, lambda run: WorkflowRunSummary.of(run, *work[run.id]))


@router.get("/workflow-runs/{workflow_run_id}", summary="Show a workflow run")
async def get_workflow_run(services: ServicesDep, workflow_run_id: WorkflowRunId) -> WorkflowRunAnswer:
    """Includes the inputs and, after its end, output, duration, cost and error."""
    return await _answer(services, await services.management.workflows.get(workflow_run_id))


@router.post("/workflow-runs/{workflow_run_id}/cancel", summary="Cancel a workflow run")
async def cancel_workflow_run(
    services: ServicesDep, author: AuthorDep, workflow_run_id: WorkflowRunId
) -> WorkflowRunAnswer:
    """The session of the run is stopped before the answer. Cancelling an ended run is a conflict."""
    run = await services.management.workflows.cancel(workflow_run_id, author)
    return await _answer(services, run)


def _started(started: Started) -> WorkflowRunAnswer:
    first = WorkflowRunAnswer.of(started.runs[0], None, 0)
    return first.model_copy(update={"attempt_group": AttemptGroupAnswer.begun(started)})


async def _answer(services: Services, run: WorkflowRun) -> WorkflowRunAnswer:
    work = await _work(services, [run])
    return WorkflowRunAnswer.of(run, *work[run.id])


async def _work(services: Services, runs: Sequence[WorkflowRun]) -> dict[str, tuple[str | None, int]]:
    """Return the state of each run's session and its number of open questions, by the run's id."""
    ids = [run.session_id for run in runs if run.session_id is not None]
    states, pending = await services.storage.read(
        lambda uow: (uow.sessions.states(ids), uow.interactions.pending_counts(ids))
    )
    sessions = {run.id: run.session_id or "" for run in runs}
    return {run: (states.get(session), pending.get(session, 0)) for run, session in sessions.items()}
