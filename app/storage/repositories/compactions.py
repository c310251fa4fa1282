"""Queries about compactions."""

from __future__ import annotations

import builtins

from sqlalchemy import select

from app.storage.models import Compaction
from app.storage.pages import Page
from app.storage.repositories.rows import RowsById


class CompactionRepository(RowsById[Compaction]):
    model = Compaction

    def list(self, session_id: str, *, limit: int = 25, cursor: str | None = None) -> Page[Compaction]:
        """Return a page of a session's compactions, the newest first."""
        where = [self.c.session_id == session_id]
        return self._newest_first("compactions", where, limit=limit, cursor=cursor)

    def of_session(self, session_id: str) -> builtins.list[Compaction]:
        """Return every compaction of a session, the oldest first."""
        statement = select(Compaction).where(self.c.session_id == session_id)
        return self._all(statement.order_by(self.c.created_at, self.c.id))
