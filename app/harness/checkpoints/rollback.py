"""Going back in a session, and taking that back: the commands.

Owns: what a rollback means for a live session (state, what waits, the conversation in memory).
Never: which rows change (`superseding`) or files (`restoring`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.checkpoint_events import RollbackUndone, SessionRolledBack
from app.events import EventPayload
from app.harness.checkpoints.superseding import find_undoable, plan_rollback, restore, roll_back
from app.harness.consent_rows import answered_event
from app.harness.session_rows import hold_all
from app.ids import now_ms
from app.states import InteractionState, SessionEvent
from app.storage.models import AuditEvent, Rollback
from app.storage.unit_of_work import UnitOfWork

if TYPE_CHECKING:
    from app.harness.session_runs import SessionRuns
    from app.storage.storage import Storage


async def go_back(
    runs: SessionRuns,
    storage: Storage,
    *,
    checkpoint_id: str | None,
    message_id: str | None,
    actor: str,
) -> Rollback:
    """Take the conversation back to a checkpoint or a message; the session is idle then.

    The caller holds the session's lock. What waits is held. Raises `NotFound` and `Conflict`."""
    runs.record.require(SessionEvent.ROLLBACK)
    plan = await storage.read(
        lambda uow: plan_rollback(
            uow, runs.id, checkpoint_id=checkpoint_id, message_id=message_id, actor=actor
        )
    )
    rollback = plan.rollback
    compactions = tuple(one.id for one in plan.compactions)
    told: list[EventPayload] = [
        answered_event(question, state=InteractionState.CANCELLED) for question in plan.questions
    ]
    told.append(
        SessionRolledBack(
            rollback_id=rollback.id,
            checkpoint_id=checkpoint_id,
            message_cursor=rollback.message_cursor,
            created_by=actor,
            compactions=compactions,
        )
    )
    row = runs.row
    held = hold_all(runs.stop_what_waits())
    edited, apply_edits = await runs.edits_to_apply()

    def work(uow: UnitOfWork) -> None:
        held(uow)
        apply_edits(uow)
        roll_back(uow, plan, row)
        uow.audit.add_many([_audit(runs, "session.rolled_back", rollback, actor)])

    await runs.record.move(
        SessionEvent.ROLLBACK,
        reason="rolled_back",
        events=[*edited, *told],
        work=work,
        durable=True,
        context_overflow=False,
    )
    runs.forget_conversation()
    await runs.prompts.reload()
    return rollback


async def undo_rollback(runs: SessionRuns, storage: Storage, rollback_id: str, *, actor: str) -> Rollback:
    """Bring back what a rollback took out, as long as nothing was posted after it.

    The caller holds the session's lock. Raises `NotFound`, or `Conflict` that says why it cannot be."""
    runs.record.require(SessionEvent.ROLLBACK)
    rollback = await storage.read(lambda uow: find_undoable(uow, runs.id, rollback_id))

    def work(uow: UnitOfWork) -> None:
        restore(uow, rollback)
        uow.audit.add_many([_audit(runs, "session.rollback_undone", rollback, actor)])

    await runs.record.move(
        SessionEvent.ROLLBACK,
        reason="rollback_undone",
        events=[RollbackUndone(rollback_id=rollback.id, undone_by=actor)],
        work=work,
        durable=True,
        context_overflow=bool(rollback.details["context_overflow"]),
    )
    runs.forget_conversation()
    return await storage.read(lambda uow: uow.rollbacks.get(rollback_id)) or rollback


def _audit(runs: SessionRuns, event: str, rollback: Rollback, actor: str) -> AuditEvent:
    return AuditEvent(
        created_at=now_ms(),
        event=event,
        actor=actor,
        project_id=runs.row.project_id,
        session_id=runs.id,
        data={
            "rollback_id": rollback.id,
            "checkpoint_id": rollback.checkpoint_id,
            "message_cursor": rollback.message_cursor,
            "messages": rollback.details.get("messages", 0),
        },
    )
