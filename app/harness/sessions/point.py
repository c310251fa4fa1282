"""A point in a session's conversation, and what came after it.

Owns: the message that a cursor stands for, and the order of messages, child runs, compactions and rollbacks.
Never: changing a row. Positions order messages, not the clock.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.errors import Conflict, NotFound
from app.ids import ROOT_AGENT
from app.storage.models import Compaction, Message, Rollback, Run
from app.storage.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True)
class Point:
    """The place after `message_id`; `position` is the last that belongs to the conversation.

    `created_at` is the message's, in milliseconds; `summary_of` is the compaction whose summary the
    message is. `START` has no message."""

    position: int
    message_id: str | None = None
    created_at: int = 0
    summary_of: str | None = None


START = Point(0)


def point_at(uow: UnitOfWork, session_id: str, message_id: str | None) -> Point:
    """Return the point after a message of the root agent; with tool calls, after their results.

    Raises `NotFound`, or `Conflict` for a message that is no point of the conversation."""
    if message_id is None:
        return START
    row = uow.messages.get(message_id)
    if row is None or row.session_id != session_id:
        raise NotFound(f"The session has no message {message_id}.")
    if row.position is None or not row.complete:
        raise Conflict(
            "This message has no place in the conversation yet; take one before it.",
            reason="not_a_point",
            details={"message_id": message_id},
        )
    if row.agent_path != ROOT_AGENT:
        raise Conflict(
            f"This message is one of the agent {row.agent_path}; take one of the root agent.",
            reason="not_a_point",
            details={"message_id": message_id, "agent_path": row.agent_path},
        )
    for compaction in uow.compactions.of_session(session_id):
        if compaction.summary_message_id == message_id:
            last = max(row.position, _mark(compaction) or 0)
            return Point(last, message_id, row.created_at, compaction.id)
    last_row = _end_of_step(uow, row)
    return Point(last_row.position or 0, last_row.id, last_row.created_at)


def point_before(uow: UnitOfWork, row: Message) -> Point:
    """Return the point before a message of the root agent. What a rollback took out is no point."""
    earlier = uow.messages.before(row.session_id, row.position or 0, ROOT_AGENT)
    return point_at(uow, row.session_id, earlier.id if earlier is not None else None)


def _end_of_step(uow: UnitOfWork, row: Message) -> Message:
    """Return the last result of the step that a message belongs to, or the message itself."""
    if row.role not in ("primary", "tool"):
        return row
    for following in uow.messages.following(row.session_id, row.position or 0, agent_path=ROOT_AGENT):
        if following.role != "tool" or following.superseded_by != row.superseded_by:
            break
        row = following
    return row


def compacted_after(compaction: Compaction, point: Point) -> bool:
    """Tell whether a compaction was made when the point had been reached already."""
    if compaction.id == point.summary_of:
        return False
    mark = _mark(compaction)
    return mark >= point.position if mark is not None else compaction.created_at >= point.created_at


def _mark(compaction: Compaction) -> int | None:
    """The last position that was in use when the compaction was made."""
    mark = compaction.details.get("position")
    return mark if isinstance(mark, int) else None


def rolled_back_before(rollback: Rollback, point: Point) -> bool:
    """Tell whether a rollback that holds was made before the point was reached."""
    return rollback.undone_at is None and int(rollback.details["last_position"]) < point.position


def applied(compactions: Iterable[Compaction]) -> list[Compaction]:
    """Return the compactions that changed what a model is sent."""
    return [one for one in compactions if one.state == "applied"]


def runs_after(uow: UnitOfWork, session_id: str, point: Point) -> list[str]:
    """Return the runs of child agents that were called for after the point, with all below them."""
    children = uow.runs.children(session_id)
    if not children:
        return []
    asked_at = _positions_of_calls(uow, session_id, children)
    late: dict[str, bool] = {}
    for run in children:  # parents are older than their children
        above = late.get(run.parent_run_id or "")
        late[run.id] = above if above is not None else asked_at.get(run.id, 0) > point.position
    return [run_id for run_id, is_late in late.items() if is_late]


def _positions_of_calls(uow: UnitOfWork, session_id: str, children: list[Run]) -> dict[str, int]:
    """Return, by child run, the position of the message that called for it."""
    asked: dict[tuple[str, str], str] = {}
    for parent in {run.parent_run_id for run in children if run.parent_run_id is not None}:
        for call in uow.tool_calls.for_run(parent):
            if call.message_id is not None:
                asked[parent, call.call_id] = asked[parent, call.id] = call.message_id
    positions = uow.messages.positions(session_id, sorted(set(asked.values())))
    found: dict[str, int] = {}
    for run in children:
        message_id = asked.get((run.parent_run_id or "", run.parent_call_id or ""))
        if message_id in positions:
            found[run.id] = positions[message_id]
    return found
