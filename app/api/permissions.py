"""Routes for the permission rules of projects and sessions.

Owns: parsing and answering. Never: what a rule means (`tools.authorisation`), or the rules of the
project file, which only change with the file.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Depends, Response

from app.api.dependencies import PageDep, PrincipalDep, ProjectId, RuleId, ServicesDep, SessionId
from app.api.kaged_route import IDEMPOTENT, noun_router
from app.api.pagination import answer_page
from app.api.schemas.model import PageOf
from app.api.schemas.permissions import CreatePermission, PermissionAnswer, RuleAnswer
from app.daemon.services import Services
from app.harness.dsl.compiled import CompiledProject
from app.harness.projects.permissions import RuleScope
from app.harness.projects.rule_effect import overruled_by
from app.storage.keyed_effect import answer_with
from app.storage.models import PermissionRuleRow
from app.tools.agents.definition import agent_tool_name
from app.tools.contract.rules import check_permission_name

router: APIRouter = noun_router("Permissions")

_EXISTS: dict[int | str, dict[str, Any]] = {
    200: {"model": PermissionAnswer, "description": "The same rule existed already."}
}
Scoped = tuple[RuleScope, CompiledProject | None]
"""Whose rules they are, and the project as it is compiled for that."""


async def _of_project(services: ServicesDep, project_id: ProjectId) -> Scoped:
    return RuleScope(project_id), services.projects.get(project_id).compiled


async def _of_session(services: ServicesDep, session_id: SessionId) -> Scoped:
    row = await services.sessions.get(session_id)
    compiled = await services.projects.snapshot(row.project_id, row.compiled_digest)
    return RuleScope(row.project_id, session_id), compiled


async def _rule_id(rule_id: RuleId) -> str:
    return rule_id


def _add_routes(noun: str, scoped: Callable[..., Awaitable[Scoped]], *, listed: str, held: str) -> None:
    """Add the routes of one noun. `listed` and `held` describe its list and its new rules."""
    path = f"/{noun}s/{{{noun}_id}}/permissions"
    chosen: Any = Depends(scoped)

    @router.get(
        path,
        summary=f"List a {noun}'s permission rules, newest first",
        description=listed,
        operation_id=f"list_{noun}_permissions",
    )
    async def list_permissions(
        services: ServicesDep, page: PageDep, where: Scoped = chosen
    ) -> PageOf[PermissionAnswer]:
        scope, compiled = where
        rules = services.sessions.questions.rules
        found = await rules.list(scope, limit=page.limit, cursor=page.cursor)
        return answer_page(found, lambda row: _answer(row, compiled))

    @router.post(
        path,
        summary=f"Create a permission rule for a {noun}",
        description=held,
        operation_id=f"create_{noun}_permission",
        status_code=201,
        responses=_EXISTS,
        dependencies=[IDEMPOTENT],
    )
    async def create_permission(
        services: ServicesDep,
        principal: PrincipalDep,
        body: CreatePermission,
        response: Response,
        where: Scoped = chosen,
    ) -> PermissionAnswer:
        answer, new = await _create(services, where, body, principal.actor)
        response.status_code = 201 if new else 200
        return answer

    @router.delete(
        f"{path}/{{rule_id}}",
        summary=f"Delete a permission rule of a {noun}",
        operation_id=f"delete_{noun}_permission",
        status_code=204,
    )
    async def delete_permission(
        services: ServicesDep,
        principal: PrincipalDep,
        where: Scoped = chosen,
        rule_id: str = Depends(_rule_id),
    ) -> Response:
        await services.sessions.questions.rules.remove(where[0], rule_id, principal.actor)
        return Response(status_code=204)


_add_routes(
    "project",
    _of_project,
    listed="Rules that operators created. The rules of the project file are in its synthesized form.",
    held="It applies from the next call on, also in running sessions.",
)
_add_routes(
    "session",
    _of_session,
    listed="The rules of its project apply as well.",
    held="It applies from the next call on, also while the session is running.",
)


async def _create(
    services: Services, where: Scoped, body: CreatePermission, actor: str
) -> tuple[PermissionAnswer, bool]:
    """Return the rule, and whether it is new."""
    scope, compiled = where
    names = set(services.registry.names())
    if compiled is not None:
        names |= {agent_tool_name(agent.key) for agent in compiled.agents()}
        names |= await services.hooks.tool_names(scope.project_id, compiled)
    check_permission_name(body.permission, names)
    answer_with(tuple, lambda made: (201 if made[1] else 200, _answer(made[0], compiled)))
    questions = services.sessions.questions
    row, new = await questions.rules.add(scope, body.permission, body.pattern, body.action, actor)
    if new:
        await questions.apply_rules(scope, actor, row.id)
    return _answer(row, compiled), new


def _answer(row: PermissionRuleRow, compiled: CompiledProject | None) -> PermissionAnswer:
    rule = overruled_by(row.permission, row.pattern, row.action, compiled) if compiled is not None else None
    stronger = RuleAnswer.model_validate(rule) if rule is not None else None
    return PermissionAnswer.model_validate(
        {**row.model_dump(), "effective": stronger is None, "overruled_by": stronger}
    )
