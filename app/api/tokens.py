"""Routes for access tokens; for operators only.

Owns: parsing and answering. Never: how tokens work (`access.tokens`).
"""

from __future__ import annotations

from datetime import UTC, datetime
from operator import attrgetter

from fastapi import APIRouter, Request

from app.access.scopes import UNBOUND, Binding
from app.api.dependencies import OperatorDep, PageDep, ServicesDep
from app.api.kaged_route import noun_router
from app.api.pagination import answer_page, page_by_name
from app.api.schemas.model import PageOf
from app.api.schemas.operations import CreatedTokenAnswer, CreateToken, LaunchLink, TokenAnswer
from app.daemon.services import Services
from app.errors import ValidationFailed
from app.ids import now_ms

router: APIRouter = noun_router("Access")

_LATEST = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp() * 1000)
"""What comes after it has no date in some time zone."""


@router.get("/tokens", summary="List access tokens")
async def list_tokens(services: ServicesDep, operator: OperatorDep, page: PageDep) -> PageOf[TokenAnswer]:
    """The oldest first, including revoked and expired tokens."""
    found = page_by_name("tokens", await services.access.tokens(), attrgetter("id"), page)
    return answer_page(found, TokenAnswer.model_validate)


@router.post("/tokens", summary="Create an access token", status_code=201)
async def create_token(services: ServicesDep, operator: OperatorDep, body: CreateToken) -> CreatedTokenAnswer:
    """A token of the scope `agent` calls one agent's tools in one session and reads that session. A token of
    the scope `plugin` reads the sessions of one project. A token of the scope `chat` talks to the agents of
    one project at `/v1/chat/completions` and `/mcp`. None of them approves requests, creates tokens, loads
    projects or changes rules."""
    expires_at = int(body.expires_at.timestamp() * 1000) if body.expires_at is not None else None
    if expires_at is not None and expires_at > _LATEST:
        raise ValidationFailed(
            "The time is too far in the future.", fields={"expires_at": "must be before year 9999"}
        )
    if expires_at is not None and expires_at <= now_ms():
        raise ValidationFailed("The time is in the past.", fields={"expires_at": "must be in the future"})
    created = await services.access.create(
        body.name, scope=body.scope, bound=await _binding(services, body), expires_at=expires_at
    )
    return CreatedTokenAnswer.model_validate({**created.row.model_dump(), "token": created.secret})


_NEEDED: dict[str, tuple[str, ...]] = {
    "agent": ("session_id", "agent_path"),
    "plugin": ("project_id", "plugin"),
    "chat": ("project_id",),
}
"""What a token of a scope is bound to; a token of another scope to nothing."""
_POSSIBLE: dict[str, tuple[str, ...]] = {"chat": ("agent_path",)}
"""What a token of a scope may be bound to beside that."""


async def _binding(services: Services, body: CreateToken) -> Binding:
    """Return what the new token is bound to; raise when that does not exist."""
    needed = _NEEDED.get(body.scope, ())
    fields = {name: "is required" for name in needed if getattr(body, name) is None}
    for name in ("session_id", "agent_path", "project_id", "plugin"):
        if name not in (*needed, *_POSSIBLE.get(body.scope, ())) and getattr(body, name) is not None:
            fields[name] = f"is not for a token of the scope {body.scope}"
    if fields:
        raise ValidationFailed(f"The fields do not fit a token of the scope {body.scope}.", fields=fields)
    if body.scope == "agent":
        session = await services.sessions.get(str(body.session_id))
        _require_agent(services, session.project_id, body.agent_path)
        return Binding(session.project_id, session.id, body.agent_path)
    if body.scope == "plugin":
        return Binding(services.projects.get(str(body.project_id)).id, plugin=body.plugin)
    if body.scope == "chat":
        project = services.projects.get(str(body.project_id))
        if body.agent_path is not None:
            _require_agent(services, project.id, body.agent_path)
        return Binding(project.id, agent_path=body.agent_path)
    return UNBOUND


def _require_agent(services: Services, project_id: str, agent_path: str | None) -> None:
    known = [agent.path for agent in services.projects.compiled(project_id).agents()]
    if agent_path not in known:
        raise ValidationFailed("The project has no such agent.", fields={"agent_path": f"is none of {known}"})


@router.delete("/tokens/{token_id}", summary="Revoke an access token")
async def revoke_token(services: ServicesDep, operator: OperatorDep, token_id: str) -> TokenAnswer:
    return TokenAnswer.model_validate(await services.access.revoke(token_id))


@router.post("/tokens/launch-link", summary="Create a link that signs in a browser")
async def create_launch_link(request: Request, services: ServicesDep, operator: OperatorDep) -> LaunchLink:
    """The link that the daemon prints at its start works once. This link signs in another browser."""
    return LaunchLink(url=services.access.launch_url(str(request.base_url).rstrip("/")))
