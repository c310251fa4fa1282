"""Composition of project management: issues and what belongs to them.

Owns: which services there are and what each is given. Never: what they do.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.config import Settings
from app.harness.issues.agent_issues import AgentIssues
from app.harness.issues.changes import IssueChanges
from app.harness.issues.proposals import TodoProposals
from app.harness.issues.service import IssueService
from app.harness.issues.todos import TodoService
from app.harness.projects.projects import ProjectRegistry
from app.harness.sessions.session_manager import SessionManager
from app.harness.stream.event_hub import EventHub
from app.harness.uploads.service import UploadService
from app.harness.workflows.assignment import Assignments
from app.harness.workflows.issue_progress import IssueProgress
from app.harness.workflows.runs import WorkflowRuns
from app.harness.workflows.service import WorkflowService
from app.harness.workflows.tool_port import WorkflowTools
from app.observability import Redactor
from app.storage.storage import Storage


@dataclass(frozen=True, slots=True)
class ProjectManagement:
    """The services, made before the tools that use them."""

    issues: IssueService
    agent_issues: AgentIssues
    todos: TodoService
    proposals: TodoProposals
    uploads: UploadService
    workflows: WorkflowService
    agent_workflows: WorkflowTools
    progress: IssueProgress

    @classmethod
    def of(cls, settings: Settings, storage: Storage, hub: EventHub, redactor: Redactor) -> ProjectManagement:
        changes = IssueChanges(storage, hub, redactor)
        uploads = UploadService(storage, settings.daemon.data_dir, max_bytes=settings.limits.max_upload_bytes)
        issues, todos = IssueService(changes, uploads), TodoService(changes)
        workflows = WorkflowService(WorkflowRuns(storage, hub, redactor, uploads), uploads)
        return cls(
            issues=issues,
            agent_issues=AgentIssues(issues, uploads),
            todos=todos,
            proposals=TodoProposals(todos, storage),
            uploads=uploads,
            workflows=workflows,
            agent_workflows=WorkflowTools(workflows),
            progress=IssueProgress(storage, hub, issues),
        )

    async def start(self, hub: EventHub, projects: ProjectRegistry, sessions: SessionManager) -> None:
        """Take up what was under way; projects are restored, sessions recovered and not yet started."""
        self.workflows.attach(hub, projects, sessions)
        assignments = Assignments(self.workflows, sessions)
        self.issues.assign_to(assignments)
        await sessions.start()
        await self.workflows.start()
        await assignments.start()

    async def aclose(self) -> None:
        """Begin nothing more; sessions are drained after it."""
        await self.workflows.aclose()
        await self.progress.aclose()
