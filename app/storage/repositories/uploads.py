"""Queries about contents: texts by their digest, and uploads."""

from __future__ import annotations

import builtins
from collections.abc import Collection

from sqlalchemy import delete, select

from app.ids import now_ms
from app.storage.models import Blob, Upload
from app.storage.repositories.rows import Rows, RowsById, insert_or_keep
from app.storage.text import storable

_AT_ONCE = 500


class UploadRepository(RowsById[Upload]):
    model = Upload

    def of_user(self, used_by: str) -> builtins.list[Upload]:
        """Return the files of an issue, a session, an interaction or a workflow run, the oldest first."""
        return self._sorted(self.c.used_by == storable(used_by))

    def existing(self, ids: Collection[str]) -> set[str]:
        found: set[str] = set()
        wanted = sorted(ids)
        for start in range(0, len(wanted), _AT_ONCE):
            part = [storable(one) for one in wanted[start : start + _AT_ONCE]]
            found.update(self.connection.execute(select(self.c.id).where(self.c.id.in_(part))).scalars())
        return found

    def remove_unused(self, before: int) -> builtins.list[str]:
        """Delete rows that nothing uses and that were made before `before` (milliseconds), a limited
        number of them; return their ids."""
        statement = select(self.c.id).where(self.c.used_by.is_(None), self.c.created_at < before)
        ids = list(self.connection.execute(statement.order_by(self.c.created_at).limit(_AT_ONCE)).scalars())
        self.remove(ids)
        return ids

    def remove(self, ids: Collection[str]) -> None:
        """Delete the rows with these ids, at most 500 of them."""
        if ids:
            self.connection.execute(delete(self.table).where(self.c.id.in_([storable(one) for one in ids])))


class BlobRepository(Rows[Blob]):
    model = Blob

    def put(self, digest: str, media_type: str, content: bytes) -> None:
        """Store the content under its digest; nothing happens when it is there already."""
        insert_or_keep(
            self.connection,
            self.table,
            {"digest": digest, "media_type": media_type, "content": content, "created_at": now_ms()},
        )

    def get(self, digest: str) -> Blob | None:
        """Return the row of a digest; None when it was never stored."""
        return self._first(self.c.digest == digest)
