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
from app.tools.contract.definition import ToolDefinition
from app.tools.contract.schema import result_schema
from app.tools.dispatch.registry import spec_of

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
    allowed = _allowed(agent)
    tools = []
    for name, tool in agent.tools.items():
        shown = tool.enabled and services.registry.get(name) is not None
        spec = services.registry.spec(name, allowed=allowed, description=tool.description) if shown else None
        tools.append(
            AgentToolAnswer(
                name=name,
                enabled=tool.enabled,
                origin=tool.origin,
                description=spec.description if spec is not None else tool.description,
                parameters=spec.parameters if spec is not None else None,
            )
        )
    root = services.projects.root_of(project_id)
    given = await services.hooks.tools(Caller(principal.actor, project_id, root, agent, None))
    for definition in (*child_tools(agent).values(), *given.values()):
        spec = spec_of(definition)
        tools.append(
            AgentToolAnswer(
                name=definition.name,
                enabled=True,
                origin="subagent" if definition.source == "agent" else definition.source,
                description=spec.description,
                parameters=spec.parameters,
            )
        )
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


def _agent(project: CompiledProject, agent_path: str) -> CompiledAgent:
    agent = project.agent(agent_path)
    if agent is None:
        paths = [known.path for known in project.agents()]
        raise NotFound(f"The project has no agent {agent_path}.", details={"agents": paths})
    return agent


def _allowed(agent: CompiledAgent) -> frozenset[str]:
    """Return the names of the agent's tools, and of each enabled action as `tool.action`."""
    names = set(agent.enabled_tools())
    for name in agent.enabled_tools():
        names |= {f"{name}.{action}" for action, state in agent.tools[name].actions.items() if state.enabled}
    return frozenset(names)
