"""Queries about checkpoints."""

from __future__ import annotations

from sqlalchemy import ColumnElement, and_, delete, not_, select

from app.storage.models import Checkpoint
from app.storage.repositories.rows import RowsOfSession


class CheckpointRepository(RowsOfSession[Checkpoint]):
    model = Checkpoint

    def open(self, session_id: str) -> list[Checkpoint]:
        """Return the checkpoints neither resumed nor rolled back nor taken back, the newest first."""
        statement = select(Checkpoint).where(self.c.session_id == session_id, self._is_open())
        return self._all(statement.order_by(self.c.created_at.desc(), self.c.id.desc()))

    def prune(self, session_id: str, keep: int) -> int:
        """Delete the oldest checkpoints until `keep` are left; one that is open stays, however many
        there are. Returns how many were deleted."""
        newest = (
            select(self.c.id)
            .where(self.c.session_id == session_id)
            .order_by(self.c.created_at.desc(), self.c.id.desc())
            .limit(keep)
        )
        old = delete(self.table).where(
            self.c.session_id == session_id, self.c.id.not_in(newest), not_(self._is_open())
        )
        return self.connection.execute(old).rowcount

    def _is_open(self) -> ColumnElement[bool]:
        return and_(
            self.c.resumed_at.is_(None), self.c.rolled_back.is_(False), self.c.superseded_by.is_(None)
        )
