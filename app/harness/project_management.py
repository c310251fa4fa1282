"""Composition of project management: issues and what belongs to them.

Owns: which services there are and what each is given. Never: what they do.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.config import Settings
from app.harness.event_hub import EventHub
from app.harness.issues.changes import IssueChanges
from app.harness.issues.service import IssueService
from app.harness.issues.todos import TodoService
from app.harness.uploads.service import UploadService
from app.observability import Redactor
from app.storage.storage import Storage


@dataclass(frozen=True, slots=True)
class ProjectManagement:
    """The services, made before the tools that use them."""

    issues: IssueService
    todos: TodoService
    uploads: UploadService

    @classmethod
    def of(cls, settings: Settings, storage: Storage, hub: EventHub, redactor: Redactor) -> ProjectManagement:
        changes = IssueChanges(storage, hub, redactor)
        uploads = UploadService(storage, settings.daemon.data_dir, max_bytes=settings.limits.max_upload_bytes)
        return cls(issues=IssueService(changes, uploads), todos=TodoService(changes), uploads=uploads)
