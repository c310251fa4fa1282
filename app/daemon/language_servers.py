"""What the project file and the local configuration say of language servers.

Owns: bringing both into the form of the bridge. Never: which of them holds; the bridge knows the order.
"""

from __future__ import annotations

from app.bridges.lsp.manager import Declarations, Declared
from app.config import LspSettings
from app.errors import KagedError
from app.harness.dsl.spec_sections import LspSection
from app.harness.projects import ProjectRegistry


class ProjectLanguageServers:
    """What is declared for each loaded project. The registry of projects comes later than the tools
    that ask here, so it is attached."""

    def __init__(self, local: LspSettings) -> None:
        self._local = local
        self._projects: ProjectRegistry | None = None

    def attach(self, projects: ProjectRegistry) -> None:
        self._projects = projects

    def __call__(self, project_id: str) -> Declarations:
        return declarations(self._section(project_id), self._local)

    def diagnostics_after_edit(self, project_id: str) -> bool:
        """Tell whether edits in this project are followed by the errors that they introduced."""
        return diagnostics_after_edit(self._section(project_id), self._local)

    def _section(self, project_id: str) -> LspSection | None:
        try:
            return self._projects.compiled(project_id).lsp if self._projects is not None else None
        except KagedError:
            return None  # it does not compile any more; what runs goes on as the local config says


def declarations(project: LspSection | None, local: LspSettings) -> Declarations:
    """Return the servers that both declare; without a project only the local ones."""
    return Declarations(
        project=tuple(
            Declared(
                language=server.lang,
                command=tuple(server.command),
                extensions=tuple(server.extensions or ()),
                settings=server.settings,
                env=server.env,
                max_memory_mb=server.max_memory_mb,
            )
            for server in (project.servers if project is not None else ())
        ),
        local=tuple(
            Declared(
                language=language,
                command=server.command,
                extensions=server.extensions,
                settings=server.settings,
                env=server.env,
                max_memory_mb=server.max_memory_mb,
            )
            for language, server in local.servers.items()
        ),
    )


def diagnostics_after_edit(project: LspSection | None, local: LspSettings) -> bool:
    """Tell whether edits are followed by the errors that they introduced: as the project file says, else
    as the operator set it."""
    said = project.diagnostics_after_edit if project is not None else None
    return local.diagnostics_after_edit if said is None else said
