"""Routes for compactions.

Owns: parsing and answering. Never: what a compaction does (`harness.compaction`).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from app.api.dependencies import OperatorDep, PageDep, PrincipalDep, ServicesDep, SessionId
from app.api.kaged_route import CLAIMED, noun_router
from app.api.pagination import answer_page
from app.api.schemas.compactions import (
    CompactAnswer,
    CompactionAnswer,
    CompactionPreview,
    CompactSession,
    EditCompaction,
    FlagCompaction,
    PreviewedMessage,
)
from app.api.schemas.model import PageOf
from app.harness.compaction.compactor import Compacted
from app.harness.compaction.ports import described
from app.harness.conversation.history import user_entry

router: APIRouter = noun_router("Compactions")

CompactionId = Annotated[str, Path(description="A compaction's id, `cmp_...`.", max_length=64)]

_SHOWN_CHARACTERS = 2_000


@router.post(
    "/sessions/{session_id}/compact", summary="Compact an agent's context now", dependencies=[CLAIMED]
)
async def compact_session(
    services: ServicesDep,
    principal: PrincipalDep,
    session_id: SessionId,
    body: CompactSession | None = None,
) -> CompactAnswer:
    """While the agent runs it is done at the next boundary between two model calls, and the answer
    waits for that up to a minute. Superseded messages stay readable."""
    body = body or CompactSession()
    done = await services.sessions.compactions.compact(
        session_id, body.strategy, body.agent_path, principal.actor
    )
    assert done.outcome != "dry_run"
    record = None if done.outcome == "noop" else CompactionAnswer.model_validate(done.record)
    return CompactAnswer(outcome=done.outcome, compaction=record)


@router.post("/sessions/{session_id}/compactions/dry-run", summary="Preview a compaction")
async def preview_compaction(
    services: ServicesDep,
    principal: OperatorDep,
    session_id: SessionId,
    body: CompactSession | None = None,
) -> CompactionPreview:
    """Nothing is stored. A summary is really written, so that it can be read: what that costs stands in
    `record.plugin_cost` and is not part of the session's sums."""
    body = body or CompactSession()
    done = await services.sessions.compactions.preview(
        session_id, body.strategy, body.agent_path, principal.actor
    )
    return CompactionPreview(record=CompactionAnswer.model_validate(done.record), messages=_left(done))


@router.get("/sessions/{session_id}/compactions", summary="List a session's compactions, newest first")
async def list_compactions(
    services: ServicesDep, session_id: SessionId, page: PageDep
) -> PageOf[CompactionAnswer]:
    await services.sessions.get(session_id)
    found = await services.storage.read(
        lambda uow: uow.compactions.list(session_id, limit=page.limit, cursor=page.cursor)
    )
    return answer_page(found, CompactionAnswer.model_validate)


@router.get("/sessions/{session_id}/compactions/{compaction_id}", summary="Show a compaction")
async def get_compaction(
    services: ServicesDep, session_id: SessionId, compaction_id: CompactionId
) -> CompactionAnswer:
    found = await services.sessions.compactions.get(session_id, compaction_id)
    return CompactionAnswer.model_validate(found)


@router.post("/sessions/{session_id}/compactions/{compaction_id}/flag", summary="Flag a compaction")
async def flag_compaction(
    services: ServicesDep,
    principal: PrincipalDep,
    session_id: SessionId,
    compaction_id: CompactionId,
    body: FlagCompaction,
) -> CompactionAnswer:
    found = await services.sessions.compactions.flag(
        session_id, compaction_id, body.flag, body.notes, principal.actor
    )
    return CompactionAnswer.model_validate(found)


@router.post(
    "/sessions/{session_id}/compactions/{compaction_id}/approve",
    summary="Approve a proposed compaction",
    dependencies=[CLAIMED],
)
async def approve_compaction(
    services: ServicesDep, principal: PrincipalDep, session_id: SessionId, compaction_id: CompactionId
) -> CompactionAnswer:
    """The session stays paused; resume it, and the model is sent the shorter conversation."""
    done = await services.sessions.compactions.approve(session_id, compaction_id, principal.actor)
    return CompactionAnswer.model_validate(done)


@router.post("/sessions/{session_id}/compactions/{compaction_id}/edit", summary="Edit a proposed compaction")
async def edit_compaction(
    services: ServicesDep,
    principal: PrincipalDep,
    session_id: SessionId,
    compaction_id: CompactionId,
    body: EditCompaction,
) -> CompactionAnswer:
    """It stays proposed: approve it then."""
    changed = await services.sessions.compactions.edit(
        session_id, compaction_id, principal.actor, ids=body.superseded_message_ids, text=body.summary
    )
    return CompactionAnswer.model_validate(changed)


@router.post(
    "/sessions/{session_id}/compactions/{compaction_id}/reject", summary="Reject a proposed compaction"
)
async def reject_compaction(
    services: ServicesDep, principal: PrincipalDep, session_id: SessionId, compaction_id: CompactionId
) -> CompactionAnswer:
    """A resumed run goes on with the conversation as it is, and asks again when it is a tenth longer."""
    done = await services.sessions.compactions.reject(session_id, compaction_id, principal.actor)
    return CompactionAnswer.model_validate(done)


def _left(done: Compacted) -> list[PreviewedMessage]:
    """Return the conversation as it would be left; long messages are shown by their beginnings."""
    gone = {id(unit) for unit in done.plan.gone}
    last = max((i for i, unit in enumerate(done.window.units) if id(unit) in gone), default=-1)
    left: list[PreviewedMessage] = []
    for index, unit in enumerate(done.window.units):
        if id(unit) not in gone:
            left += [
                _shown(message)
                for entry in unit.entries
                for message in described(entry, always_keep=index in done.window.kept)
            ]
        elif index == last and done.summary is not None:
            left += [
                _shown(message | {"id": None})
                for message in described(user_entry(done.summary), always_keep=False)
            ]
    return left


def _shown(message: dict[str, object]) -> PreviewedMessage:
    content = str(message["content"])[:_SHOWN_CHARACTERS]
    return PreviewedMessage.model_validate({**message, "content": content})
