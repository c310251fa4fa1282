"""What one unit of work may touch: every repository, on one connection.

Owns: putting the repositories together. Never: the end of a transaction; the writer commits a
group of units, a reader rolls back. A unit lets database errors pass: one that swallows them
would go on in a transaction that PostgreSQL has given up.
"""

from __future__ import annotations

from functools import cached_property

from sqlalchemy import Connection

from app.observability import Redactor
from app.storage.engine import driver_of
from app.storage.repositories.access import AccessRepository
from app.storage.repositories.audit import AuditRepository
from app.storage.repositories.blobs import BlobRepository
from app.storage.repositories.checkpoints import CheckpointRepository
from app.storage.repositories.compactions import CompactionRepository
from app.storage.repositories.events import EventRepository
from app.storage.repositories.interactions import InteractionRepository
from app.storage.repositories.issues import (
    IssueLinkRepository,
    IssueRepository,
    IssueTodoRepository,
    IssueUpdateRepository,
    TodoProposalRepository,
)
from app.storage.repositories.logs import LogRepository
from app.storage.repositories.messages import MessageRepository
from app.storage.repositories.permissions import PermissionRuleRepository
from app.storage.repositories.plugin_values import PluginValueRepository
from app.storage.repositories.projects import ProjectRepository
from app.storage.repositories.rollbacks import (
    PromptEditRepository,
    RollbackRepository,
    WorktreeRepository,
)
from app.storage.repositories.runs import RunRepository
from app.storage.repositories.sessions import SessionRepository
from app.storage.repositories.todos import TodoListRepository
from app.storage.repositories.tool_calls import ToolCallRepository
from app.storage.repositories.uploads import UploadRepository
from app.storage.repositories.workflow_runs import WorkflowRunRepository


class UnitOfWork:
    """The repositories of one connection; used inside the callables given to `Storage`."""

    def __init__(self, connection: Connection, redactor: Redactor) -> None:
        self.connection = connection
        self._redactor = redactor

    @cached_property
    def projects(self) -> ProjectRepository:
        return ProjectRepository(self.connection)

    @cached_property
    def sessions(self) -> SessionRepository:
        return SessionRepository(self.connection)

    @cached_property
    def messages(self) -> MessageRepository:
        return MessageRepository(self.connection)

    @cached_property
    def runs(self) -> RunRepository:
        return RunRepository(self.connection)

    @cached_property
    def tool_calls(self) -> ToolCallRepository:
        return ToolCallRepository(self.connection)

    @cached_property
    def checkpoints(self) -> CheckpointRepository:
        return CheckpointRepository(self.connection)

    @cached_property
    def compactions(self) -> CompactionRepository:
        return CompactionRepository(self.connection)

    @cached_property
    def rollbacks(self) -> RollbackRepository:
        return RollbackRepository(self.connection)

    @cached_property
    def prompt_edits(self) -> PromptEditRepository:
        return PromptEditRepository(self.connection)

    @cached_property
    def worktrees(self) -> WorktreeRepository:
        return WorktreeRepository(self.connection)

    @cached_property
    def plugin_values(self) -> PluginValueRepository:
        return PluginValueRepository(self.connection)

    @cached_property
    def interactions(self) -> InteractionRepository:
        return InteractionRepository(self.connection)

    @cached_property
    def permissions(self) -> PermissionRuleRepository:
        return PermissionRuleRepository(self.connection)

    @cached_property
    def todos(self) -> TodoListRepository:
        return TodoListRepository(self.connection)

    @cached_property
    def events(self) -> EventRepository:
        return EventRepository(self.connection)

    @cached_property
    def audit(self) -> AuditRepository:
        return AuditRepository(self.connection, self._redactor)

    @cached_property
    def logs(self) -> LogRepository:
        return LogRepository(self.connection)

    @cached_property
    def access(self) -> AccessRepository:
        return AccessRepository(self.connection)

    @cached_property
    def blobs(self) -> BlobRepository:
        return BlobRepository(self.connection)

    @cached_property
    def issues(self) -> IssueRepository:
        return IssueRepository(self.connection)

    @cached_property
    def issue_updates(self) -> IssueUpdateRepository:
        return IssueUpdateRepository(self.connection)

    @cached_property
    def issue_links(self) -> IssueLinkRepository:
        return IssueLinkRepository(self.connection)

    @cached_property
    def issue_todos(self) -> IssueTodoRepository:
        return IssueTodoRepository(self.connection)

    @cached_property
    def todo_proposals(self) -> TodoProposalRepository:
        return TodoProposalRepository(self.connection)

    @cached_property
    def uploads(self) -> UploadRepository:
        return UploadRepository(self.connection)

    @cached_property
    def workflow_runs(self) -> WorkflowRunRepository:
        return WorkflowRunRepository(self.connection)

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
