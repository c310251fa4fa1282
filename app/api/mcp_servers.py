"""Routes for the MCP servers of projects: their state, what they offer, and enabling a disabled one.

Owns: parsing and answering. Never: calling a tool (the session does).
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from app.api.dependencies import ProjectId, ServicesDep
from app.api.kaged_route import noun_router
from app.api.schemas.mcp import McpContentAnswer, McpServerAnswer, McpServerList, McpToolAnswer
from app.api.schemas.plugins import EnabledAnswer
from app.bridges.mcp.entries import Listing, ServerEntry
from app.daemon.services import Services
from app.errors import Conflict, NotFound, ToolError
from app.harness.hooks.declared_servers import Declared

router: APIRouter = noun_router("MCP servers")

ServerName = Annotated[str, Path(description="An MCP server's name.", max_length=64)]


@router.get("/projects/{project_id}/mcp", summary="List the MCP servers of a project")
async def list_mcp_servers(services: ServicesDep, project_id: ProjectId) -> McpServerList:
    """The operator's servers and those of the trusted project file, by name. Nothing is started: a server
    that no session has used yet is `stopped`, and has no tools here."""
    declared = await services.hooks.servers.declared(project_id)
    return McpServerList.whole([_answer(services, project_id, one) for one in declared])


@router.post(
    "/projects/{project_id}/mcp/{name}/content", summary="List the resources and prompts of an MCP server"
)
async def list_mcp_content(
    services: ServicesDep, project_id: ProjectId, name: ServerName
) -> McpContentAnswer:
    """The server is asked, and started if need be."""
    entry = await _entry(services, project_id, name)
    servers, root = services.hooks.servers.servers, services.projects.root_of(project_id)
    try:
        resources, prompts = await servers.content(project_id, root, entry)
    except ToolError as problem:
        raise Conflict(problem.message, reason=problem.code, details={"server": name}) from None
    return McpContentAnswer(resources=resources, prompts=prompts)


@router.post("/projects/{project_id}/mcp/{name}/enable", summary="Enable a disabled MCP server")
async def enable_mcp_server(services: ServicesDep, project_id: ProjectId, name: ServerName) -> EnabledAnswer:
    """A server that fails five times in ten minutes is disabled. Enabling it resets the count; its next use
    starts it."""
    await _entry(services, project_id, name)
    return EnabledAnswer(enabled=services.hooks.servers.servers.enable(project_id, name))


async def _entry(services: Services, project_id: str, name: str) -> ServerEntry:
    declared = await services.hooks.servers.declared(project_id)
    found = next((one.entry for one in declared if one.name == name), None)
    if found is None:
        names = [one.name for one in declared if one.entry is not None]
        raise NotFound(f"The project has no usable MCP server {name}.", details={"servers": names})
    return found


def _answer(services: Services, project_id: str, declared: Declared) -> McpServerAnswer:
    entry, origin = declared.entry, declared.origin
    if entry is None:
        return McpServerAnswer(
            name=declared.name, origin=origin, transport=None, state="unusable", reason=declared.problem
        )
    status = services.hooks.servers.servers.status(project_id, entry)
    listing = status.listing or Listing()
    tools = [
        McpToolAnswer(name=one.name, title=one.title, description=one.description) for one in listing.tools
    ]
    return McpServerAnswer(
        name=declared.name,
        origin=origin,
        transport="stdio" if entry.url is None else "http",
        state=status.state.value,
        reason=None if status.reason is None else services.redactor.text(status.reason),
        failures=status.failures,
        pid=status.pid,
        server=listing.server or None,
        protocol=listing.protocol or None,
        tools=tools,
        left_out=list(listing.left_out),
        log=[services.redactor.text(line) for line in status.log],
    )
