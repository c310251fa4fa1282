"""Queries about attempts."""

from __future__ import annotations

import builtins
from collections.abc import Iterable

from sqlalchemy import delete, exists, select, update

from app.messages import Usage
from app.storage.models import Attempt, AttemptGroup, Session
from app.storage.pages import Page
from app.storage.repositories.rows import Rows, RowsById, table_of
from app.storage.text import storable, storable_values


class AttemptGroupRepository(RowsById[AttemptGroup]):
    model = AttemptGroup

    def list(self, project_id: str, *, limit: int = 25, cursor: str | None = None) -> Page[AttemptGroup]:
        """Return a page of a project's groups, the newest first."""
        where = self._equal(project_id=project_id)
        return self._newest_first("attempts", where, limit=limit, cursor=cursor)

    def in_states(self, states: Iterable[str]) -> builtins.list[AttemptGroup]:
        """Return every group in one of the states, the oldest first."""
        return self._sorted(self.c.state.in_(builtins.list(states)))

    def unfinished(self, states: Iterable[str]) -> builtins.list[AttemptGroup]:
        """As `in_states`, only those with a step that is under way."""
        return self._sorted(self.c.state.in_(builtins.list(states)), self.c.journal.is_not(None))

    def forget_project(self, project_id: str) -> None:
        """Delete a project's groups that have no attempts: their sessions were deleted by a daemon of the
        schema before."""
        attempt = table_of(Attempt)
        has_any = exists().where(attempt.c.group_id == self.c.id)
        of_project = self.c.project_id == storable(project_id)
        self.connection.execute(delete(self.table).where(of_project, ~has_any))


class AttemptRepository(Rows[Attempt]):
    model = Attempt

    def get(self, session_id: str) -> Attempt | None:
        """Return the attempt that a session is; None for any other session."""
        return self._first(self.c.session_id == storable(session_id))

    def of_groups(self, group_ids: Iterable[str]) -> builtins.list[Attempt]:
        """Return the attempts of some groups, by their numbers."""
        return self._sorted(self.c.group_id.in_(list(group_ids)), by=("group_id", "number"))

    def of_workflow_run(self, run_id: str) -> Attempt | None:
        """Return the attempt that a workflow run is; None for any other run."""
        return self._first(self.c.workflow_run_id == storable(run_id))

    def change(self, session_id: str, **values: object) -> bool:
        """Set columns of an attempt; False when there is none."""
        statement = update(self.table).where(self.c.session_id == storable(session_id))
        return self.connection.execute(statement.values(**storable_values(values))).rowcount > 0

    def used(self, group_id: str) -> tuple[Usage, float | None]:
        """Return the tokens of a group's sessions and what is known of their cost."""
        session = table_of(Session).c
        costs = [session[f"cost_{bucket}_usd"] for bucket in ("primary", "subagents", "compactor")]
        counts = [session[name] for name in Usage.model_fields]
        ours = session.id.in_(select(self.c.session_id).where(self.c.group_id == storable(group_id)))
        usage, known = Usage(), []
        for row in self.connection.execute(select(*costs, *counts).where(ours)):
            known += [cost for cost in row[:3] if cost is not None]
            usage = usage + Usage(**dict(zip(Usage.model_fields, row[3:], strict=True)))
        return usage, sum(known) if known else None

    def forget(self, session_id: str) -> None:
        """Remove the attempt that a deleted session was, and its group with the last one."""
        found = self.get(session_id)
        if found is None:
            return
        self.connection.execute(delete(self.table).where(self.c.session_id == found.session_id))
        if not self.of_groups([found.group_id]):
            group = table_of(AttemptGroup)
            self.connection.execute(delete(group).where(group.c.id == found.group_id))
