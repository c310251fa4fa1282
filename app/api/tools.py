"""Routes for tools: list all, list those of an agent, call one.

Owns: parsing and answering. Never: running a tool (the session does, as it does for a model).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from operator import attrgetter
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from starlette.requests import ClientDisconnect

from app.access.scopes import Principal
from app.api.dependencies import PageDep, PrincipalDep, ProjectId, ServicesDep, SessionId
from app.api.kaged_route import CLAIMED, noun_router
from app.api.pagination import answer_page, page_by_name
from app.api.schemas.model import PageOf
from app.api.schemas.tools import AgentToolAnswer, CallTool, ToolAnswer, ToolEnvelopeAnswer
from app.api.scope_rules import FOR_AGENTS
from app.daemon.services import Services
from app.errors import Forbidden, NotFound
from app.harness.dsl.compiled import CompiledAgent, CompiledProject
from app.harness.hooks.agent_plugins import Caller
from app.harness.loop.run_factory import child_tools
from app.harness.projects.tool_selection import tool_specs
from app.messages import ToolSpec
from app.tools.contract.definition import ToolDefinition
from app.tools.contract.schema import result_schema

T = TypeVar("T")


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns; cancel it when the client leaves. The request's body must have been read.

    Raises ClientDisconnect once the work has ended because of that."""
    running = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({running, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            return running.result()
        raise ClientDisconnect
    finally:
        for one in (running, leaving):
            one.cancel()
        await asyncio.gather(running, leaving, return_exceptions=True)


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


router: APIRouter = noun_router("Tools")


@router.get("/tools", summary="List the tools", dependencies=[FOR_AGENTS])
async def list_tools(services: ServicesDep, page: PageDep) -> PageOf[ToolAnswer]:
    """Every tool by name, with the JSON Schemas of its parameters and result. The list does not say which
    agents may use it."""
    found = page_by_name("tools", services.registry.definitions(), attrgetter("name"), page)
    return answer_page(found, lambda definition: _tool(services, definition))


@router.get(
    "/projects/{project_id}/agents/{agent_path}/tools",
    summary="List the tools of an agent",
    dependencies=[FOR_AGENTS],
)
async def list_agent_tools(
    services: ServicesDep, principal: PrincipalDep, project_id: ProjectId, agent_path: str, page: PageDep
) -> PageOf[AgentToolAnswer]:
    """The tools by name, each with the rule that decided and the parameters that the model gets."""
    agent = _agent(services.projects.compiled(project_id), agent_path)
    root = services.projects.root_of(project_id)
    given = await services.hooks.tools(Caller(principal.actor, project_id, root, agent, None))
    own = child_tools(agent) | given
    specs = {spec.name: spec for spec in tool_specs(services.registry, agent, own)}
    tools = [
        _agent_tool(name, tool.origin, specs.get(name), tool.description)
        for name, tool in agent.tools.items()
    ]
    tools += [
        _agent_tool(name, "subagent" if definition.source == "agent" else definition.source, specs.get(name))
        for name, definition in own.items()
        if name in specs
    ]
    return answer_page(page_by_name("agent tools", tools, attrgetter("name"), page), lambda tool: tool)


@router.post(
    "/sessions/{session_id}/tools/{name}",
    summary="Call a tool as one of the session's agents",
    dependencies=[CLAIMED, FOR_AGENTS],
)
async def call_tool(
    request: Request,
    services: ServicesDep,
    principal: PrincipalDep,
    session_id: SessionId,
    name: str,
    body: CallTool,
) -> ToolEnvelopeAnswer:
    """Validated, authorised and audited like the call of a model. A tool that fails answers 200 with `type`
    `error`. A call by an operator counts as consent, once; a call by an agent's token that needs consent is
    denied. A read-only call is cancelled when its client disconnects."""
    call = services.sessions.call_tool(
        session_id,
        name,
        body.params,
        agent_path=_caller(principal, body),
        actor=principal.actor,
        consents=principal.may_write,
    )
    definition = services.registry.get(name)
    reads = definition is not None and definition.read_only
    envelope = await while_connected(request, call) if reads else await call
    return ToolEnvelopeAnswer.model_validate(envelope)


def _caller(principal: Principal, body: CallTool) -> str:
    """Return the agent as which the call is made. An agent's token has it; a body cannot change it."""
    bound = principal.bound.agent_path
    if bound is None:
        return body.agent_path
    if "agent_path" in body.model_fields_set and body.agent_path != bound:
        raise Forbidden(f"This token acts as {bound} only.", reason="out_of_scope")
    return bound


def _tool(services: Services, definition: ToolDefinition) -> ToolAnswer:
    spec = services.registry.spec(definition.name)
    return ToolAnswer.model_validate(
        {
            "name": definition.name,
            "namespace": definition.namespace,
            "source": definition.source,
            "requires": definition.requires,
            "wire_name": spec.wire_name,
            "title": definition.title,
            "description": spec.description,
            "parameters": spec.parameters,
            "result": result_schema(definition.result),
            "read_only": definition.read_only,
            "destructive": definition.destructive,
            "principal_scope": definition.principal_scope,
            "actions": definition.actions,
            "version": definition.version,
        }
    )


def _agent_tool(
    name: str, origin: str, spec: ToolSpec | None, description: str | None = None
) -> AgentToolAnswer:
    return AgentToolAnswer(
        name=name,
        enabled=spec is not None,
        origin=origin,
        loading=None if spec is None else spec.loading,
        description=description if spec is None else spec.description,
        parameters=None if spec is None else spec.parameters,
    )


def _agent(project: CompiledProject, agent_path: str) -> CompiledAgent:
    agent = project.agent(agent_path)
    if agent is None:
        paths = [known.path for known in project.agents()]
        raise NotFound(f"The project has no agent {agent_path}.", details={"agents": paths})
    return agent
