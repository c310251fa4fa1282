"""The files of a message: uploads that a session owns, put where its agents read them.

Owns: what a message says of its files. Never: receiving a file (`uploads`), or posting (`session`).
"""

from __future__ import annotations

from collections.abc import Sequence

from app.errors import NotFound
from app.harness.projects.projects import ProjectRegistry
from app.harness.uploads.service import UploadService
from app.storage.models import Session, Upload
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork


class MessageFiles:
    """Those of all sessions."""

    def __init__(self, storage: Storage, projects: ProjectRegistry, uploads: UploadService) -> None:
        self._storage = storage
        self._projects = projects
        self._uploads = uploads

    async def named_in(self, session_id: str, content: str, upload_ids: Sequence[str]) -> str:
        """Give uploads to a session and copy them into the folder where it works; return the text with their
        paths below it. May be repeated.

        Raises `NotFound`, `ValidationFailed` by upload, and `Conflict` when that folder is not there yet."""
        if not upload_ids:
            return content

        def claim(uow: UnitOfWork) -> tuple[Session, list[Upload]]:
            row = uow.sessions.get(session_id)
            if row is None:
                raise NotFound(f"There is no session {session_id}.")
            return row, self._uploads.claim(uow, upload_ids, row.project_id, row.id)

        row, files = await self._storage.write(claim, durable=True)
        root = self._projects.root_of_session(row).path
        paths = [await self._uploads.place(file, root, row.id) for file in files]
        return "\n".join([content, "", "Attached files:", *(f"- {path}" for path in paths)])
