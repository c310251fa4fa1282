"""Composition of workspaces, the folders of their own in which sessions work.

Owns: what the service is given. Never: what it does.
"""

from __future__ import annotations

from collections.abc import Coroutine

from app.config import child_environment
from app.daemon.services import Services
from app.daemon.session_resources import SessionResources
from app.daemon.session_setup import Foundation
from app.harness.git.service import NOTES_FOLDER, ProjectGit
from app.harness.projects.projects import ProjectRegistry
from app.harness.stream.event_hub import EventHub
from app.harness.workspaces.branches import Branches
from app.harness.workspaces.creation import Creation
from app.harness.workspaces.hooked_merge import HookedMerge
from app.harness.workspaces.merging import Merging
from app.harness.workspaces.outfit import Outfit
from app.harness.workspaces.pins import Pins
from app.harness.workspaces.record import WorkspaceRecord
from app.harness.workspaces.service import Workspaces
from app.harness.workspaces.tools import Tools


def open_workspaces(
    base: Foundation, projects: ProjectRegistry, hub: EventHub, resources: SessionResources
) -> Workspaces:
    """Return the service; nothing is recovered or removed yet."""
    environment, settings, processes = child_environment(), base.settings, resources.processes
    notes = settings.daemon.data_dir / NOTES_FOLDER
    pins = Pins(processes, environment, notes)
    creation = Creation(processes, environment, pins)
    branches = Branches(processes, environment, pins)
    hooked = HookedMerge(ProjectGit(processes, environment, settings.daemon.data_dir), branches)
    merging = Merging(processes, environment, creation, branches, hooked, notes)
    record = WorkspaceRecord(base.storage, hub, projects.workspaces.learn)
    outfit = Outfit(record, processes, environment, base.redactor)
    data_dir, replicas = settings.daemon.data_dir, settings.storage.replicas
    tools = Tools(creation, merging, outfit, data_dir, resources.close_root, replicas)
    return Workspaces(record, projects, tools, settings.workspaces)


def tend_workspaces(services: Services) -> Coroutine[None, None, None]:
    """Return what removes workspaces that nobody needs, of the projects that are loaded here."""
    loaded = services.projects.find
    return services.management.folders.workspaces.look_forever(
        lambda project_id: loaded(project_id) is not None
    )
