"""The folder in which a session works.

Owns: the one answer to which root is meant. Never: what is below it.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from app.errors import NotFound
from app.harness.projects.projects import ProjectRegistry
from app.storage.storage import Storage


class WorkingRoots:
    def __init__(self, projects: ProjectRegistry, storage: Storage) -> None:
        self._projects = projects
        self._storage = storage

    async def root_of(self, project_id: str, session_id: str | None = None) -> Path:
        """Return the real path of the project's folder, as the session sees it where one is named.

        Raises `NotFound`."""
        root = self._projects.root_of(project_id)
        if session_id is not None:
            session = await self._storage.read(lambda uow: uow.sessions.get(session_id))
            if session is None or session.project_id != project_id:
                raise NotFound(f"The project has no session {session_id}.")
        return Path(await asyncio.to_thread(os.path.realpath, root))
