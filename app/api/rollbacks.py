"""Routes for going back in a session, and for going on elsewhere from a point of it.

Owns: parsing and answering. Never: what a rollback does (`harness.checkpoints`).
"""

from __future__ import annotations

from fastapi import APIRouter

from app.api.dependencies import PageDep, PrincipalDep, ServicesDep, SessionId
from app.api.kaged_route import IDEMPOTENT, noun_router
from app.api.pagination import answer_page
from app.api.schemas.checkpoints import ForkSession, RollBack, RollbackAnswer
from app.api.schemas.model import PageOf
from app.api.schemas.sessions import SessionDetail
from app.api.session_detail import session_detail
from app.storage.models import Rollback

router: APIRouter = noun_router("Checkpoints")


def rollback_answer(row: Rollback) -> RollbackAnswer:
    """Return a rollback as clients see it."""
    shown = {name: row.details.get(name) for name in ("messages", "compactions", "checkpoints")}
    return RollbackAnswer.model_validate({**row.model_dump(exclude={"details"}), **shown})


@router.post(
    "/sessions/{session_id}/rollback",
    operation_id="roll_back_session",
    summary="Take a session back to a checkpoint or a message",
    status_code=201,
    dependencies=[IDEMPOTENT],
)
async def roll_back_session(
    services: ServicesDep, principal: PrincipalDep, session_id: SessionId, body: RollBack
) -> RollbackAnswer:
    """What came later is superseded, never deleted. The session is idle then; `continue` runs a last
    message that has no answer. Compactions made later are undone. Messages that wait are held."""
    made = await services.sessions.roll_back(
        session_id,
        checkpoint_id=body.checkpoint_id,
        message_id=body.message_id,
        actor=principal.actor,
    )
    return rollback_answer(made)


@router.post(
    "/sessions/{session_id}/fork",
    operation_id="fork_session",
    summary="Open a session with the conversation up to a message",
    status_code=201,
    dependencies=[IDEMPOTENT],
)
async def fork_session(
    services: ServicesDep, principal: PrincipalDep, session_id: SessionId, body: ForkSession
) -> SessionDetail:
    """With the messages as they were then, also those that were superseded since, the same overrides, the
    project as it was compiled, and edited prompts. The session that is forked stays as it is."""
    made = await services.sessions.fork(session_id, body.message_id, actor=principal.actor)
    return await session_detail(services, made)


@router.get(
    "/sessions/{session_id}/rollbacks",
    operation_id="list_rollbacks",
    summary="List a session's rollbacks, newest first",
)
async def list_rollbacks(
    services: ServicesDep, session_id: SessionId, page: PageDep
) -> PageOf[RollbackAnswer]:
    await services.sessions.get(session_id)
    found = await services.storage.read(
        lambda uow: uow.rollbacks.list(session_id, limit=page.limit, cursor=page.cursor)
    )
    return answer_page(found, rollback_answer)


@router.post(
    "/sessions/{session_id}/rollbacks/{rollback_id}/undo",
    operation_id="undo_rollback",
    summary="Bring back what a rollback took out",
    dependencies=[IDEMPOTENT],
)
async def undo_rollback(
    services: ServicesDep, principal: PrincipalDep, session_id: SessionId, rollback_id: str
) -> RollbackAnswer:
    """As long as nothing was posted or compacted after it; the newest one first."""
    return rollback_answer(
        await services.sessions.undo_rollback(session_id, rollback_id, actor=principal.actor)
    )
