"""Routes for runs, and for steering the session that they belong to.

Owns: parsing and answering. Never: what a run does (`harness.sessions`).
"""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Path, Query, Response

from app.api.dependencies import PageDep, PrincipalDep, RunId, ServicesDep, SessionId
from app.api.kaged_route import CLAIMED, IDEMPOTENT, noun_router
from app.api.pagination import answer_page
from app.api.schemas.model import PageOf
from app.api.schemas.runs import (
    ChildRunAnswer,
    PauseSession,
    ResumedAnswer,
    ResumeSession,
    RetryRun,
    RunAnswer,
    RunDetail,
    SentRequestAnswer,
    StepAnswer,
    ToolCallAnswer,
)
from app.api.schemas.sessions import SessionDetail
from app.api.scope_rules import READS_SESSION
from app.api.session_detail import session_detail
from app.errors import NotFound
from app.harness.sessions.sent_request import sent_request
from app.messages import Usage
from app.storage.keyed_effect import answer_with
from app.storage.models import Run, Step, ToolCall
from app.storage.pages import Page
from app.storage.repositories.runs import RunTotals
from app.storage.unit_of_work import UnitOfWork

router: APIRouter = noun_router("Runs")


def run_answer(row: Run, totals: RunTotals | None = None) -> RunAnswer:
    """Return a run as clients see it; without `totals` there is nothing below it."""
    return RunAnswer.model_validate({**row.model_dump(), **_used(row, totals)})


def _used(row: Run, totals: RunTotals | None) -> dict[str, Any]:
    usage = Usage.model_validate(row.model_dump())
    total = totals or RunTotals(usage, row.cost_usd)
    return {"usage": usage, "total_usage": total.usage, "total_cost_usd": total.cost_usd}


@router.get(
    "/sessions/{session_id}/runs", summary="List a session's runs, newest first", dependencies=READS_SESSION
)
async def list_runs(
    services: ServicesDep,
    session_id: SessionId,
    page: PageDep,
    every: Annotated[
        bool, Query(alias="all", description="Include the runs of subagents, which have a `parent_run_id`.")
    ] = False,
) -> PageOf[RunAnswer]:
    await services.sessions.get(session_id)

    def read(uow: UnitOfWork) -> tuple[Page[Run], dict[str, RunTotals]]:
        listed = uow.runs.list(session_id, roots_only=not every, limit=page.limit, cursor=page.cursor)
        return listed, uow.runs.totals([run.id for run in listed.items])

    found, totals = await services.storage.read(read)
    return answer_page(found, lambda run: run_answer(run, totals.get(run.id)))


@router.get("/runs/{run_id}", summary="Show a run with its steps and tool calls", dependencies=READS_SESSION)
async def get_run(services: ServicesDep, run_id: RunId) -> RunDetail:
    def read(
        uow: UnitOfWork,
    ) -> tuple[Run | None, list[Step], list[ToolCall], list[Run], dict[str, RunTotals]]:
        runs, below = uow.runs, uow.runs.below(run_id)
        totals = runs.totals([run_id, *(run.id for run in below)])
        return runs.get(run_id), runs.steps(run_id), uow.tool_calls.for_run(run_id), below, totals

    run, steps, calls, below, totals = await services.storage.read(read)
    if run is None:
        raise NotFound(f"There is no run {run_id}.")
    answer = run_answer(run, totals.get(run.id))
    return RunDetail(
        **{name: getattr(answer, name) for name in RunAnswer.model_fields},
        cost_incomplete=any(step.stats.get("usage") and "cost" not in step.stats for step in steps),
        steps=[StepAnswer.model_validate(step) for step in steps],
        tool_calls=[ToolCallAnswer.model_validate(call) for call in calls],
        children=[
            ChildRunAnswer(
                id=child.id,
                agent_path=child.agent_path,
                call_id=child.parent_call_id,
                background=child.background,
                state=child.state,
                reason=child.reason,
                cost_usd=child.cost_usd,
                **_used(child, totals.get(child.id)),
            )
            for child in below
        ],
    )


@router.get(
    "/runs/{run_id}/steps/{number}/request",
    summary="Show the exact request of a model call",
    response_model=SentRequestAnswer,
)
async def get_sent_request(
    services: ServicesDep, run_id: RunId, number: Annotated[int, Path(ge=1, le=2**31)]
) -> Response:
    """Rebuilt from the stored prompts, tools and messages, and compared with the digest of the bytes that
    were sent. `body` is byte for byte that request."""
    sent = await sent_request(services.storage, services.providers, run_id, number)
    answer = {
        "run_id": run_id,
        "step": number,
        "provider": sent.provider,
        "driver": sent.driver,
        "model": sent.model,
        "path": sent.path,
        "request_digest": sent.request_digest,
        "verified": sent.verified,
        "body": orjson.Fragment(sent.body),
    }
    return Response(orjson.dumps(answer), media_type="application/json")


@router.post("/runs/{run_id}/cancel", summary="Cancel one run")
async def cancel_run(services: ServicesDep, principal: PrincipalDep, run_id: RunId) -> RunAnswer:
    """The runs below it end with it. The caller of a cancelled subagent gets an error and continues. Queued
    messages run next: cancel the session to hold them."""
    run = await services.sessions.one_run.cancel(run_id, principal.actor)
    totals = await services.storage.read(lambda uow: uow.runs.totals([run.id]))
    return run_answer(run, totals.get(run.id))


@router.post("/runs/{run_id}/retry", summary="Retry a failed run", status_code=201, dependencies=[IDEMPOTENT])
async def retry_run(
    services: ServicesDep, principal: PrincipalDep, run_id: RunId, body: RetryRun | None = None
) -> RunAnswer:
    """Starts a new run with the same message and `retry_of`, and with another `model` if one is given. The
    failed run must be the newest of its session; its messages stay in the conversation."""
    answer_with(Run, lambda run: (201, run_answer(run)))
    model = body.model if body is not None else None
    return run_answer(await services.sessions.one_run.retry(run_id, principal.actor, model=model))


@router.post(
    "/runs/{run_id}/see-warnings", summary="Mark the budget warnings of a run as seen", status_code=204
)
async def see_warnings(services: ServicesDep, run_id: RunId) -> Response:
    """The run leaves the inbox until a further limit is near."""
    await services.sessions.one_run.see_warnings(run_id)
    return Response(status_code=204)


@router.post("/sessions/{session_id}/pause", summary="Pause the active run")
async def pause_session(
    services: ServicesDep, principal: PrincipalDep, session_id: SessionId, body: PauseSession | None = None
) -> SessionDetail:
    """The partial answer is kept, and a checkpoint is created to resume from."""
    reason = body.reason if body is not None else None
    session = await services.sessions.pause(session_id, principal.actor, reason)
    return await session_detail(services, session)


@router.post(
    "/sessions/{session_id}/resume",
    summary="Resume from a checkpoint",
    status_code=201,
    responses={200: {"model": ResumedAnswer, "description": "Nothing was left to do; the session is idle."}},
    dependencies=[CLAIMED],
)
async def resume_session(
    services: ServicesDep,
    principal: PrincipalDep,
    session_id: SessionId,
    response: Response,
    body: ResumeSession | None = None,
) -> ResumedAnswer:
    checkpoint_id = body.checkpoint_id if body is not None else None
    run = await services.sessions.resume(session_id, checkpoint_id, actor=principal.actor)
    response.status_code = 201 if run is not None else 200
    return ResumedAnswer(run=run_answer(run) if run is not None else None)


@router.post("/sessions/{session_id}/cancel", summary="Cancel the active run")
async def cancel_session(
    services: ServicesDep, principal: PrincipalDep, session_id: SessionId
) -> SessionDetail:
    """The partial answer is kept, and the session becomes idle."""
    return await session_detail(services, await services.sessions.cancel(session_id, principal.actor))


@router.post(
    "/sessions/{session_id}/continue",
    summary="Continue after a truncated answer",
    status_code=201,
    dependencies=[IDEMPOTENT],
)
async def continue_session(
    services: ServicesDep, principal: PrincipalDep, session_id: SessionId
) -> ResumedAnswer:
    """For a run whose last answer stopped with the reason `length`."""
    answer_with(Run, lambda run: (201, ResumedAnswer(run=run_answer(run))))
    run = await services.sessions.continue_run(session_id, actor=principal.actor)
    return ResumedAnswer(run=run_answer(run))
