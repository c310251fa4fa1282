"""What a rollback does to the stored rows of a session, and how it is taken back.

Owns: superseding messages, undoing compactions, and the way back to exactly what was. Never: session
state, what is in memory, or files. Both run inside one unit of work, so that all of it happens or nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.errors import Conflict, NotFound
from app.harness.compaction.records import redo as redo_compaction
from app.harness.compaction.records import undo as undo_compaction
from app.harness.sessions.open_calls import Closing, OpenCall, open_calls
from app.harness.sessions.point import Point, applied, compacted_after, point_at, point_before, runs_after
from app.ids import ROOT_AGENT, new_id, now_ms
from app.states import CompactionState, InteractionState, move
from app.storage.models import Checkpoint, Compaction, Interaction, Rollback, Session
from app.storage.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True)
class Plan:
    """A rollback that is about to be made: its row, where it goes, what it undoes and closes.

    `compactions` are in the order in which they were made; `questions` are those of subagents."""

    rollback: Rollback
    point: Point
    checkpoint: Checkpoint | None
    compactions: tuple[Compaction, ...]
    questions: tuple[Interaction, ...]
    waiting: tuple[OpenCall, ...]


def plan_rollback(
    uow: UnitOfWork,
    session_id: str,
    *,
    checkpoint_id: str | None,
    message_id: str | None,
    before: bool,
    actor: str,
) -> Plan:
    """Return what going back there would do; raise `NotFound`, or `Conflict` when the place was taken
    back itself."""
    checkpoint = None
    if checkpoint_id is not None:
        checkpoint = uow.checkpoints.get(checkpoint_id)
        if checkpoint is None or checkpoint.session_id != session_id:
            raise NotFound(f"The session has no checkpoint {checkpoint_id}.")
        if checkpoint.superseded_by is not None:
            raise _taken_back(checkpoint.superseded_by)
        message_id = checkpoint.message_cursor
    point = point_at(uow, session_id, message_id)
    row = uow.messages.get(message_id) if message_id is not None else None
    if row is not None and (row.superseded_by or "").startswith("rbk_"):
        raise _taken_back(str(row.superseded_by))
    if before and row is not None:
        point = point_before(uow, row)
    rollback = Rollback(
        id=new_id("rbk"),
        session_id=session_id,
        checkpoint_id=checkpoint_id,
        message_cursor=point.message_id,
        created_at=now_ms(),
        created_by=actor,
    )
    made = applied(uow.compactions.of_session(session_id))
    later = tuple(one for one in made if one.undone_by is None and compacted_after(one, point))
    waiting = tuple(open_calls(uow, session_id))
    asked = {one.question.id for one in waiting if one.question is not None}
    questions = tuple(one for one in uow.interactions.pending(session_id) if one.id not in asked)
    return Plan(rollback, point, checkpoint, later, questions, waiting)


def _taken_back(rollback_id: str) -> Conflict:
    return Conflict(
        f"A later rollback took this back. Undo {rollback_id} first, or fork the session at a message.",
        reason="rolled_back",
        details={"rollback_id": rollback_id},
    )


def roll_back(
    uow: UnitOfWork,
    plan: Plan,
    session: Session,
    files: Mapping[str, Any] | None = None,
    closing: Closing | None = None,
) -> None:
    """Take out of the conversation everything after the point, and store the rollback.

    Compactions made later are undone, pending questions closed, later checkpoints marked. `closing` ends
    the calls that waited, and `files` is what was done to files with it."""
    rollback, session_id = plan.rollback, plan.rollback.session_id
    point = plan.point
    if closing is not None:
        closing.store(uow)
        point = _with_results(uow, plan, closing)
    last_position = uow.messages.last_position(session_id)
    for compaction in reversed(plan.compactions):
        undo_compaction(uow, compaction, rollback.id)
    proposals = [one for one in uow.compactions.of_session(session_id) if one.state == "proposed"]
    for proposal in proposals:
        rejected = move(CompactionState(proposal.state), CompactionState.REJECTED).value
        uow.compactions.update(proposal.id, state=rejected, undone_by=rollback.id)
    late_runs = runs_after(uow, session_id, point)
    messages = uow.messages.supersede_after(
        session_id, point.position, by=rollback.id, agent_path=ROOT_AGENT
    ) + uow.messages.supersede_runs(session_id, late_runs, by=rollback.id)
    for question in plan.questions:
        state = move(InteractionState(question.state), InteractionState.CANCELLED).value
        uow.interactions.close(question.id, state=state, closed_at=now_ms())
    later = _later_checkpoints(uow, plan)
    for checkpoint_id in later:
        uow.checkpoints.update(checkpoint_id, superseded_by=rollback.id)
    if plan.checkpoint is not None:
        uow.checkpoints.update(plan.checkpoint.id, rolled_back=True)
    rollback.details = {
        "position": point.position,
        "last_position": last_position,
        "messages": messages,
        "compactions": [one.id for one in plan.compactions],
        "proposals": [one.id for one in proposals],
        "checkpoints": later,
        "was_rolled_back": plan.checkpoint is not None and plan.checkpoint.rolled_back,
        "context_overflow": session.context_overflow,
        **({} if files is None else {"files": dict(files)}),
    }
    uow.rollbacks.add(rollback)


def _with_results(uow: UnitOfWork, plan: Plan, closing: Closing) -> Point:
    """Return the point with the results of the calls that waited, where their step belongs to it."""
    asked_in = [one.call.message_id for one in plan.waiting if one.call.message_id is not None]
    asked_at = uow.messages.positions(plan.rollback.session_id, asked_in).values()
    if not closing.rows or min(asked_at, default=0) > plan.point.position:
        return plan.point
    return replace(plan.point, position=max(row.position or 0 for row in closing.rows))


def find_undoable(uow: UnitOfWork, session_id: str, rollback_id: str) -> Rollback:
    """Return a rollback that can be undone; raise `NotFound`, or `Conflict` that says why it cannot."""
    rollback = uow.rollbacks.get(rollback_id)
    if rollback is None or rollback.session_id != session_id:
        raise NotFound(f"The session has no rollback {rollback_id}.")
    if rollback.undone_at is not None:
        raise Conflict("This rollback has been undone already.", reason="already_undone")
    newest = [one for one in uow.rollbacks.of_session(session_id) if one.undone_at is None][-1]
    if newest.id != rollback.id:
        raise Conflict(
            f"A later rollback holds; undo {newest.id} first.",
            reason="later_rollback",
            details={"rollback_id": newest.id},
        )
    last = uow.messages.last_position(session_id)
    compacted = [
        one
        for one in applied(uow.compactions.of_session(session_id))
        if one.undone_by is None and one.created_at >= rollback.created_at
    ]
    if last > int(rollback.details["last_position"]) or compacted:
        raise Conflict(
            "Something was posted or compacted after this rollback, so it cannot be undone. "
            "Fork the session at a message that was taken back to go on from there.",
            reason="posted_after",
        )
    return rollback


def restore(uow: UnitOfWork, rollback: Rollback) -> None:
    """Bring back what a rollback took out: the messages are exactly as before."""
    session_id, kept = rollback.session_id, rollback.details
    uow.messages.restore(session_id, by=rollback.id)
    for compaction_id in kept["compactions"]:
        compaction = uow.compactions.get(compaction_id)
        if compaction is not None:
            redo_compaction(uow, compaction)
    for proposal in kept["proposals"]:
        uow.compactions.update(proposal, undone_by=None)
    for checkpoint_id in kept["checkpoints"]:
        uow.checkpoints.update(checkpoint_id, superseded_by=None)
    if rollback.checkpoint_id is not None:
        uow.checkpoints.update(rollback.checkpoint_id, rolled_back=bool(kept["was_rolled_back"]))
    uow.rollbacks.update(rollback.id, undone_at=now_ms())


def _later_checkpoints(uow: UnitOfWork, plan: Plan) -> list[str]:
    """Return the checkpoints whose conversation is not there any more after the rollback."""
    session_id, mine = plan.rollback.session_id, plan.rollback.checkpoint_id
    rows = [one for one in uow.checkpoints.of_session(session_id) if one.superseded_by is None]
    cursors = uow.messages.positions(session_id, [one.message_cursor for one in rows if one.message_cursor])
    return [
        one.id
        for one in rows
        if one.id != mine and cursors.get(one.message_cursor or "", 0) > plan.point.position
    ]
