"""Routes for interactions: what waits for a human, and the human's answer.

Owns: parsing and answering. Never: the waiting call (`harness.consent`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from app.api.dependencies import InteractionId, PageDep, PrincipalDep, ServicesDep, SessionId
from app.api.kaged_route import IDEMPOTENT, noun_router
from app.api.pagination import answer_page
from app.api.schemas.interactions import AnswerInteraction, InteractionAnswer, InteractionStateName
from app.api.schemas.model import PageOf
from app.errors import NotFound, ValidationFailed
from app.harness.consent import GivenAnswer

router: APIRouter = noun_router("Interactions")

_BELONGS_TO = {"rule": "always", "scope": "always", "comment": "reject"}


@router.get(
    "/sessions/{session_id}/interactions",
    operation_id="list_interactions",
    summary="List what was asked of humans in a session, newest first",
)
async def list_interactions(
    services: ServicesDep,
    session_id: SessionId,
    page: PageDep,
    state: Annotated[InteractionStateName | None, Query(description="Only those in this state.")] = None,
) -> PageOf[InteractionAnswer]:
    await services.sessions.get(session_id)
    found = await services.storage.read(
        lambda uow: uow.interactions.list(session_id, state=state, limit=page.limit, cursor=page.cursor)
    )
    return answer_page(found, InteractionAnswer.model_validate)


@router.get(
    "/sessions/{session_id}/interactions/{interaction_id}",
    operation_id="get_interaction",
    summary="Show one question and what became of it",
)
async def get_interaction(
    services: ServicesDep, session_id: SessionId, interaction_id: InteractionId
) -> InteractionAnswer:
    found = await services.storage.read(lambda uow: uow.interactions.get(interaction_id))
    if found is None or found.session_id != session_id:
        raise NotFound(f"There is no interaction {interaction_id} in this session.")
    return InteractionAnswer.model_validate(found)


@router.post(
    "/sessions/{session_id}/interactions/{interaction_id}/answer",
    operation_id="answer_interaction",
    summary="Answer a question that a call waits for",
    dependencies=[IDEMPOTENT],
)
async def answer_interaction(
    services: ServicesDep,
    principal: PrincipalDep,
    session_id: SessionId,
    interaction_id: InteractionId,
    body: AnswerInteraction,
) -> InteractionAnswer:
    """Only the first answer counts: a later one is a conflict that says what was answered, and by
    whom. `always` also answers other open questions that the rules it stores allow."""
    closed = await services.sessions.consents.answer(
        session_id, interaction_id, _given(body), principal.actor
    )
    return InteractionAnswer.model_validate(closed)


def _given(body: AnswerInteraction) -> GivenAnswer:
    wrong = {
        name: f"belongs to the answer `{answer}`"
        for name, answer in _BELONGS_TO.items()
        if getattr(body, name) is not None and body.answer != answer
    }
    if wrong:
        raise ValidationFailed("The answer does not fit together.", fields=wrong)
    return GivenAnswer(body.answer, body.rule, body.scope or "session", body.comment)
