"""The agents of loaded projects that have a cage: who might write what the daemon starts.

Owns: working that out once for each version of a project. Never: what a cage is (`run_cage`).
"""

from __future__ import annotations

from pathlib import Path

from app.bridges.installed.written_programs import CagedAgent
from app.cages.file_grants import FileGrants
from app.errors import KagedError
from app.harness.dsl.compiled import CompiledProject
from app.harness.projects.projects import ProjectRegistry
from app.harness.projects.run_cage import cage_of


def caged_agents(project: CompiledProject, root: Path) -> tuple[CagedAgent, ...]:
    """Return the agents of the project at `root` that have a cage, with what it grants of files. Blocks as
    `cage_of` does."""
    found = ((agent.path, cage_of(project, agent, root)) for agent in project.agents())
    return tuple(
        CagedAgent(path, FileGrants.of(cage["fs"], root)) for path, cage in found if cage is not None
    )


class CagedAgents:
    """The agents with a cage of each loaded project, worked out once for each version of it."""

    def __init__(self, projects: ProjectRegistry) -> None:
        self._projects = projects
        self._known: dict[str, tuple[CompiledProject, tuple[CagedAgent, ...]]] = {}

    def __call__(self, project_id: str) -> tuple[CagedAgent, ...]:
        """Return them for the present version of a project, or the last one that compiled."""
        known = self._known.get(project_id)
        try:
            project = self._projects.get(project_id)
        except KagedError:
            return () if known is None else known[1]
        if project.compiled is not None and (known is None or known[0] is not project.compiled):
            known = project.compiled, caged_agents(project.compiled, project.root)
            self._known[project_id] = known
        return () if known is None else known[1]
