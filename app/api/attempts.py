"""Routes for attempts: start, list, compare, pick and cancel.

Owns: parsing and answering. Never: what attempts do (`harness.attempts`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from app.api.dependencies import PageDep, PrincipalDep, ProjectId, RequestId, ServicesDep
from app.api.kaged_route import IDEMPOTENT, noun_router
from app.api.pagination import answer_page
from app.api.schemas.attempts import AttemptsAnswer, PickAnswer, PickAttempt
from app.api.schemas.messages import StartAttempts
from app.api.schemas.model import PageOf
from app.api.schemas.workspaces import MergeAnswer
from app.errors import Conflict
from app.harness.attempts.starting import Started
from app.harness.attempts.wish import FirstMessage
from app.harness.workspaces.merging import conflict_message
from app.storage.keyed_effect import answer_with

router: APIRouter = noun_router("Attempts")

AttemptsId = Annotated[str, Path(description="The id of a group of attempts, `att_...`.", max_length=64)]


@router.post(
    "/projects/{project_id}/attempts",
    summary="Start attempts at a task",
    status_code=201,
    dependencies=[IDEMPOTENT],
)
async def start_attempts(
    services: ServicesDep,
    principal: PrincipalDep,
    request_id: RequestId,
    project_id: ProjectId,
    body: StartAttempts,
) -> AttemptsAnswer:
    """Opens `n` sessions with the message, each in a workspace, all from the same commit. To start attempts
    as forks of a session, post a message with `attempts`; as runs of a workflow, invoke it with
    `attempts`."""
    answer_with(Started, lambda started: (201, AttemptsAnswer.begun(started)))
    started = await services.management.attempts.with_message(
        project_id,
        body.attempts.wish(),
        FirstMessage(body.content, request_id=request_id),
        body.title,
        principal.actor,
    )
    return AttemptsAnswer.begun(started)


@router.get("/projects/{project_id}/attempts", summary="List a project's attempts, newest first")
async def list_attempts(
    services: ServicesDep, project_id: ProjectId, page: PageDep
) -> PageOf[AttemptsAnswer]:
    """The items have no `changes` and no output of checks."""
    found = await services.management.attempts.list(project_id, page.limit, page.cursor)
    return answer_page(found, lambda one: AttemptsAnswer.of(one, whole=False))


@router.get("/attempts/{attempts_id}", summary="Compare attempts")
async def get_attempts(services: ServicesDep, attempts_id: AttemptsId) -> AttemptsAnswer:
    """Shows the state of each attempt, its changes, check, tokens, cost and duration."""
    return AttemptsAnswer.of(await services.management.attempts.get(attempts_id))


@router.post(
    "/attempts/{attempts_id}/pick",
    summary="Merge one attempt and discard the others",
    dependencies=[IDEMPOTENT],
)
async def pick_attempt(
    services: ServicesDep, principal: PrincipalDep, attempts_id: AttemptsId, body: PickAttempt
) -> PickAnswer:
    """Merges the attempt, cancels the others and discards their workspaces, which `undo` restores. Refused
    for the reasons of a merge; a refused pick discards nothing. Picking the same attempt again changes
    nothing. Picking another one is a `conflict` (`already_picked`)."""
    attempts, workspaces = services.management.attempts, services.management.folders.workspaces
    if body.conflicts == "agent":
        await services.sessions.require_open(body.session_id)
    if body.hooks:
        services.projects.require_trusted((await attempts.stored(attempts_id)).group.project_id)
    try:
        picked = await attempts.pick(attempts_id, body.session_id, body.wish(), principal.actor)
    except Conflict as refusal:
        refusal.details = services.redactor.data(refusal.details)  # what hooks say may hold a secret
        raise
    if picked.merged.given:
        text = conflict_message(picked.merged)
        await services.sessions.post_message(body.session_id, text, actor=principal.actor)
    state = (await workspaces.of_session(body.session_id)).state
    return PickAnswer(
        attempts=AttemptsAnswer.of(await attempts.get(attempts_id)),
        merge=MergeAnswer.of(picked.merged, state, dry_run=body.dry_run),
        discarded=list(picked.discarded),
    )


@router.post("/attempts/{attempts_id}/cancel", summary="Cancel attempts")
async def cancel_attempts(
    services: ServicesDep, principal: PrincipalDep, attempts_id: AttemptsId
) -> AttemptsAnswer:
    """Cancels the runs and checks that are in progress or queued. The workspaces stay: each attempt can be
    picked, or continue with another message."""
    return AttemptsAnswer.of(await services.management.attempts.cancel(attempts_id, principal.actor))
