"""The root of the files that a client asks for: a project's, or that of one of its sessions.

Owns: whether the session is one of the project. Never: where a session works (`projects.session_roots`).
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

    async def named(self, project_id: str, session_id: str | None = None) -> Path:
        """Return the folder as the tools of agents name it. Raises as `root_of` does."""
        root = self._projects.root_of(project_id)
        if session_id is None:
            return root
        session = await self._storage.read(lambda uow: uow.sessions.get(session_id))
        if session is None or session.project_id != project_id:
            raise NotFound(f"The project has no session {session_id}.")
        return self._projects.root_of_session(session).path

    async def root_of(self, project_id: str, session_id: str | None = None) -> Path:
        """Return the real path of the project's folder, or of the folder in which the named session works.

        Raises `NotFound`, and `Conflict` when a workspace is not there."""
        root = await self.named(project_id, session_id)
        return Path(await asyncio.to_thread(os.path.realpath, root))
