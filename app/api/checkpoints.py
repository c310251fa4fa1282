"""Routes for checkpoints and prompts.

Owns: parsing and answering. Never: pausing or resuming (`runs`).
"""

from __future__ import annotations

from fastapi import APIRouter

from app.api.dependencies import PageDep, ServicesDep, SessionId
from app.api.kaged_route import noun_router
from app.api.pagination import answer_page
from app.api.schemas.checkpoints import CheckpointAnswer, CheckpointDetail, PromptAnswer, PromptsAnswer
from app.api.schemas.messages import brief
from app.api.schemas.model import PageOf
from app.errors import NotFound
from app.harness.checkpoints.past import conversation_at
from app.harness.checkpoints.point import point_at
from app.lifespan import Services
from app.storage.models import Checkpoint, Message
from app.storage.unit_of_work import UnitOfWork

router: APIRouter = noun_router("Checkpoints")


@router.get(
    "/sessions/{session_id}/checkpoints",
    operation_id="list_checkpoints",
    summary="List a session's checkpoints, newest first",
)
async def list_checkpoints(
    services: ServicesDep, session_id: SessionId, page: PageDep
) -> PageOf[CheckpointAnswer]:
    await services.sessions.get(session_id)
    found = await services.storage.read(
        lambda uow: uow.checkpoints.list(session_id, limit=page.limit, cursor=page.cursor)
    )
    return answer_page(found, CheckpointAnswer.model_validate)


@router.get(
    "/sessions/{session_id}/checkpoints/{checkpoint_id}",
    operation_id="get_checkpoint",
    summary="Show a checkpoint with the conversation up to it",
)
async def get_checkpoint(
    services: ServicesDep, session_id: SessionId, checkpoint_id: str
) -> CheckpointDetail:
    checkpoint, messages = await services.storage.read(lambda uow: _read(uow, session_id, checkpoint_id))
    answer = CheckpointAnswer.model_validate(checkpoint)
    return CheckpointDetail(
        **{name: getattr(answer, name) for name in CheckpointAnswer.model_fields},
        messages=[brief(message) for message in messages],
        prompts=await _prompts(services, session_id),
    )


@router.get(
    "/sessions/{session_id}/prompts", operation_id="list_prompts", summary="Show the agents' system prompts"
)
async def list_prompts(services: ServicesDep, session_id: SessionId) -> PromptsAnswer:
    return PromptsAnswer(prompts=await _prompts(services, session_id))


async def _prompts(services: Services, session_id: str) -> list[PromptAnswer]:
    return [PromptAnswer.model_validate(prompt) for prompt in await services.sessions.prompts(session_id)]


def _read(uow: UnitOfWork, session_id: str, checkpoint_id: str) -> tuple[Checkpoint, list[Message]]:
    checkpoint = uow.checkpoints.get(checkpoint_id)
    if checkpoint is None or checkpoint.session_id != session_id:
        raise NotFound(f"The session has no checkpoint {checkpoint_id}.")
    point = point_at(uow, session_id, checkpoint.message_cursor)
    return checkpoint, conversation_at(uow, session_id, point)
