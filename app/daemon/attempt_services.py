"""Composition of attempts: several sessions that do the same, of which one is picked.

Owns: what the service is given. Never: what it does.
"""

from __future__ import annotations

from app.daemon.folder_services import FolderServices
from app.daemon.session_setup import Foundation
from app.harness.attempts.checks import Checks
from app.harness.attempts.following import Following
from app.harness.attempts.picking import Picking
from app.harness.attempts.record import AttemptRecord
from app.harness.attempts.service import Attempts
from app.harness.attempts.starting import Starting
from app.harness.projects.projects import ProjectRegistry
from app.harness.providers.router import ProviderRouter
from app.harness.sessions.session_manager import SessionManager
from app.harness.stream.event_hub import EventHub
from app.harness.workflows.service import WorkflowService


def open_attempts(
    base: Foundation,
    hub: EventHub,
    projects: ProjectRegistry,
    router: ProviderRouter,
    sessions: SessionManager,
    workflows: WorkflowService,
    folders: FolderServices,
) -> Attempts:
    """Return the service; nothing that was under way is taken up yet."""
    workspaces, most = folders.workspaces, base.settings.workspaces.max_attempts
    record = AttemptRecord(base.storage, hub)
    checks = Checks(record, workspaces, base.redactor)
    return Attempts(
        record,
        Starting(base.storage, projects, router, sessions, workspaces, workflows, most),
        Following(hub, record, checks),
        checks,
        Picking(record, sessions, workspaces, workflows, checks),
        folders.changes.list,
        sessions,
    )
