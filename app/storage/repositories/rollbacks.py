"""Queries about rollbacks, prompts edited during a pause, and noted working trees."""

from __future__ import annotations

import builtins

from sqlalchemy import select

from app.storage.models import PromptEdit, Rollback, Worktree
from app.storage.pages import Page
from app.storage.repositories.rows import RowsById


class RollbackRepository(RowsById[Rollback]):
    model = Rollback

    def list(self, session_id: str, *, limit: int = 25, cursor: str | None = None) -> Page[Rollback]:
        """Return a page of a session's rollbacks, the newest first."""
        where = [self.c.session_id == session_id]
        return self._newest_first("rollbacks", where, limit=limit, cursor=cursor)

    def of_session(self, session_id: str) -> builtins.list[Rollback]:
        """Return every rollback of a session, the oldest first."""
        statement = select(Rollback).where(self.c.session_id == session_id)
        return self._all(statement.order_by(self.c.created_at, self.c.id))


class PromptEditRepository(RowsById[PromptEdit]):
    model = PromptEdit

    def of_session(self, session_id: str) -> builtins.list[PromptEdit]:
        """Return every edit of a session, the oldest first."""
        statement = select(PromptEdit).where(self.c.session_id == session_id)
        return self._all(statement.order_by(self.c.edited_at, self.c.id))

    def of_checkpoint(self, checkpoint_id: str) -> builtins.list[PromptEdit]:
        """Return the edits made at a checkpoint, the oldest first."""
        statement = select(PromptEdit).where(self.c.checkpoint_id == checkpoint_id)
        return self._all(statement.order_by(self.c.edited_at, self.c.id))


class WorktreeRepository(RowsById[Worktree]):
    model = Worktree

    def of_session(self, session_id: str) -> builtins.list[Worktree]:
        """Return the working trees noted for a session, the oldest first."""
        statement = select(Worktree).where(self.c.session_id == session_id)
        return self._all(statement.order_by(self.c.created_at, self.c.id))
