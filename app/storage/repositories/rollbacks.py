"""Queries about rollbacks, reverts, prompts edited during a pause, and noted working trees."""

from __future__ import annotations

from sqlalchemy import delete, select, text, update

from app.storage.models import PromptEdit, Revert, Rollback, Session, Worktree
from app.storage.repositories.rows import RowsById, RowsOfSession, table_of
from app.storage.text import storable

_EDITED = ("edited_at", "id")


class RollbackRepository(RowsOfSession[Rollback]):
    model = Rollback


class RevertRepository(RowsOfSession[Revert]):
    model = Revert

    def of_project(self, project_id: str) -> list[Revert]:
        """Return the reverts in all sessions of a project, the oldest first."""
        sessions = table_of(Session).c
        statement = select(Revert).join(table_of(Session), sessions.id == self.c.session_id)
        statement = statement.where(sessions.project_id == project_id)
        return self._all(statement.order_by(self.c.created_at, self.c.id))

    def under_way(self, project_id: str | None = None) -> list[Revert]:
        """Return the reverts and undos that have begun and not ended, of one project when given."""
        # Written out, not bound: only so the partial index applies.
        begun = text("under_way IS 1" if self.connection.dialect.name == "sqlite" else "under_way IS true")
        statement = select(Revert).where(begun)
        if project_id is not None:
            sessions = table_of(Session).c
            statement = statement.join(table_of(Session), sessions.id == self.c.session_id)
            statement = statement.where(sessions.project_id == project_id)
        return self._all(statement.order_by(self.c.created_at, self.c.id))

    def remove(self, revert_id: str) -> None:
        """Delete a revert that changed nothing."""
        self.connection.execute(delete(self.table).where(self.c.id == revert_id))


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
