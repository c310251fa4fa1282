"""Routes for attempts: start, list, compare, pick, cancel and discard.

Owns: parsing and answering. Never: what attempts do (`harness.attempts`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from app.api.dependencies import PageDep, PrincipalDep, ProjectId, RequestId, ServicesDep
from app.api.kaged_route import IDEMPOTENT, noun_router
from app.api.pagination import answer_page
from app.api.schemas.attempts import AttemptGroupAnswer, PickAnswer, PickAttempt
from app.api.schemas.messages import StartAttempts
from app.api.schemas.model import PageOf
from app.api.schemas.workspaces import MergeAnswer
from app.errors import Conflict
from app.harness.attempts.starting import Started
from app.harness.attempts.wish import FirstMessage
from app.harness.workspaces.conflict_message import conflict_message
from app.storage.keyed_effect import answer_with

router: APIRouter = noun_router("Attempts")

AttemptGroupId = Annotated[str, Path(description="The id of a group of attempts, `att_...`.", max_length=64)]


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
) -> AttemptGroupAnswer:
    """Opens `n` sessions with the message, each in a workspace, all from the same commit. To start attempts
    as forks of a session, post a message with `attempts`; as runs of a workflow, invoke it with
    `attempts`."""
    answer_with(Started, lambda started: (201, AttemptGroupAnswer.begun(started)))
    started = await services.management.attempts.with_message(
        project_id,
        body.attempts.wish(),
        FirstMessage(body.content, request_id=request_id),
        body.title,
        principal.actor,
    )
    return AttemptGroupAnswer.begun(started)


@router.get("/projects/{project_id}/attempts", summary="List a project's attempts, newest first")
async def list_attempts(
    services: ServicesDep, project_id: ProjectId, page: PageDep
) -> PageOf[AttemptGroupAnswer]:
    """The items have no `changes` and no output of checks."""
    found = await services.management.attempts.list(project_id, page.limit, page.cursor)
    return answer_page(found, lambda one: AttemptGroupAnswer.of(one, whole=False))


@router.get("/attempts/{attempt_group_id}", summary="Compare attempts")
async def get_attempts(services: ServicesDep, attempt_group_id: AttemptGroupId) -> AttemptGroupAnswer:
    """Shows the state of each attempt, its changes, check, tokens, cost and duration."""
    return AttemptGroupAnswer.of(await services.management.attempts.get(attempt_group_id))


@router.post(
    "/attempts/{attempt_group_id}/pick",
    summary="Merge one attempt and discard the others",
    dependencies=[IDEMPOTENT],
)
async def pick_attempt(
    services: ServicesDep, principal: PrincipalDep, attempt_group_id: AttemptGroupId, body: PickAttempt
) -> PickAnswer:
    """Merges the attempt, cancels the others and discards their workspaces, which `undo` restores. Refused
    for the reasons of a merge; a refused pick discards nothing. With `dry_run` conflicts and blocked files
    are no error: the answer is 200 with both. Picking the same attempt again changes nothing. Picking
    another one is a `conflict` (`already_picked`), and so is any pick while one is in progress
    (`pick_in_progress`)."""
    attempts, workspaces = services.management.attempts, services.management.folders.workspaces
    if body.conflicts == "agent":
        await services.sessions.require_open(body.session_id)
    if body.hooks:
        services.projects.require_trusted((await attempts.stored(attempt_group_id)).group.project_id)
    try:
        picked = await attempts.pick(attempt_group_id, body.session_id, body.wish(), principal.actor)
    except Conflict as refusal:
        refusal.details = services.redactor.data(refusal.details)  # what hooks say may hold a secret
        raise
    if picked.merged.given:
        text = conflict_message(picked.merged)
        await services.sessions.post_message(body.session_id, text, actor=principal.actor)
    state = (await workspaces.of_session(body.session_id)).state
    return PickAnswer(
        attempt_group=AttemptGroupAnswer.of(await attempts.get(attempt_group_id)),
        merge=MergeAnswer.of(picked.merged, state, dry_run=body.dry_run),
        discarded=list(picked.discarded),
    )


@router.post("/attempts/{attempt_group_id}/cancel", summary="Cancel attempts")
async def cancel_attempts(
    services: ServicesDep, principal: PrincipalDep, attempt_group_id: AttemptGroupId
) -> AttemptGroupAnswer:
    """Cancels the runs and checks that are in progress or queued. The workspaces stay: each attempt can be
    picked, or continue with another message."""
    return AttemptGroupAnswer.of(await services.management.attempts.cancel(attempt_group_id, principal.actor))


@router.post("/attempts/{attempt_group_id}/discard", summary="Discard attempts")
async def discard_attempts(
    services: ServicesDep, principal: PrincipalDep, attempt_group_id: AttemptGroupId
) -> AttemptGroupAnswer:
    """Cancels all attempts and discards their workspaces, which `undo` restores. None can be picked any more.
    Repeating it changes nothing. A group of which one is picked is a `conflict` (`already_picked`)."""
    return AttemptGroupAnswer.of(
        await services.management.attempts.discard(attempt_group_id, principal.actor)
    )
