"""Queries about tool calls."""

from __future__ import annotations

from sqlalchemy import select, update

from app.storage.models import ToolCall
from app.storage.repositories.rows import RowsById


class ToolCallRepository(RowsById[ToolCall]):
    model = ToolCall

    def for_run(self, run_id: str) -> list[ToolCall]:
        """Return the calls of a run in the order asked."""
        statement = select(ToolCall).where(self.c.run_id == run_id)
        return self._all(statement.order_by(self.c.step, self.c.id))

    def direct(self, session_id: str) -> list[ToolCall]:
        """Return the operators' own calls in a session, the oldest first."""
        statement = select(ToolCall).where(self.c.session_id == session_id, self.c.run_id.is_(None))
        return self._all(statement.order_by(self.c.id))

    def unfinished(self, session_id: str) -> list[ToolCall]:
        """Return the calls that are pending or running, in the order asked."""
        open_states = self.c.state.in_(("pending", "running"))
        statement = select(ToolCall).where(
            self.c.session_id == session_id, self.c.ended_at.is_(None), open_states
        )
        return self._all(statement.order_by(self.c.run_id, self.c.step, self.c.id))

    def sessions_with_unfinished(self) -> list[str]:
        """Return the ids of the sessions in which calls of runs are pending or running."""
        where = (
            self.c.ended_at.is_(None),
            self.c.run_id.is_not(None),
            self.c.state.in_(("pending", "running")),
        )
        statement = select(self.c.session_id).where(*where).distinct()
        return list(self.connection.execute(statement).scalars())

    def waiting(self, session_id: str) -> list[ToolCall]:
        """Return the calls that wait for a person while no run waits for them, in the order asked."""
        waits = self.c.state == "waiting"
        statement = select(ToolCall).where(self.c.session_id == session_id, self.c.ended_at.is_(None), waits)
        return self._all(statement.order_by(self.c.id))

    def interrupt_direct(self, at: int) -> None:
        """End the operators' own calls that were under way when the daemon stopped."""
        open_states = self.c.state.in_(("pending", "running"))
        statement = update(self.table).where(self.c.run_id.is_(None), open_states)
        self.connection.execute(statement.values(state="interrupted", error_code="aborted", ended_at=at))
