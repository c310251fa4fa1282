"""Queries about workflow runs."""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import func, select, update

from app.storage.models import WorkflowRun
from app.storage.pages import Page
from app.storage.repositories.rows import RowsById
from app.storage.text import storable, storable_values


@dataclass(frozen=True, slots=True)
class WaitingRun:
    """What decides about the turn of a run. Its inputs, which may be large, are not among it."""

    id: str
    project_id: str
    workflow: str
    created_at: int


class WorkflowRunRepository(RowsById[WorkflowRun]):
    model = WorkflowRun

    def list(
        self,
        *,
        project_id: str | None = None,
        workflow: str | None = None,
        state: str | None = None,
        issue_number: int | None = None,
        session_id: str | None = None,
        limit: int = 25,
        cursor: str | None = None,
    ) -> Page[WorkflowRun]:
        """Return a page of runs, the newest first."""
        where = self._equal(
            project_id=project_id,
            workflow=workflow,
            state=state,
            session_id=session_id,
            issue_number=issue_number,
        )
        return self._newest_first("workflow-runs", where, limit=limit, cursor=cursor)

    def in_states(self, states: Iterable[str]) -> builtins.list[WorkflowRun]:
        """Return the runs in any of these states, the oldest first."""
        return self._sorted(self.c.state.in_([storable(state) for state in states]))

    def waiting(self, state: str) -> builtins.list[WaitingRun]:
        """Return the runs in a state without what they carry, the oldest first."""
        columns = (self.c.id, self.c.project_id, self.c.workflow, self.c.created_at)
        statement = select(*columns).where(self.c.state == state).order_by(self.c.created_at, self.c.id)
        return [WaitingRun(*row) for row in self.connection.execute(statement)]

    def count_by_workflow(self, state: str) -> Counter[tuple[str, str]]:
        """Return how many runs are in a state, by project and workflow."""
        key = (self.c.project_id, self.c.workflow)
        statement = select(*key, func.count()).where(self.c.state == state).group_by(*key)
        return Counter({(row[0], row[1]): row[2] for row in self.connection.execute(statement)})

    def count_in_state(self, state: str, project_id: str, workflow: str, *, cause: str | None = None) -> int:
        """Count a workflow's runs in a state, those of one cause when it is given."""
        return self._count(self._equal(state=state, project_id=project_id, workflow=workflow, cause=cause))

    def move(self, run_id: str, before: str, /, **values: object) -> bool:
        """Set columns of a run that is in the state `before`; False when it is not (any more)."""
        statement = update(self.table).where(self.c.id == storable(run_id), self.c.state == before)
        return self.connection.execute(statement.values(storable_values(values))).rowcount > 0

    def of_session(self, session_id: str) -> WorkflowRun | None:
        return self._first(self.c.session_id == storable(session_id))

    def of_slot(self, project_id: str, workflow: str, slot: int) -> WorkflowRun | None:
        """Return the run that a schedule started for a time in milliseconds."""
        return self._first(*self._equal(project_id=project_id, workflow=workflow, slot=slot))
