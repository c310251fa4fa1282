"""Queries about checkpoints."""

from __future__ import annotations

import builtins

from sqlalchemy import select

from app.storage.models import Checkpoint
from app.storage.pages import Page
from app.storage.repositories.rows import RowsById


class CheckpointRepository(RowsById[Checkpoint]):
    model = Checkpoint

    def list(self, session_id: str, *, limit: int = 25, cursor: str | None = None) -> Page[Checkpoint]:
        """Return a page of a session's checkpoints, the newest first."""
        where = [self.c.session_id == session_id]
        return self._newest_first("checkpoints", where, limit=limit, cursor=cursor)

    def open(self, session_id: str) -> builtins.list[Checkpoint]:
        """Return the checkpoints neither resumed nor rolled back, the newest first."""
        statement = select(Checkpoint).where(
            self.c.session_id == session_id,
            self.c.resumed_at.is_(None),
            self.c.rolled_back.is_(False),
        )
        return self._all(statement.order_by(self.c.created_at.desc(), self.c.id.desc()))
