"""What routes and commands are given.

Owns: the list of services. Never: building one (`lifespan`).
"""

from __future__ import annotations

from dataclasses import dataclass

from app.access.tokens import AccessControl
from app.config import Settings
from app.daemon.machine import Machine
from app.daemon.project_decisions import ProjectDecisions
from app.daemon.project_management import ProjectManagement
from app.harness.hooks.plugin_hooks import PluginHooks
from app.harness.projects.projects import ProjectRegistry
from app.harness.providers.router import ProviderRouter
from app.harness.sessions.session_manager import SessionManager
from app.harness.stream.event_hub import EventHub
from app.harness.transfer.transfer_import import SessionImports
from app.observability import Metrics, Redactor
from app.storage.storage import Storage
from app.tools.dispatch.registry import ToolRegistry


@dataclass(frozen=True, slots=True)
class Services:
    """Every service of one daemon."""

    settings: Settings
    storage: Storage
    projects: ProjectRegistry
    registry: ToolRegistry
    providers: ProviderRouter
    sessions: SessionManager
    imports: SessionImports
    events: EventHub
    access: AccessControl
    hooks: PluginHooks
    metrics: Metrics
    management: ProjectManagement
    decisions: ProjectDecisions
    redactor: Redactor
    machine: Machine
