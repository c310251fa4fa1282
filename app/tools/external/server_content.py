"""`mcp_resources` and `mcp_prompts`: what MCP servers offer beside tools.

Owns: the two tools, for the servers of one agent. Never: which servers those are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import BaseModel, Field

from app.bridges.mcp.entries import ServerEntry
from app.errors import ToolError, invalid_params
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import Effects, ToolDefinition, ToolParams, ToolResult, load_description
from app.tools.external.server import MAX_ANSWER_BYTES, host_of, shown_answer, source_note

RESOURCES = "mcp_resources"
PROMPTS = "mcp_prompts"
_PACKAGE = "app.tools.external"

AskServer = Callable[[ServerEntry, str, Callable[[Any], Awaitable[Any]]], Awaitable[Any]]
"""Has a request made over the connection to a server, for a tool of a name; returns what the request does.
Raises ToolError."""


class ResourceParams(ToolParams):
    server: str | None = Field(default=None, max_length=64, description="Name of the server. Default: all.")
    uri: str | None = Field(default=None, max_length=4_000, description="Address of the resource to read.")


class PromptParams(ToolParams):
    server: str | None = Field(default=None, max_length=64, description="Name of the server. Default: all.")
    name: str | None = Field(default=None, max_length=200, description="Name of the prompt to get.")
    arguments: dict[str, str] = Field(default={}, description="Arguments of the prompt, all of them texts.")


class Offered(ToolResult):
    """What servers offer, by the server's name; of one that does not answer the reason."""

    source: str
    servers: dict[str, Any]


def resources_tool(ask: AskServer, entries: Mapping[str, ServerEntry]) -> ToolDefinition:
    """Return the tool that lists and reads resources."""

    async def run(params: ResourceParams, context: ToolCallContext) -> BaseModel:
        uri = params.uri
        if uri is None:
            chosen = _chosen(entries, params.server)
            return await _listed(ask, chosen, lambda connection: connection.resources())
        entry = _one(entries, params.server, RESOURCES)
        answer = await ask(entry, RESOURCES, lambda connection: connection.read(uri))
        return shown_answer(entry.name, answer, context)

    return _tool(RESOURCES, "Resources of MCP servers", "mcp_resources.md", ResourceParams, run, entries)


def prompts_tool(ask: AskServer, entries: Mapping[str, ServerEntry]) -> ToolDefinition:
    """Return the tool that lists and gets prompts."""

    async def run(params: PromptParams, context: ToolCallContext) -> BaseModel:
        name = params.name
        if name is None:
            chosen = _chosen(entries, params.server)
            return await _listed(ask, chosen, lambda connection: connection.prompts())
        entry = _one(entries, params.server, PROMPTS)
        answer = await ask(entry, PROMPTS, lambda connection: connection.prompt(name, params.arguments))
        return shown_answer(entry.name, answer, context)

    return _tool(PROMPTS, "Prompts of MCP servers", "mcp_prompts.md", PromptParams, run, entries)


def _tool(
    name: str,
    title: str,
    text: str,
    parameters: type[ToolParams],
    run: Any,
    entries: Mapping[str, ServerEntry],
) -> ToolDefinition:
    known = ", ".join(entries)
    return ToolDefinition(
        name=name,
        title=title,
        description=f"{load_description(_PACKAGE, text)}\nServers: {known}.",
        parameters=parameters,
        result=ToolResult,
        run=run,
        acp_kind="read",
        source="mcp",
        read_only=all(entry.changes_nothing for entry in entries.values()),
        effects_of=lambda params: _effects(entries, params),
        body_field="text",
        max_output_bytes=MAX_ANSWER_BYTES,
    )


def _effects(entries: Mapping[str, ServerEntry], params: Any) -> Effects:
    chosen = [entries[params.server]] if params.server in entries else list(entries.values())
    return Effects(own_hosts=tuple(host_of(one.url) for one in chosen if one.url is not None))


async def _listed(ask: AskServer, chosen: Mapping[str, ServerEntry], request: Any) -> Offered:
    found: dict[str, Any] = {}
    for name, entry in chosen.items():
        try:
            found[name] = await ask(entry, "list", request)
        except ToolError as problem:
            if len(chosen) == 1:
                raise
            found[name] = problem.message
    return Offered(source=source_note(", ".join(chosen)), servers=found)


def _chosen(entries: Mapping[str, ServerEntry], server: str | None) -> Mapping[str, ServerEntry]:
    return entries if server is None else {server: _one(entries, server, "")}


def _one(entries: Mapping[str, ServerEntry], server: str | None, tool: str) -> ServerEntry:
    """Return the server that is meant; the only one needs no name."""
    if server is None and len(entries) == 1:
        return next(iter(entries.values()))
    if server is None:
        message = f"{tool}: server: is required, as there are several: {', '.join(entries)}"
        raise invalid_params(message, {"server": "is required"})
    if server not in entries:
        message = f"there is no MCP server {server!r} here; there are {', '.join(entries)}"
        raise invalid_params(message, {"server": "is not known"})
    return entries[server]
