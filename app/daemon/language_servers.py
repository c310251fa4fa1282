"""What the project file and the local configuration say of language servers.

Owns: bringing both into the form of the bridge. Never: which of them holds; the bridge knows the order.
"""

from __future__ import annotations

from dataclasses import replace

from app.bridges.lsp.manager import Declarations, Declared
from app.config import LspServerSettings, LspSettings
from app.daemon.caged_agents import CagedAgents
from app.errors import KagedError
from app.harness.dsl.spec_sections import LspSection, LspServer
from app.harness.projects.projects import ProjectRegistry


class ProjectLanguageServers:
    """What is declared for each loaded project."""

    def __init__(self, local: LspSettings, projects: ProjectRegistry) -> None:
        self._local = local
        self._projects = projects
        self._caged = CagedAgents(projects)

    def __call__(self, project_id: str) -> Declarations:
        declared = declarations(self._section(project_id), self._local)
        return replace(declared, agents=self._caged(project_id))

    def diagnostics_after_edit(self, project_id: str) -> bool:
        """Tell whether edits in this project are followed by the errors that they introduced."""
        return diagnostics_after_edit(self._section(project_id), self._local)

    def _section(self, project_id: str) -> LspSection | None:
        try:
            return self._projects.compiled(project_id).lsp
        except KagedError:
            return None  # it does not compile any more; what runs goes on as the local config says


def declarations(project: LspSection | None, local: LspSettings) -> Declarations:
    """Return the servers that both declare; without a project only the local ones."""
    in_project = project.servers if project is not None else ()
    return Declarations(
        project=tuple(_declared(one.lang, one) for one in in_project),
        local=tuple(_declared(language, one) for language, one in local.servers.items()),
    )


def _declared(language: str, one: LspServer | LspServerSettings) -> Declared:
    return Declared(
        language=language,
        command=tuple(one.command),
        extensions=tuple(one.extensions or ()),
        settings=one.settings,
        env=one.env,
        max_memory_mb=one.max_memory_mb,
    )


def diagnostics_after_edit(project: LspSection | None, local: LspSettings) -> bool:
    """Tell whether edits are followed by the errors that they introduced: as the project file says, else
    as the operator set it."""
    said = project.diagnostics_after_edit if project is not None else None
    return local.diagnostics_after_edit if said is None else said
