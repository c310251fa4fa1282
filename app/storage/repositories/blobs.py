"""Queries about content-addressed texts."""

from __future__ import annotations

from app.ids import now_ms
from app.storage.models import Blob
from app.storage.repositories.rows import Rows
from app.storage.repositories.upsert import insert_or_keep


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
