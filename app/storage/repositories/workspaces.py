"""Queries about workspaces."""

from __future__ import annotations

import builtins
from collections.abc import Iterable

from sqlalchemy import delete, func, select

from app.storage.models import Workspace
from app.storage.pages import Page
from app.storage.repositories.rows import RowsById
from app.storage.text import storable


class WorkspaceRepository(RowsById[Workspace]):
    model = Workspace

    def list(
        self,
        project_id: str,
        *,
        states: Iterable[str] | None = None,
        limit: int = 25,
        cursor: str | None = None,
    ) -> Page[Workspace]:
        """Return a page of a project's workspaces, the newest first; in some states when given."""
        where = self._equal(project_id=project_id)
        where += [self.c.state.in_(builtins.list(states))] if states is not None else []
        return self._newest_first("workspaces", where, limit=limit, cursor=cursor)

    def of_session(self, session_id: str) -> Workspace | None:
        """Return the workspace of a session, which may be deleted by now; None for one that worked in the
        project's own folder."""
        return self._first(self.c.session_id == storable(session_id), self.c.run_id.is_(None))

    def of_subagents(self, session_id: str) -> builtins.list[Workspace]:
        """Return the workspaces of a session's subagents whose folders are not removed, the oldest first."""
        where = (self.c.session_id == session_id, self.c.run_id.is_not(None), self.c.removed_at.is_(None))
        return self._sorted(*where)

    def in_states(self, states: Iterable[str]) -> builtins.list[Workspace]:
        """Return every workspace in one of the states, the oldest first."""
        return self._sorted(self.c.state.in_(builtins.list(states)))

    def with_folder(self, project_id: str | None = None) -> builtins.list[Workspace]:
        """Return every workspace whose folder is not removed, the oldest first; of one project when given."""
        return self._sorted(self.c.removed_at.is_(None), *self._equal(project_id=project_id))

    def forget_project(self, project_id: str) -> None:
        """Delete the rows of a project's workspaces whose folders are removed."""
        of_project = self.c.project_id == storable(project_id)
        self.connection.execute(delete(self.table).where(of_project, self.c.removed_at.is_not(None)))

    def bytes_held(self) -> int:
        """Return the size of all workspaces whose folder is not removed."""
        held = select(func.coalesce(func.sum(self.c.size_bytes), 0)).where(self.c.removed_at.is_(None))
        return int(self._scalar(held))
