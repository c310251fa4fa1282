"""Queries about tool calls."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import and_, func, or_, select, update

from app.storage.models import Session, ToolCall
from app.storage.repositories.rows import RowsById, table_of

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

    def open_calls(self, asked: Collection[tuple[str, str, str]]) -> dict[tuple[str, str, str], ToolCall]:
        """Return the open calls among those with these sessions, agents and ids of models."""
        sessions, ids = {one[0] for one in asked}, {one[2] for one in asked}
        where = (self.c.session_id.in_(sessions), self.c.call_id.in_(ids), self.c.ended_at.is_(None))
        found = self._sorted(*where, by=("id",)) if asked else ()
        return {(call.session_id, call.agent_path, call.call_id): call for call in found}

    def made_up_to(
        self, session_id: str, run_id: str | None, call_id: str, *, refusals: Collection[str]
    ) -> int:
        """Return how many calls of one tool a session has begun up to the open call `call_id`, itself
        included. Calls that ended with one of the codes `refusals` do not count."""
        its_own = (self.c.session_id == session_id, self.c.call_id == call_id, self.c.ended_at.is_(None))
        found = self._sorted(*its_own, self.c.started_at.is_not(None), by=("started_at", "id"))
        if not found:
            raise LookupError(f"the call {call_id} has not begun")
        # A call that has waited for a person belongs to an earlier run than the one that resumes it.
        own = next((call for call in reversed(found) if call.run_id == run_id), found[-1])
        began = self.c.started_at
        up_to = or_(began < own.started_at, and_(began == own.started_at, self.c.id <= own.id))
        counts = or_(self.c.error_code.is_(None), self.c.error_code.not_in(refusals))
        where = (self.c.session_id == session_id, self.c.name == own.name, up_to, counts)
        return int(
            self.connection.execute(select(func.count()).select_from(self.table).where(*where)).scalar_one()
        )

    def interrupt_direct(self, at: int, project_id: str | None = None) -> None:
        """End the operators' own calls that were under way when the daemon stopped, those of one project when
        given."""
        statement = update(self.table).where(self.c.run_id.is_(None), self.c.state.in_(_OPEN))
        if project_id is not None:
            sessions = table_of(Session)
            own = select(sessions.c.id).where(sessions.c.project_id == project_id)
            statement = statement.where(self.c.session_id.in_(own))
        self.connection.execute(statement.values(state="interrupted", error_code="aborted", ended_at=at))
