"""Routes for interactions: questions to people, and their answers.

Owns: parsing and answering. Never: who waits for the answer (`harness.questions`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app.api.asked_calls import with_calls
from app.api.dependencies import InteractionId, PageDep, PrincipalDep, ServicesDep, SessionId
from app.api.kaged_route import IDEMPOTENT, IdempotencyKeyHeader, noun_router
from app.api.pagination import answer_page
from app.api.schemas.interactions import AnswerInteraction, InteractionAnswer, InteractionStateName, answer_in
from app.api.schemas.model import PageOf
from app.api.schemas.uploads import UploadAnswer
from app.api.scope_rules import READS_SESSION
from app.api.uploads import FILE_BODY, FileName, receive_file
from app.storage.keyed_effect import answer_with
from app.storage.models import Interaction
from app.storage.pages import Page
from app.storage.unit_of_work import UnitOfWork

router: APIRouter = noun_router("Interactions")


@router.get(
    "/sessions/{session_id}/interactions",
    summary="List a session's questions, newest first",
    dependencies=READS_SESSION,
)
async def list_interactions(
    services: ServicesDep,
    session_id: SessionId,
    page: PageDep,
    state: Annotated[InteractionStateName | None, Query(description="Only those in this state.")] = None,
) -> PageOf[InteractionAnswer]:
    await services.sessions.get(session_id)

    def read(uow: UnitOfWork) -> Page[InteractionAnswer]:
        found = uow.interactions.list(session_id, state=state, limit=page.limit, cursor=page.cursor)
        return Page(with_calls(uow, found.items, services.redactor), found.next_cursor, found.total)

    return answer_page(await services.storage.read(read), lambda item: item)


@router.get(
    "/sessions/{session_id}/interactions/{interaction_id}",
    summary="Show a question with its answer",
    dependencies=READS_SESSION,
)
async def get_interaction(
    services: ServicesDep, session_id: SessionId, interaction_id: InteractionId
) -> InteractionAnswer:
    asked = await services.sessions.interactions.get(session_id, interaction_id)
    (answer,) = await services.storage.read(lambda uow: with_calls(uow, [asked], services.redactor))
    return answer


@router.post(
    "/sessions/{session_id}/interactions/{interaction_id}/answer",
    summary="Answer a question",
    dependencies=[IDEMPOTENT],
)
async def answer_interaction(
    services: ServicesDep,
    principal: PrincipalDep,
    session_id: SessionId,
    interaction_id: InteractionId,
    body: AnswerInteraction,
) -> InteractionAnswer:
    """Only the first answer counts. A later one is a conflict that names the first answer and its author. A
    session that paused for questions continues once the last of them is answered. `always` also answers other
    open requests of running runs that its new rules allow."""
    answer_with(Interaction, lambda row: (200, InteractionAnswer.model_validate(row)))
    answered = await services.sessions.interactions.answer(
        session_id, interaction_id, answer_in(body), principal.actor
    )
    return InteractionAnswer.model_validate(answered)


@router.post(
    "/sessions/{session_id}/interactions/{interaction_id}/files",
    summary="Upload a file for a form",
    status_code=201,
    response_model=UploadAnswer,
    openapi_extra=FILE_BODY,
)
async def upload_interaction_file(
    request: Request,
    services: ServicesDep,
    principal: PrincipalDep,
    session_id: SessionId,
    interaction_id: InteractionId,
    name: FileName = None,
    idempotency_key: IdempotencyKeyHeader = None,
) -> Response:
    """Send the id of the upload as the value of a `file` field. Works like `POST /uploads` for the project of
    the session. A file that no answer names is removed after a day."""
    await services.sessions.interactions.open_form(session_id, interaction_id)
    session = await services.sessions.get(session_id)
    return await receive_file(
        request,
        services,
        project_id=session.project_id,
        name=name,
        created_by=principal.actor,
        key=idempotency_key,
    )
