"""The MCP server over standard input and output: it passes requests on to the daemon's `/mcp`.

Owns: the session that belongs to this process, and asking a client of the older era of the protocol. Never: a
tool.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlencode

import httpx2
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    InputRequiredResult,
    InputResponses,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from mcp_types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from app import __version__
from app.api.mcp.consent import can_ask
from app.api.mcp.names import NEW_SESSION_TOOLS, PATH, SESSION
from app.cli.client import DaemonClient
from app.cli.connected import Connected
from app.cli.conversation import open_project
from app.cli.daemon_address import path_part
from app.cli.output import CommandFailed
from app.tools.contract.definition import load_description

Context: TypeAlias = ServerRequestContext[Any, Any]
Called: TypeAlias = CallToolResult | InputRequiredResult
T = TypeVar("T")
_CALLED: TypeAdapter[Called] = TypeAdapter(Called)


async def run(daemon: Connected, agent: str | None) -> int:
    """Serve until standard input ends. Raises `CommandFailed` without a daemon, or without the project."""
    project = await open_project(daemon.client, daemon.project)
    query = {"project": project["id"], **({"agent": agent} if agent else {})}
    async with daemon.client.patient() as http:
        bridge = _Bridge(daemon.client, http, query)
        try:
            async with stdio_server() as (reading, writing):
                server = bridge.server()
                await server.run(reading, writing, server.create_initialization_options())
        finally:
            await bridge.close()
    return 0


class _Bridge:
    """One process of a client."""

    def __init__(self, daemon: DaemonClient, http: httpx2.AsyncClient, query: dict[str, str]) -> None:
        self._daemon = daemon
        self._http = http
        self._query = query
        self._own: str | None = None
        self._opening = asyncio.Lock()

    def server(self) -> Server[Any]:
        return Server(
            "kaged",
            version=__version__,
            title="kaged",
            instructions=load_description("app.api.mcp", "instructions_stdio.md"),
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    async def close(self) -> None:
        """Close the session of this process, with the commands and debug sessions in it."""
        if self._own is not None:
            with suppress(CommandFailed):
                await self._daemon.request("POST", f"/sessions/{path_part(self._own)}/archive")

    async def _list_tools(self, context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        page = PaginatedRequestParams(cursor=None if params is None else params.cursor)
        try:
            result = await self._through(context, lambda client: client.session.list_tools(params=page))
        except CommandFailed as failure:
            raise MCPError(INTERNAL_ERROR, failure.message, {"code": failure.code}) from None
        for tool in result.tools:
            required = tool.input_schema.get("required", [])
            if tool.name not in NEW_SESSION_TOOLS and SESSION in required:
                # The session of this process stands in.
                tool.input_schema["required"] = [name for name in required if name != SESSION]
        return result

    async def _call_tool(self, context: Context, params: CallToolRequestParams) -> Called:
        arguments = dict(params.arguments or {})
        uses_own = params.name not in NEW_SESSION_TOOLS and SESSION not in arguments
        try:
            if uses_own:
                arguments[SESSION] = await self._own_session(context)
            params = params.model_copy(update={"arguments": arguments, "meta": None})
            result = await self._answered(context, params)
        except CommandFailed as failure:
            text = f"Error {failure.code}: {failure.message}"
            return CallToolResult(content=[TextContent(text=text)], is_error=True)
        if uses_own and params.name == "close_session" and not getattr(result, "is_error", True):
            self._own = None
        return result

    async def _answered(self, context: Context, params: CallToolRequestParams) -> Called:
        """Return the daemon's answer. A client of the newer era answers its questions by another request;
        any other is asked meanwhile."""
        is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS

        async def call(client: Client) -> Called:
            wanted = params
            while True:
                result = await client.session.send_request(
                    CallToolRequest(params=wanted), _CALLED, progress_callback=context.session.report_progress
                )
                if is_modern or not isinstance(result, InputRequiredResult):
                    return result
                answers, state = await _asked(context, result), result.request_state
                wanted = wanted.model_copy(update={"input_responses": answers, "request_state": state})

        return await self._through(context, call)

    async def _through(self, context: Context, work: Callable[[Client], Awaitable[T]]) -> T:
        """Do `work` with a client of the daemon, which says what the client here says of itself.

        Raises the daemon's `MCPError`, and `CommandFailed` when the daemon does not answer."""
        shows_forms = can_ask(context.session.client_capabilities)
        known = context.session.client_params
        address = f"{str(self._http.base_url).rstrip('/')}{PATH}?{urlencode(self._query)}"
        client = Client(
            streamable_http_client(address, http_client=self._http),
            mode=LATEST_MODERN_VERSION,
            elicitation_callback=_never if shows_forms else None,
            client_info=None if known is None else known.client_info,
            cache=None,
        )
        try:
            async with client:
                try:
                    return await work(client)
                except MCPError as problem:
                    refused = problem  # raised outside: the block would wrap it
        except ExceptionGroup as group:
            if group.subgroup(httpx2.HTTPError) is None:
                raise
            raise CommandFailed("unreachable", "the daemon does not answer; is it running?") from None
        raise refused

    async def _own_session(self, context: Context) -> str:
        """Return the session of this process; the first call opens it."""
        async with self._opening:
            if self._own is None:
                opened = await self._through(context, lambda client: client.call_tool("open_session", {}))
                if opened.is_error:
                    code, _, message = _text_of(opened).removeprefix("Error ").partition(": ")
                    raise CommandFailed(code, message)
                self._own = str(opened.structured_content[SESSION])
            return self._own


def _text_of(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


async def _never(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    """Declares that forms are shown; the questions come as results, which are answered above."""
    return ElicitResult(action="cancel")


async def _asked(context: Context, asked: InputRequiredResult) -> InputResponses:
    answers: InputResponses = {}
    for key, request in (asked.input_requests or {}).items():
        if isinstance(request, ElicitRequest) and isinstance(request.params, ElicitRequestFormParams):
            form = request.params
            answers[key] = await context.session.elicit_form(
                form.message, form.requested_schema, context.request_id
            )
    return answers
