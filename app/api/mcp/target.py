"""Whom an MCP request is for: who asks, in which project, as which agent, in which session.

Owns: reading these from a request, and checking handles. Never: the tools (`tool_list`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from starlette.requests import Request

from app.access.scopes import Principal
from app.api.access_middleware import PRINCIPAL_KEY
from app.api.mcp.names import SESSION
from app.daemon.services import Services
from app.errors import NotFound, ValidationFailed
from app.harness.dsl.compiled import CompiledAgent
from app.harness.projects.loaded_project import LoadedProject
from app.states import SessionState
from app.tools.contract.call import ROOT_AGENT

_HANDLE = re.compile(r"ses_[0-9A-Za-z]{1,60}")


@dataclass(frozen=True, slots=True)
class Target:
    """What the address of a request names: `/mcp?project=NAME&agent=PATH&session=HANDLE`. `handle` is the
    session of calls that name none."""

    services: Services
    principal: Principal
    project: LoadedProject
    agent: CompiledAgent
    handle: str | None
    base_url: str

    @property
    def is_root(self) -> bool:
        """Whether the agent is the project's root agent."""
        return self.agent.path == ROOT_AGENT

    def link(self, session_id: str) -> str:
        """Return where the operator sees a session, with its questions."""
        return f"{self.base_url}/#{session_id}"

    async def own_session(self, handle: object) -> str:
        """Return the session of a handle; `None` stands for that of the address.

        Raises `NotFound`, in the same words for what is unknown, somebody else's, another project's or
        closed; `ValidationFailed` without a handle."""
        wanted = self.handle if handle is None else handle
        if wanted is None:
            raise ValidationFailed(
                "This tool needs a session. Call open_session once, and give its handle as `session`.",
                fields={SESSION: "is needed"},
            )
        unknown = NotFound("There is no such open session of yours. Call open_session for a new handle.")
        if not isinstance(wanted, str) or not _HANDLE.fullmatch(wanted):
            raise unknown
        row = await self.services.storage.read(lambda uow: uow.sessions.get(wanted))
        if (
            row is None
            or row.created_by != self.principal.actor
            or row.project_id != self.project.id
            or row.state == SessionState.ARCHIVED.value
        ):
            raise unknown
        return wanted


def target_of(services: Services, request: Request) -> Target:
    """Return what a request is for.

    Raises `NotFound` for an unknown project or agent, `Conflict` for a project that nobody trusts,
    `ValidationFailed` when the address does not say which of several projects is meant."""
    query = request.query_params
    project = _project(services, query.get("project"))
    path = query.get("agent") or ROOT_AGENT
    compiled = project.acting()
    agent = compiled.agent(path)
    if agent is None:
        known = ", ".join(one.path for one in compiled.agents())
        raise NotFound(f"There is no agent {path[:200]!r} in this project. Agents: {known}.")
    return Target(
        services=services,
        principal=request.scope[PRINCIPAL_KEY],
        project=project,
        agent=agent,
        handle=query.get(SESSION),
        base_url=str(request.base_url).rstrip("/"),
    )


def _project(services: Services, name: str | None) -> LoadedProject:
    projects = services.projects.all()
    if name is None:
        if len(projects) == 1:
            return projects[0]
        found = None
    else:
        found = next((one for one in projects if name in (one.id, one.slug)), None)
    if found is None:
        known = ", ".join(sorted(one.slug for one in projects)) or "none"
        message = f"Name a loaded project in the address, as /mcp?project=NAME. Loaded projects: {known}."
        raise ValidationFailed(message, fields={"project": "names no loaded project"})
    return found
