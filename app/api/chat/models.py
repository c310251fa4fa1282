"""The agents as models of the protocol: `project/agent`.

Owns: their names, and which of them a caller may talk to. Never: sessions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.access.scopes import Principal
from app.api.protocol_errors import PARAM
from app.daemon.services import Services
from app.errors import NotFound
from app.harness.projects.loaded_project import LoadedProject
from app.ids import ROOT_AGENT, SUBAGENTS


@dataclass(frozen=True, slots=True)
class ServedAgent:
    """An agent that a client may talk to. `created` is when its project was loaded first, in milliseconds."""

    name: str
    project_id: str
    agent_path: str
    created: int


def served_agents(services: Services, principal: Principal) -> Iterator[ServedAgent]:
    """Yield the agents of trusted projects that the caller may talk to, by project."""
    projects = services.projects.all()
    slugs = [project.slug for project in projects]
    for project in sorted(projects, key=lambda one: (one.slug, one.id)):
        named = project.id if slugs.count(project.slug) > 1 else project.slug
        if services.projects.is_untrusted(project.id) or project.compiled is None:
            continue
        agents = _names(project)
        for name, path in agents.items():
            if principal.may_talk_to(project.id, path):
                yield ServedAgent(f"{named}/{name}", project.id, path, project.row.created_at)


def served_agent(services: Services, principal: Principal, name: str) -> ServedAgent:
    """Return the agent that a request means by the name of its model: the project's name or id, then the
    agent's name or path.

    Raises `NotFound`, in the same words for an agent that the caller may not talk to."""
    wanted, _, agent = name.partition("/")
    found = [one for one in services.projects.all() if wanted in (one.slug, one.id)]
    if len(found) == 1:
        project = found[0]
        for path in _paths_of(project, agent):
            if principal.may_talk_to(project.id, path):
                project.acting()
                return ServedAgent(name, project.id, path, project.row.created_at)
    raise NotFound(
        f"There is no model {name[:200]!r} here. A model is an agent, as `project/agent`; GET /v1/models "
        "lists them.",
        reason="model_not_found",
        details={PARAM: "model"},
    )


def _paths_of(project: LoadedProject, agent: str) -> list[str]:
    """Return the path of an agent by its name or path; none when there is no such agent."""
    if project.compiled is None and project.newest is None:
        return []
    return [path for name, path in _names(project).items() if agent in (name, path)]


def _names(project: LoadedProject) -> dict[str, str]:
    """Return the paths of a project's agents by their names: `primary`, and of subagents the keys on the way
    to them, as `coder` and `coder.tester`."""
    names: dict[str, str] = {}
    for agent in project.shown().agents():
        short = agent.path.removeprefix(ROOT_AGENT + SUBAGENTS).replace(SUBAGENTS, ".")
        names[agent.path if short in names else short] = agent.path
    return names
