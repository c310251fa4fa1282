"""One unit of work: every repository, on one connection. A unit must let database errors pass.

Owns: putting the repositories together. Never: the end of a transaction (the writer commits, a reader rolls
back).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

from sqlalchemy import Connection

from app.observability import Redactor
from app.storage.engine import driver_of
from app.storage.repositories.access import AccessRepository
from app.storage.repositories.attempts import AttemptGroupRepository, AttemptRepository
from app.storage.repositories.audit import AuditRepository
from app.storage.repositories.checkpoints import CheckpointRepository
from app.storage.repositories.compactions import CompactionRepository
from app.storage.repositories.events import EventRepository
from app.storage.repositories.inbox import InboxRepository
from app.storage.repositories.interactions import InteractionRepository
from app.storage.repositories.issues import (
    IssueLinkRepository,
    IssueRepository,
    IssueTodoRepository,
    IssueUpdateRepository,
    TodoProposalRepository,
)
from app.storage.repositories.leases import LeaseRepository
from app.storage.repositories.logs import LogRepository
from app.storage.repositories.messages import MessageRepository
from app.storage.repositories.notifications import NotificationRepository
from app.storage.repositories.permissions import PermissionRuleRepository
from app.storage.repositories.plugin_values import PluginValueRepository
from app.storage.repositories.projects import ProjectRepository, ProjectTrustRepository
from app.storage.repositories.rollbacks import (
    PromptEditRepository,
    RevertRepository,
    RollbackRepository,
    WorktreeRepository,
)
from app.storage.repositories.runs import RunRepository
from app.storage.repositories.sessions import SessionRepository, TodoListRepository
from app.storage.repositories.tool_calls import ToolCallRepository
from app.storage.repositories.uploads import BlobRepository, UploadRepository
from app.storage.repositories.workflow_runs import WorkflowRunRepository
from app.storage.repositories.workspaces import WorkspaceRepository

R = TypeVar("R")


def _repository(kind: Callable[[Connection], R]) -> cached_property[R]:
    """Return the attribute that is one repository of a unit's connection."""
    return cached_property(lambda uow: kind(uow.connection))


class UnitOfWork:
    """The repositories of one connection; used inside the callables given to `Storage`."""

    projects = _repository(ProjectRepository)
    sessions = _repository(SessionRepository)
    messages = _repository(MessageRepository)
    runs = _repository(RunRepository)
    tool_calls = _repository(ToolCallRepository)
    checkpoints = _repository(CheckpointRepository)
    compactions = _repository(CompactionRepository)
    rollbacks = _repository(RollbackRepository)
    reverts = _repository(RevertRepository)
    prompt_edits = _repository(PromptEditRepository)
    worktrees = _repository(WorktreeRepository)
    plugin_values = _repository(PluginValueRepository)
    interactions = _repository(InteractionRepository)
    inbox = _repository(InboxRepository)
    permissions = _repository(PermissionRuleRepository)
    todos = _repository(TodoListRepository)
    events = _repository(EventRepository)
    logs = _repository(LogRepository)
    access = _repository(AccessRepository)
    blobs = _repository(BlobRepository)
    issues = _repository(IssueRepository)
    issue_updates = _repository(IssueUpdateRepository)
    issue_links = _repository(IssueLinkRepository)
    issue_todos = _repository(IssueTodoRepository)
    todo_proposals = _repository(TodoProposalRepository)
    uploads = _repository(UploadRepository)
    trust = _repository(ProjectTrustRepository)
    workflow_runs = _repository(WorkflowRunRepository)
    leases = _repository(LeaseRepository)
    workspaces = _repository(WorkspaceRepository)
    attempt_groups = _repository(AttemptGroupRepository)
    attempts = _repository(AttemptRepository)
    notifications = _repository(NotificationRepository)

    def __init__(self, connection: Connection, redactor: Redactor) -> None:
        self.connection = connection
        self._redactor = redactor

    @cached_property
    def audit(self) -> AuditRepository:
        return AuditRepository(self.connection, self._redactor)

    def release_space(self, pages: int = 1000) -> int:
        """Give up to so many pages of deleted rows back to the file system; return how many.

        In slices, so that the writer is not held for long. PostgreSQL does so by itself: 0."""
        if self.connection.dialect.name != "sqlite":
            return 0
        driver = driver_of(self.connection)
        (free,) = driver.execute("PRAGMA freelist_count").fetchone()
        for _ in range(min(pages, free)):
            # Python's driver steps this statement once, which frees one page, whatever it names.
            driver.execute("PRAGMA incremental_vacuum(1)")
        return min(pages, int(free))
