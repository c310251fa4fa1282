"""Queries about tool calls."""

from __future__ import annotations

from sqlalchemy import select, update

from app.storage.models import ToolCall
from app.storage.repositories.rows import RowsById

_OPEN = ("pending", "running")


class ToolCallRepository(RowsById[ToolCall]):
    model = ToolCall

    def for_run(self, run_id: str) -> list[ToolCall]:
        """Return the calls of a run in the order asked."""
        return self._sorted(self.c.run_id == run_id, by=("step", "id"))

    def direct(self, session_id: str) -> list[ToolCall]:
        """Return the operators' own calls in a session, the oldest first."""
        return self._sorted(self.c.session_id == session_id, self.c.run_id.is_(None), by=("id",))

    def unfinished(self, session_id: str) -> list[ToolCall]:
        """Return the calls that are pending or running, in the order asked."""
        where = (self.c.session_id == session_id, self.c.ended_at.is_(None), self.c.state.in_(_OPEN))
        return self._sorted(*where, by=("run_id", "step", "id"))

    def sessions_with_unfinished(self) -> list[str]:
        """Return the ids of the sessions in which calls of runs are pending or running."""
        where = (self.c.ended_at.is_(None), self.c.run_id.is_not(None), self.c.state.in_(_OPEN))
        statement = select(self.c.session_id).where(*where).distinct()
        return list(self.connection.execute(statement).scalars())

    def waiting(self, session_id: str) -> list[ToolCall]:
        """Return the calls that wait for a person while no run waits for them, in the order asked."""
        where = (self.c.session_id == session_id, self.c.ended_at.is_(None), self.c.state == "waiting")
        return self._sorted(*where, by=("id",))

    def interrupt_direct(self, at: int) -> None:
        """End the operators' own calls that were under way when the daemon stopped."""
        statement = update(self.table).where(self.c.run_id.is_(None), self.c.state.in_(_OPEN))
        self.connection.execute(statement.values(state="interrupted", error_code="aborted", ended_at=at))
