"""A session's conversation as it was at a point, whatever became of it since.

Owns: which stored messages were part of it then. Never: changing a row.
"""

from __future__ import annotations

from app.harness.sessions.point import (
    Point,
    applied,
    compacted_after,
    rolled_back_before,
    runs_after,
)
from app.ids import ROOT_AGENT
from app.storage.models import Message
from app.storage.unit_of_work import UnitOfWork


def conversation_at(uow: UnitOfWork, session_id: str, point: Point) -> list[Message]:
    """Return the messages of all agents that were part of the conversation at the point, in order.

    What was compacted or rolled back later is among them; what had been before is not."""
    rollbacks = [one for one in uow.rollbacks.of_session(session_id) if rolled_back_before(one, point)]
    taken_back = {one.id for one in rollbacks}
    hidden: set[str | None] = set()
    for compaction in applied(uow.compactions.of_session(session_id)):
        if compacted_after(compaction, point):
            hidden.add(compaction.summary_message_id)
        elif compaction.undone_by is None or compaction.undone_by not in taken_back:
            hidden.update(compaction.superseded_message_ids)
    late = set(runs_after(uow, session_id, point))
    rows = uow.messages.through(session_id, point.position)
    early = [run.id for run in uow.runs.children(session_id) if run.id not in late]
    if early:
        # What a child said may have later places than the result that its parent was given.
        known = {row.id for row in rows}
        rows += [row for row in uow.messages.of_runs(session_id, early) if row.id not in known]
        rows.sort(key=lambda row: (row.position or 0, row.id))
    return [
        row
        for row in rows
        if row.id not in hidden
        and row.superseded_by not in taken_back
        and (row.agent_path == ROOT_AGENT or row.run_id not in late)
    ]
