"""Queries about rollbacks, prompts edited during a pause, and noted working trees."""

from __future__ import annotations

from sqlalchemy import delete, select, update

from app.storage.models import PromptEdit, Rollback, Session, Worktree
from app.storage.repositories.rows import RowsById, RowsOfSession, table_of
from app.storage.text import storable

_EDITED = ("edited_at", "id")


class RollbackRepository(RowsOfSession[Rollback]):
    model = Rollback


class PromptEditRepository(RowsById[PromptEdit]):
    model = PromptEdit

    def of_session(self, session_id: str) -> list[PromptEdit]:
        """Return every edit of a session, the oldest first."""
        return self._sorted(self.c.session_id == session_id, by=_EDITED)

    def not_applied(self, session_id: str) -> list[PromptEdit]:
        """Return the edits of a session that do not hold yet, the oldest first."""
        return self._sorted(self.c.session_id == session_id, self.c.applied_at.is_(None), by=_EDITED)

    def apply(self, session_id: str, at: int) -> None:
        """Let every edit of a session hold from now on; `at` is milliseconds."""
        statement = update(self.table).where(self.c.session_id == session_id, self.c.applied_at.is_(None))
        self.connection.execute(statement.values(applied_at=at))

    def remove(self, session_id: str, target: str) -> int:
        """Delete every edit of an agent's prompt in a session; return how many there were."""
        statement = delete(self.table).where(
            self.c.session_id == session_id, self.c.target == storable(target)
        )
        return self.connection.execute(statement).rowcount

    def of_checkpoint(self, checkpoint_id: str) -> list[PromptEdit]:
        return self._sorted(self.c.checkpoint_id == checkpoint_id, by=_EDITED)


class WorktreeRepository(RowsOfSession[Worktree]):
    model = Worktree

    def of_root(self, project_id: str, workspace_id: str | None) -> list[Worktree]:
        """Return what is noted for all sessions that work in a workspace of a project, or, with None, in its
        own folder; the oldest first."""
        sessions = table_of(Session).c
        statement = (
            select(Worktree)
            .join(table_of(Session), sessions.id == self.c.session_id)
            .where(sessions.project_id == project_id, self.c.tree.is_not(None))
            .where(sessions.workspace_id.is_not_distinct_from(workspace_id))
        )
        return self._all(statement.order_by(self.c.created_at, self.c.id))

    def of_checkpoint(self, session_id: str, checkpoint_id: str) -> Worktree | None:
        """Return what was noted at a checkpoint of a session, or None."""
        return self._first(self.c.session_id == session_id, self.c.checkpoint_id == checkpoint_id)
