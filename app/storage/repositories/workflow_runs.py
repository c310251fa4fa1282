"""Queries about workflow runs."""

from __future__ import annotations

import builtins
from collections.abc import Iterable

from sqlalchemy import select

from app.storage.models import WorkflowRun
from app.storage.repositories.rows import RowsById
from app.storage.text import storable


class WorkflowRunRepository(RowsById[WorkflowRun]):
    model = WorkflowRun

    def in_states(self, states: Iterable[str]) -> builtins.list[WorkflowRun]:
        """Return the runs in any of these states, the oldest first."""
        statement = select(WorkflowRun).where(self.c.state.in_([storable(state) for state in states]))
        return self._all(statement.order_by(self.c.created_at, self.c.id))

    def of_session(self, session_id: str) -> WorkflowRun | None:
        """Return the run that works in a session."""
        return self._first(self.c.session_id == storable(session_id))
