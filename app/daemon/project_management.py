"""Composition of project management: issues and what belongs to them, workflows, attempts, folders of
sessions.

Owns: which services there are and what each is given. Never: what they do.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.daemon.attempt_services import open_attempts
from app.daemon.folder_services import FolderServices
from app.daemon.session_setup import Foundation
from app.harness.attempts.service import Attempts
from app.harness.issues.changes import IssueChanges
from app.harness.issues.proposals import TodoProposals
from app.harness.issues.service import IssueService
from app.harness.issues.todos import TodoService
from app.harness.projects.projects import ProjectRegistry
from app.harness.providers.router import ProviderRouter
from app.harness.sessions.session_manager import SessionManager
from app.harness.stream.event_hub import EventHub
from app.harness.uploads.service import UploadService
from app.harness.workflows.assignment import Assignments
from app.harness.workflows.issue_progress import IssueProgress
from app.harness.workflows.runs import WorkflowRuns
from app.harness.workflows.service import WorkflowService


@dataclass(frozen=True, slots=True)
class IssueRecords:
    """What is stored of issues; sessions and their tools need it."""

    changes: IssueChanges
    uploads: UploadService
    todos: TodoService
    proposals: TodoProposals

    @classmethod
    def of(cls, base: Foundation, hub: EventHub) -> IssueRecords:
        settings, storage = base.settings, base.storage
        changes = IssueChanges(storage, hub, base.redactor)
        uploads = UploadService(storage, settings.daemon.data_dir, max_bytes=settings.limits.max_upload_bytes)
        todos = TodoService(changes)
        return cls(changes, uploads, todos, TodoProposals(todos, storage, hub))


@dataclass(frozen=True, slots=True)
class ProjectManagement:
    """Issues and workflows, which start sessions, and the folders in which these work."""

    issues: IssueService
    todos: TodoService
    proposals: TodoProposals
    uploads: UploadService
    workflows: WorkflowService
    assignments: Assignments
    progress: IssueProgress
    folders: FolderServices
    attempts: Attempts

    @classmethod
    def of(
        cls,
        base: Foundation,
        records: IssueRecords,
        hub: EventHub,
        projects: ProjectRegistry,
        sessions: SessionManager,
        folders: FolderServices,
        router: ProviderRouter,
    ) -> ProjectManagement:
        runs = WorkflowRuns(base.storage, hub, base.redactor, records.uploads)
        workflows = WorkflowService(runs, records.uploads, hub, projects, sessions, folders.workspaces)
        assignments = Assignments(workflows, sessions)
        issues = IssueService(records.changes, records.uploads, assignments)
        return cls(
            issues=issues,
            todos=records.todos,
            proposals=records.proposals,
            uploads=records.uploads,
            workflows=workflows,
            assignments=assignments,
            progress=IssueProgress(base.storage, hub, issues),
            folders=folders,
            attempts=open_attempts(base, hub, projects, router, sessions, workflows, folders),
        )

    async def start(self, sessions: SessionManager) -> None:
        """Take up what was under way; projects are restored, sessions recovered and not yet started."""
        await self.folders.start()
        await sessions.start()
        await self.workflows.start()
        await self.assignments.start()
        await self.attempts.start()

    async def take_up(self, sessions: SessionManager, project_id: str) -> None:
        """Take up what was under way in a project that another daemon owned; its sessions are recovered."""
        await self.folders.start(project_id)
        await sessions.go_on(project_id)
        await self.workflows.watch.take_up(project_id)
        await self.assignments.start(project_id)
        await self.attempts.start(project_id)

    async def aclose(self) -> None:
        """Begin nothing more; sessions are drained after it."""
        await self.workflows.aclose()
        await self.progress.aclose()
        await self.attempts.aclose()
        await self.folders.aclose()
