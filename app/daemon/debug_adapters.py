"""What the project file and the local configuration say of debug adapters.

Owns: bringing both into the form of the bridge, and the bridge with them. Never: which of them holds; the
bridge knows the order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.bridges.child_starter import ChildStarter
from app.bridges.dap.manager import DebugAdapters, Declarations, Declared
from app.bridges.pty.manager import TerminalManager
from app.config import DapAdapterSettings, DapSettings
from app.errors import KagedError
from app.harness.debug_terminals import DebugTerminals
from app.harness.dsl.spec_sections import DapAdapter, DapSection
from app.harness.projects import ProjectRegistry


class ProjectDebugAdapters:
    """What is declared for each loaded project. The registry of projects comes later than the tools
    that ask here, so it is attached."""

    def __init__(self, local: DapSettings) -> None:
        self._local = local
        self._projects: ProjectRegistry | None = None

    def attach(self, projects: ProjectRegistry) -> None:
        self._projects = projects

    def __call__(self, project_id: str) -> Declarations:
        return debug_declarations(self._section(project_id), self._local)

    def _section(self, project_id: str) -> DapSection | None:
        try:
            return self._projects.compiled(project_id).dap if self._projects is not None else None
        except KagedError:
            return None  # it does not compile any more; what is debugged goes on as the local config says


def debug_adapters(
    children: ChildStarter,
    terminals: TerminalManager,
    local: DapSettings,
    *,
    environment: Mapping[str, str],
    record: Callable[[str, str, dict[str, Any]], None],
) -> tuple[DebugAdapters, ProjectDebugAdapters]:
    """Return the daemon's debug adapters, and what the registry of projects is to be attached to."""
    declared = ProjectDebugAdapters(local)
    adapters = DebugAdapters(
        children, DebugTerminals(terminals), environment=environment, declared=declared, record=record
    )
    return adapters, declared


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
