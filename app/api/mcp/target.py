"""Whom an MCP request is for: who asks, in which project, as which agent, in which session.

Owns: reading these from a request, what the token lets it ask for, and checking handles. Never: the tools
(`tool_list`).
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
from app.harness.dsl.agent_view import agent_of, is_within, seen_from
from app.harness.dsl.compiled import CompiledAgent
from app.harness.projects.loaded_project import LoadedProject
from app.ids import ROOT_AGENT
from app.states import SessionState
from app.storage.models import Session as SessionRow

_HANDLE = re.compile(r"ses_[0-9A-Za-z]{1,60}")


@dataclass(frozen=True, slots=True)
class OwnSession:
    """A session that the caller has opened. `root` is the path of its root agent in the project file."""

    id: str
    root: str

    def path_of(self, agent_path: str) -> str:
        """Return an agent's path in the session. Raises `ValidationFailed` for one that is not in it."""
        found = seen_from(self.root, (agent_path,))
        if not found:
            raise ValidationFailed(
                f"This session is one of {self.root}. Call open_session for one of {agent_path}.",
                fields={SESSION: f"is not a session of {agent_path}"},
            )
        return found[0]

    def declared(self, path: str) -> str:
        """Return the path in the project file of an agent by its path in the session."""
        return self.root + path.removeprefix(ROOT_AGENT)


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
    def has_tools(self) -> bool:
        """Whether the caller may call the agent's tools; a chat client only talks to agents."""
        return self.principal.scope == "operator"

    @property
    def can_consent(self) -> bool:
        """Whether an answer of the client's user counts as consent."""
        return self.principal.may_write

    def link(self, session_id: str) -> str:
        """Return where the operator sees a session, with its questions."""
        return f"{self.base_url}/#{session_id}"

    def askable(self) -> list[CompiledAgent]:
        """Return the agents that the caller may give a task: that of the address, and those below it."""
        below = self.project.acting().agents()
        return [one for one in below if self._may_ask(one.path)]

    def to_ask(self, path: object) -> str:
        """Return the path of the agent that a call names; that of the address, when it names none.

        Raises `NotFound`, with the agents that may be named."""
        if path is None:
            return self.agent.path
        known = [one.path for one in self.askable()]
        if path not in known:
            raise NotFound(f"There is no agent {str(path)[:200]!r} to ask here. Agents: {', '.join(known)}.")
        return str(path)

    def _may_ask(self, path: str) -> bool:
        return is_within(path, self.agent.path) and self.principal.may_talk_to(self.project.id, path)

    async def own_session(self, handle: object) -> OwnSession:
        """Return the session of a handle; `None` stands for that of the address.

        Raises `NotFound`, in the same words for what is unknown, somebody else's, another project's or
        closed; `ValidationFailed` without a handle."""
        wanted = self.handle if handle is None else handle
        if wanted is None:
            raise ValidationFailed(
                "This tool needs a session. Call open_session once, and give its handle as `session`.",
                fields={SESSION: "is needed"},
            )
        row: SessionRow | None = None
        if isinstance(wanted, str) and _HANDLE.fullmatch(wanted):
            row = await self.services.storage.read(lambda uow: uow.sessions.get(wanted))
        if (
            row is None
            or row.created_by != self.principal.owner
            or row.project_id != self.project.id
            or row.state == SessionState.ARCHIVED.value
        ):
            raise NotFound("There is no such open session of yours. Call open_session for a new handle.")
        return OwnSession(row.id, agent_of(row) or ROOT_AGENT)


def target_of(services: Services, request: Request) -> Target:
    """Return what a request is for.

    Raises `NotFound` for an unknown project or agent, in the same words for one that the token is not for;
    `Conflict` for a project that nobody trusts; `ValidationFailed` when the address does not say which of
    several projects is meant."""
    query, principal = request.query_params, request.scope[PRINCIPAL_KEY]
    project = _project(services, principal, query.get("project"))
    path = query.get("agent") or principal.bound.agent_path or ROOT_AGENT
    compiled = project.acting()
    agent = compiled.agent(path)
    if agent is None or not principal.may_talk_to(project.id, path):
        agents = (one.path for one in compiled.agents())
        known = ", ".join(one for one in agents if principal.may_talk_to(project.id, one))
        raise NotFound(f"There is no agent {path[:200]!r} in this project. Agents: {known}.")
    return Target(
        services=services,
        principal=principal,
        project=project,
        agent=agent,
        handle=query.get(SESSION),
        base_url=str(request.base_url).rstrip("/"),
    )


def _project(services: Services, principal: Principal, name: str | None) -> LoadedProject:
    bound = principal.bound.project_id
    projects = [one for one in services.projects.all() if bound in (None, one.id)]
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
