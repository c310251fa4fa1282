"""What an operator decides about a loaded project, and what follows from it at once.

Owns: beginning what waited for trust, ending what runs when it is taken away, and what goes along when a
project's folder was moved. Never: judging versions (`project_trust`), or how anything is ended.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from app.bridges.lsp.manager import LanguageServers
from app.daemon.forwarding import Forwarding
from app.daemon.ownership import Ownership
from app.daemon.project_management import ProjectManagement
from app.errors import Conflict
from app.harness.hooks.plugin_hooks import PluginHooks
from app.harness.projects.loaded_project import LoadedProject
from app.harness.projects.project_loader import ProjectLoader
from app.harness.sessions.session_manager import SessionManager


@dataclass(frozen=True, slots=True)
class ProjectDecisions:
    loader: ProjectLoader
    sessions: SessionManager
    management: ProjectManagement
    hooks: PluginHooks
    languages: LanguageServers
    carry: Callable[[str, Path, Path], Awaitable[None]]
    """Takes along what is kept of a project by its root, which is moved from one to another."""
    ownership: Ownership | None = None
    """Where several daemons share the database: which projects are this one's."""
    forwarding: Forwarding | None = None
    """Where several daemons share the database: the way to the others."""

    async def grant(self, project_id: str, digest: str, *, always: bool = False, actor: str) -> LoadedProject:
        """Let the version of a project that `digest` names act, and begin the runs that waited for it.

        Raises `NotFound`, `Conflict` (`project_changed`), `ProjectFileInvalid`."""
        project = await self.loader.trust(project_id, digest, always=always, actor=actor)
        await self.management.workflows.watch.serve()
        return project

    async def withdraw(self, project_id: str, *, actor: str) -> LoadedProject:
        """Let nothing of a project act any more: its runs are cancelled, its checks, plugins and servers end.

        Raises `NotFound`, `Conflict` (`trusted_by_settings`)."""
        project = await self.loader.distrust(project_id, actor=actor)
        await self.sessions.stop_project(project_id, actor)
        await self.management.attempts.stop_checks(project_id)
        await self.hooks.end_project(project_id)
        await self.languages.close_project(project_id)
        return project

    async def move(self, project_id: str, folder: str, *, actor: str) -> LoadedProject:
        """Go on with a project whose folder was moved: sessions, issues, trust and notes of files stay.

        Raises `NotFound`, `ProjectFileInvalid`, `Conflict` (`project_busy`, `project_exists`)."""
        working = self.sessions.working_in(project_id)
        if working:
            raise Conflict(
                f"Sessions of the project work: {', '.join(working[:3])}. Stop them, then move it.",
                reason="project_busy",
                details={"sessions": working},
            )
        await self.hooks.end_project(project_id)
        await self.languages.close_project(project_id)
        return await self.loader.move(project_id, folder, partial(self.carry, project_id), actor=actor)
