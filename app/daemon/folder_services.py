"""Composition of what clients see and do of the folders in which sessions work.

Owns: what these services are given, and that they start and end together. Never: what they do.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.daemon.session_resources import SessionResources
from app.daemon.session_setup import Foundation
from app.harness.files.service import ProjectFileViews
from app.harness.projects.projects import ProjectRegistry
from app.harness.workspaces.service import Workspaces


@dataclass(frozen=True, slots=True)
class FolderServices:
    """The files of projects, and the folders of their own of sessions."""

    workspaces: Workspaces
    files: ProjectFileViews

    @classmethod
    def of(
        cls, base: Foundation, projects: ProjectRegistry, resources: SessionResources, workspaces: Workspaces
    ) -> FolderServices:
        """Return the services; nothing is started yet."""
        files = resources.code.file_views(projects, base.storage, resources.processes)
        return cls(workspaces, files)

    async def aclose(self) -> None:
        """Begin nothing more."""
        await self.workspaces.aclose()
        await self.files.aclose()
