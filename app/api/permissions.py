"""Routes for the permission rules of projects and sessions.

Owns: parsing and answering. Never: what a rule means (`tools.authorisation`), or the rules of the
project file, which only change with the file.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from app.api.dependencies import PageDep, PrincipalDep, ProjectId, RuleId, ServicesDep, SessionId
from app.api.kaged_route import IDEMPOTENT, noun_router
from app.api.pagination import answer_page
from app.api.schemas.model import PageOf
from app.api.schemas.permissions import CreatePermission, PermissionAnswer, RuleAnswer
from app.daemon.lifespan import Services
from app.harness.dsl.compiled import CompiledProject
from app.harness.projects.permissions import RuleScope
from app.harness.projects.rule_effect import overruled_by
from app.storage.keyed_effect import answer_with
from app.storage.models import PermissionRuleRow
from app.tools.agents.definition import agent_tool_name
from app.tools.contract.rules import check_permission_name

router: APIRouter = noun_router("Permissions")

_EXISTS: dict[int | str, dict[str, Any]] = {
    200: {"model": PermissionAnswer, "description": "The same rule was there already."}
}


@router.get("/projects/{project_id}/permissions", summary="List a project's permission rules, newest first")
async def list_project_permissions(
    services: ServicesDep, project_id: ProjectId, page: PageDep
) -> PageOf[PermissionAnswer]:
    """Those that operators made; the rules of the project file are in its synthesized form."""
    compiled = services.projects.get(project_id).compiled
    scope = RuleScope(project_id)
    found = await services.permissions.list(scope, limit=page.limit, cursor=page.cursor)
    return answer_page(found, lambda row: _answer(row, compiled))


@router.post(
    "/projects/{project_id}/permissions",
    summary="Create a permission rule for a project",
    status_code=201,
    responses=_EXISTS,
    dependencies=[IDEMPOTENT],
)
async def create_project_permission(
    services: ServicesDep,
    principal: PrincipalDep,
    project_id: ProjectId,
    body: CreatePermission,
    response: Response,
) -> PermissionAnswer:
    """It holds from the next call on, also in sessions that are running."""
    compiled = services.projects.get(project_id).compiled
    return await _create(services, RuleScope(project_id), compiled, body, principal.actor, response)


@router.delete(
    "/projects/{project_id}/permissions/{rule_id}",
    summary="Delete a permission rule of a project",
    status_code=204,
)
async def delete_project_permission(
    services: ServicesDep, principal: PrincipalDep, project_id: ProjectId, rule_id: RuleId
) -> Response:
    services.projects.get(project_id)
    await services.permissions.remove(RuleScope(project_id), rule_id, principal.actor)
    return Response(status_code=204)


@router.get("/sessions/{session_id}/permissions", summary="List a session's permission rules, newest first")
async def list_session_permissions(
    services: ServicesDep, session_id: SessionId, page: PageDep
) -> PageOf[PermissionAnswer]:
    """Those of its project hold as well."""
    scope, compiled = await _session(services, session_id)
    found = await services.permissions.list(scope, limit=page.limit, cursor=page.cursor)
    return answer_page(found, lambda row: _answer(row, compiled))


@router.post(
    "/sessions/{session_id}/permissions",
    summary="Create a permission rule for a session",
    status_code=201,
    responses=_EXISTS,
    dependencies=[IDEMPOTENT],
)
async def create_session_permission(
    services: ServicesDep,
    principal: PrincipalDep,
    session_id: SessionId,
    body: CreatePermission,
    response: Response,
) -> PermissionAnswer:
    """It holds from the next call on, also while the session is running."""
    scope, compiled = await _session(services, session_id)
    return await _create(services, scope, compiled, body, principal.actor, response)


@router.delete(
    "/sessions/{session_id}/permissions/{rule_id}",
    summary="Delete a permission rule of a session",
    status_code=204,
)
async def delete_session_permission(
    services: ServicesDep, principal: PrincipalDep, session_id: SessionId, rule_id: RuleId
) -> Response:
    row = await services.sessions.get(session_id)
    await services.permissions.remove(RuleScope(row.project_id, session_id), rule_id, principal.actor)
    return Response(status_code=204)


async def _session(services: Services, session_id: str) -> tuple[RuleScope, CompiledProject | None]:
    """Return the scope of a session, and the project as it was compiled for it."""
    row = await services.sessions.get(session_id)
    compiled = await services.projects.snapshot(row.project_id, row.compiled_digest)
    return RuleScope(row.project_id, session_id), compiled


async def _create(
    services: Services,
    scope: RuleScope,
    compiled: CompiledProject | None,
    body: CreatePermission,
    actor: str,
    response: Response,
) -> PermissionAnswer:
    names = set(services.registry.names())
    if compiled is not None:
        names |= {agent_tool_name(agent.key) for agent in compiled.agents()}
        names |= await services.hooks.tool_names(scope.project_id, compiled)
    check_permission_name(body.permission, names)
    answer_with(tuple, lambda made: (201 if made[1] else 200, _answer(made[0], compiled)))
    row, new = await services.permissions.add(scope, body.permission, body.pattern, body.action, actor)
    if new:
        await services.sessions.consents.apply_rules(scope, actor, row.id)
    response.status_code = 201 if new else 200
    return _answer(row, compiled)


def _answer(row: PermissionRuleRow, compiled: CompiledProject | None) -> PermissionAnswer:
    rule = overruled_by(row.permission, row.pattern, row.action, compiled) if compiled is not None else None
    stronger = RuleAnswer.model_validate(rule) if rule is not None else None
    return PermissionAnswer.model_validate(
        {**row.model_dump(), "effective": stronger is None, "overruled_by": stronger}
    )
