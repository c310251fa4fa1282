"""The table definitions: one file for each noun, the only source of the schema."""

from app.storage.models.access import AccessToken, IdempotencyKey, PermissionRuleRow
from app.storage.models.attempts import Attempt, AttemptGroup
from app.storage.models.audit import AuditEvent, LogEntry
from app.storage.models.compactions import Compaction
from app.storage.models.interactions import Interaction
from app.storage.models.issues import Issue, IssueLink, IssueTodo, IssueUpdate, TodoProposal
from app.storage.models.leases import ProjectLease
from app.storage.models.messages import Message, MessageDetails
from app.storage.models.notifications import Notification
from app.storage.models.projects import Blob, PluginValue, Project, ProjectTrust, Upload
from app.storage.models.rollbacks import Checkpoint, PromptEdit, Revert, Rollback, Worktree
from app.storage.models.runs import Run, Step, ToolCall
from app.storage.models.sessions import Event, Session, TodoList
from app.storage.models.workflows import WorkflowRun
from app.storage.models.workspaces import Workspace

__all__ = [
    "AccessToken",
    "Attempt",
    "AttemptGroup",
    "AuditEvent",
    "Blob",
    "Checkpoint",
    "Compaction",
    "Event",
    "IdempotencyKey",
    "Interaction",
    "Issue",
    "IssueLink",
    "IssueTodo",
    "IssueUpdate",
    "LogEntry",
    "Message",
    "MessageDetails",
    "Notification",
    "PermissionRuleRow",
    "PluginValue",
    "Project",
    "ProjectLease",
    "ProjectTrust",
    "PromptEdit",
    "Revert",
    "Rollback",
    "Run",
    "Session",
    "Step",
    "TodoList",
    "TodoProposal",
    "ToolCall",
    "Upload",
    "WorkflowRun",
    "Workspace",
    "Worktree",
]
