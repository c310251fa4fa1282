"""What a session has of its project when its root is another agent than the project's.

Owns: the name under which a session keeps that agent, and the project as such a session sees it. Never: whom
a client may talk to (`api.chat`), or a running delegation.
"""

from __future__ import annotations

from app.errors import Conflict
from app.harness.dsl.compiled import CompiledAgent, CompiledProject
from app.ids import ROOT_AGENT, SUBAGENTS
from app.storage.models import Session as SessionRow

OVERRIDE = "agent"
"""The key of a session's overrides that names its root agent, by the agent's path in the project file."""
_VIEW = "#"
"""Stands in the digest of a view between the project's digest and the agent's path."""


def agent_of(row: SessionRow) -> str | None:
    """Return the path of the agent that a session talks to, None when it is the project's root agent."""
    path = row.overrides.get(OVERRIDE)
    return None if path is None else str(path)


def as_agent(project: CompiledProject, path: str) -> CompiledProject:
    """Return the project with the agent at a path as its root agent: with the cage, the tools and the rules
    that it has as a subagent. What is denied to the agents above it is denied to it.

    Raises `Conflict` when the project has no such agent."""
    if path == ROOT_AGENT:
        return project
    agent = project.agent(path)
    if agent is None:
        raise Conflict(
            f"The project has no agent {path!r} any more, so this session cannot go on.",
            reason="agent_not_found",
            details={"agent_path": path, "agents": [one.path for one in project.agents()]},
        )
    return project.model_copy(
        update={
            "root": _moved(agent, ROOT_AGENT),
            "above_root": tuple(project.above(path)),
            "digest": f"{project.digest}{_VIEW}{path}",
        }
    )


def is_view(digest: str) -> bool:
    """Tell whether a digest is that of a project seen from another agent."""
    return _VIEW in digest


def is_within(path: str, agent: str) -> bool:
    """Tell whether a path is that of an agent, or of one below it."""
    return path == agent or path.startswith(agent + SUBAGENTS)


def seen_from(agent: str, paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of these agents that are at or below an agent, by their paths in its sessions."""
    within = (path for path in paths if is_within(path, agent))
    return tuple(ROOT_AGENT + path.removeprefix(agent) for path in within)


def _moved(agent: CompiledAgent, path: str) -> CompiledAgent:
    """Return an agent at another path, with all below it."""
    children = {key: _moved(child, f"{path}{SUBAGENTS}{key}") for key, child in agent.children.items()}
    return agent.model_copy(update={"path": path, "declared": agent.path, "children": children})
