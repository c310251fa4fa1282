"""Routes that rewind and fork sessions.

Owns: parsing and answering. Never: what a rollback does (`harness.checkpoints`).
"""

from __future__ import annotations

from fastapi import APIRouter, Response

from app.api.dependencies import PageDep, PrincipalDep, ServicesDep, SessionId
from app.api.kaged_route import CLAIMED, IDEMPOTENT, noun_router
from app.api.pagination import answer_page
from app.api.schemas.checkpoints import (
    FileChangeAnswer,
    FileLeftAnswer,
    ForkSession,
    RollBack,
    RollbackAnswer,
    StagedRollbackAnswer,
    UndoRollback,
)
from app.api.schemas.model import PageOf
from app.api.schemas.sessions import SessionDetail
from app.api.scope_rules import READS_SESSION
from app.api.session_detail import new_session_detail
from app.harness.sessions.file_rollback import StagedFiles
from app.harness.sessions.rollback import RollbackWish
from app.storage.keyed_effect import answer_with
from app.storage.models import Rollback
from app.storage.models import Session as SessionRow
from app.workspace.any_names import address_of

router: APIRouter = noun_router("Checkpoints")


def rollback_answer(row: Rollback) -> RollbackAnswer:
    """Return a rollback as clients see it."""
    counted = {name: row.details.get(name) for name in ("messages", "compactions", "checkpoints")}
    kept = row.details.get("files")
    files = None
    if kept is not None:
        files = {
            "checkpoint_id": kept["checkpoint_id"],
            "restored": [one["path"] for one in kept["wrote"]],
            "conflicts": kept["conflicts"],
            "undo_conflicts": kept.get("undo_conflicts", []),
        }
    return RollbackAnswer.model_validate({**row.model_dump(exclude={"details"}), **counted, "files": files})


def staged_answer(staged: StagedFiles) -> StagedRollbackAnswer:
    """Return what a rollback would do to files as clients see it."""
    plan = staged.plan
    return StagedRollbackAnswer(
        plan=plan.digest,
        restored=[
            FileChangeAnswer(path=address_of(one.path), change=one.change, diff=staged.diffs.get(one.path))
            for one in plan.restored
        ],
        conflicts=[
            FileLeftAnswer(path=address_of(one.path), reason=one.reason or "") for one in plan.conflicts
        ],
    )


@router.post(
    "/sessions/{session_id}/rollback",
    summary="Rewind a session to a checkpoint or a message",
    status_code=201,
    response_model=RollbackAnswer,
    responses={200: {"model": StagedRollbackAnswer, "description": "Staged: nothing changed."}},
    dependencies=[CLAIMED],
)
async def roll_back_session(
    services: ServicesDep,
    principal: PrincipalDep,
    session_id: SessionId,
    body: RollBack,
) -> RollbackAnswer | Response:
    """Later messages are superseded, never deleted. The session becomes idle; `continue` runs a last message
    that has no answer. Later compactions are undone. Queued messages are held. With `files`, files are
    restored as well; `stage` previews that."""
    wish = RollbackWish(**body.model_dump())
    made = await services.sessions.roll_back(session_id, wish, actor=principal.actor)
    if isinstance(made, StagedFiles):
        return Response(staged_answer(made).model_dump_json(), media_type="application/json")
    return rollback_answer(made)


@router.post(
    "/sessions/{session_id}/fork",
    summary="Fork a session at a message",
    status_code=201,
    dependencies=[IDEMPOTENT],
)
async def fork_session(
    services: ServicesDep, principal: PrincipalDep, session_id: SessionId, body: ForkSession
) -> SessionDetail:
    """The fork has the conversation at that message, including messages superseded since, with the same
    overrides, compiled project and edited prompts. The original session does not change."""
    answer_with(SessionRow, lambda session: (201, new_session_detail(session)))
    made = await services.sessions.fork(session_id, body.message_id, actor=principal.actor)
    return new_session_detail(made)


@router.get(
    "/sessions/{session_id}/rollbacks",
    summary="List a session's rollbacks, newest first",
    dependencies=READS_SESSION,
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
    summary="Undo a rollback",
    dependencies=[CLAIMED],
)
async def undo_rollback(
    services: ServicesDep,
    principal: PrincipalDep,
    session_id: SessionId,
    rollback_id: str,
    body: UndoRollback | None = None,
) -> RollbackAnswer:
    """Possible until something is posted or compacted; the newest rollback is undone first. Files that it
    restored are put back as well, unless they changed since."""
    force = body is not None and body.force
    return rollback_answer(
        await services.sessions.undo_rollback(session_id, rollback_id, force=force, actor=principal.actor)
    )
