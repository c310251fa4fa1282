"""The table definitions: one file for each noun, the only source of the schema."""

from app.storage.models.access import AccessToken, IdempotencyKey
from app.storage.models.audit import AuditEvent
from app.storage.models.blobs import Blob
from app.storage.models.checkpoints import Checkpoint
from app.storage.models.compactions import Compaction
from app.storage.models.events import Event
from app.storage.models.interactions import Interaction
from app.storage.models.issues import Issue, IssueLink, IssueTodo, IssueUpdate, TodoProposal
from app.storage.models.logs import LogEntry
from app.storage.models.messages import Message
from app.storage.models.permissions import PermissionRuleRow
from app.storage.models.plugin_storage import PluginValue
from app.storage.models.projects import Project
from app.storage.models.rollbacks import PromptEdit, Rollback, Worktree
from app.storage.models.runs import Run, Step, ToolCall
from app.storage.models.sessions import Session
from app.storage.models.todos import TodoList
from app.storage.models.uploads import Upload
from app.storage.models.workflows import WorkflowRun

__all__ = [
    "AccessToken",
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
    "PermissionRuleRow",
    "PluginValue",
    "Project",
    "PromptEdit",
    "Rollback",
    "Run",
    "Session",
    "Step",
    "TodoList",
    "TodoProposal",
    "ToolCall",
    "Upload",
    "WorkflowRun",
    "Worktree",
]
