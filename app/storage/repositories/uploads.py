"""Queries about uploads."""

from __future__ import annotations

import builtins

from sqlalchemy import select

from app.storage.models import Upload
from app.storage.repositories.rows import RowsById
from app.storage.text import storable


class UploadRepository(RowsById[Upload]):
    model = Upload

    def of_user(self, used_by: str) -> builtins.list[Upload]:
        """Return the files that belong to an issue, an interaction or a workflow run, the oldest first."""
        statement = select(Upload).where(self.c.used_by == storable(used_by))
        return self._all(statement.order_by(self.c.created_at, self.c.id))
