"""Composition of what clients see and do of the folders in which sessions work.

Owns: what these services are given, and that they start and end together. Never: what they do.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.config import child_environment
from app.daemon.session_resources import SessionResources
from app.daemon.session_setup import Foundation
from app.harness.changes.line_endings import LineEndings
from app.harness.changes.news import ChangeNews
from app.harness.changes.reverting import Reverts
from app.harness.changes.service import Changes
from app.harness.files.problems import ProblemViews
from app.harness.files.service import ProjectFileViews
from app.harness.files.symbols import ProjectSymbols
from app.harness.git.service import ProjectGit
from app.harness.projects.machine_folders import MachineFolders
from app.harness.projects.projects import ProjectRegistry
from app.harness.sessions.session_tasks import SessionTasks
from app.harness.stream.event_hub import EventHub
from app.harness.workspaces.service import Workspaces


@dataclass(frozen=True, slots=True)
class FileChanges:
    """What sessions changed in files, taking it back, and the events of it."""

    list: Changes
    reverts: Reverts
    news: ChangeNews

    @classmethod
    def of(
        cls,
        base: Foundation,
        hub: EventHub,
        projects: ProjectRegistry,
        resources: SessionResources,
        tasks: SessionTasks,
    ) -> FileChanges:
        notes = resources.notes
        endings = LineEndings(resources.processes, child_environment())
        changes = Changes(base.storage, projects, notes, resources.code.watches, endings)
        reverts = Reverts(changes, base.storage, notes.worktrees, tasks)
        return cls(changes, reverts, ChangeNews(changes, hub))

    async def aclose(self) -> None:
        await self.news.aclose()
        self.list.aclose()


@dataclass(frozen=True, slots=True)
class FolderServices:
    """What can be done with folders: the files of projects, what is wrong in them and what they declare, what
    sessions changed in them, workspaces, repositories, and the folders that may become projects."""

    workspaces: Workspaces
    files: ProjectFileViews
    problems: ProblemViews
    symbols: ProjectSymbols
    changes: FileChanges
    git: ProjectGit
    machine: MachineFolders

    @classmethod
    async def open(
        cls,
        base: Foundation,
        hub: EventHub,
        projects: ProjectRegistry,
        resources: SessionResources,
        workspaces: Workspaces,
        tasks: SessionTasks,
    ) -> FolderServices:
        """Return the services; nothing that was under way is taken up yet."""
        code = resources.code
        files, problems = code.file_views(projects, base.storage, resources.processes)
        symbols = code.project_symbols(projects, base.storage, resources.processes)
        changes = FileChanges.of(base, hub, projects, resources, tasks)
        git = ProjectGit(resources.processes, child_environment(), base.settings.daemon.data_dir)
        await git.start()
        machine = MachineFolders(resources.processes.closed)
        return cls(workspaces, files, problems, symbols, changes, git, machine)

    async def start(self, project_id: str | None = None) -> None:
        """Know where sessions work, and end what was under way; in one project when given."""
        await self.workspaces.know(project_id)
        await self.changes.reverts.settle(project_id)

    async def aclose(self) -> None:
        """Begin nothing more."""
        await self.changes.aclose()
        await self.workspaces.aclose()
        await self.files.aclose()
