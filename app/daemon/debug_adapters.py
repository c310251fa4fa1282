"""What the project file and the local configuration say of debug adapters.

Owns: bringing both into the form of the bridge, and the bridge with them. Never: which of them holds; the
bridge knows the order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from app.bridges.dap.manager import DebugAdapters, Declarations, Declared
from app.bridges.processes.child_starter import ChildStarter
from app.bridges.pty.manager import TerminalManager
from app.config import DapAdapterSettings, DapSettings
from app.daemon.caged_agents import CagedAgents
from app.daemon.debug_terminals import DebugTerminals
from app.errors import KagedError
from app.harness.dsl.spec_sections import DapAdapter, DapSection
from app.harness.projects.projects import ProjectRegistry


class ProjectDebugAdapters:
    """What is declared for each loaded project."""

    def __init__(self, local: DapSettings, projects: ProjectRegistry) -> None:
        self._local = local
        self._projects = projects
        self._caged = CagedAgents(projects)

    def __call__(self, project_id: str) -> Declarations:
        declared = debug_declarations(self._section(project_id), self._local)
        return replace(declared, agents=self._caged(project_id))

    def _section(self, project_id: str) -> DapSection | None:
        try:
            return self._projects.compiled(project_id).dap
        except KagedError:
            return None  # it does not compile any more; what is debugged goes on as the local config says


def debug_adapters(
    children: ChildStarter,
    terminals: TerminalManager,
    local: DapSettings,
    projects: ProjectRegistry,
    *,
    environment: Mapping[str, str],
    record: Callable[[str, str, dict[str, Any]], None],
) -> DebugAdapters:
    """Return the daemon's debug adapters."""
    declared = ProjectDebugAdapters(local, projects)
    return DebugAdapters(
        children, DebugTerminals(terminals), environment=environment, declared=declared, record=record
    )


def debug_declarations(project: DapSection | None, local: DapSettings) -> Declarations:
    """Return the adapters that both declare; without a project only the local ones."""
    in_project = project.adapters if project is not None else ()
    return Declarations(
        project=tuple(_declared(one.runtime, one) for one in in_project),
        local=tuple(_declared(runtime, one) for runtime, one in local.adapters.items()),
    )


def _declared(runtime: str, one: DapAdapter | DapAdapterSettings) -> Declared:
    return Declared(
        runtime=runtime,
        command=tuple(one.command or ()),
        adapter=tuple(one.adapter) if one.adapter is not None else None,
        type=one.type,
        launch=one.launch,
    )
