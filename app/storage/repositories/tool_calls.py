"""Queries about tool calls."""

from __future__ import annotations

from sqlalchemy import select

from app.storage.models import ToolCall
from app.storage.repositories.rows import RowsById


class ToolCallRepository(RowsById[ToolCall]):
    model = ToolCall

    def for_run(self, run_id: str) -> list[ToolCall]:
        """Return the calls of a run in the order asked."""
        statement = select(ToolCall).where(self.c.run_id == run_id)
        return self._all(statement.order_by(self.c.step, self.c.id))

    def unfinished(self, session_id: str) -> list[ToolCall]:
        """Return the calls that are pending or running, in the order asked."""
        statement = select(ToolCall).where(
            self.c.session_id == session_id, self.c.state.in_(("pending", "running"))
        )
        return self._all(statement.order_by(self.c.run_id, self.c.step, self.c.id))
