"""A message that was stored as waiting gets into the session that it waits in.

Owns: that it gets there once, whether the session was in memory or not. Never: storing the message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.events import SessionUpdated
from app.harness.session_rows import posted_event
from app.storage.storage import Storage

if TYPE_CHECKING:
    from app.harness.session_runs import SessionRuns


async def take_up(storage: Storage, runs: SessionRuns, message_id: str) -> None:
    """Let a session have a waiting message, and the issue that it is bound to; run it when it is idle."""
    async with runs.lock:
        if runs.closed:
            return
        session, waiting = await storage.read(
            lambda uow: (uow.sessions.get(runs.id), uow.messages.queued(runs.id))
        )
        row = next((row for row in waiting if row.id == message_id), None)
        if session is None or row is None:
            return
        runs.record.row = runs.row.model_copy(update={"issue_number": session.issue_number})
        if row.id not in runs.inbox:
            runs.inbox.add(row)
        updated = SessionUpdated(title=session.title, issue_number=session.issue_number)
        await runs.stream.record([updated, posted_event(row, queued=True)])
        await runs.tasks.take_up(row)
