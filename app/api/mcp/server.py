"""The MCP server of the daemon: streamable HTTP, both eras of the protocol.

Owns: the handlers of the protocol, and the life of the transport. Never: authorisation of requests
(`access_middleware`) or of calls (`tools.dispatch`), which is that of an agent's calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
)
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app import __version__
from app.access.scopes import Principal
from app.api.access_middleware import PRINCIPAL_KEY
from app.api.mcp.ask_agent import ask_agent
from app.api.mcp.calls import Asker, Calls, Context
from app.api.mcp.names import SESSION
from app.api.mcp.own_tools import OWN_TOOLS
from app.api.mcp.results import data_result, error_result, result_of
from app.api.mcp.target import Target, target_of
from app.api.mcp.tool_list import listed, offered
from app.config import Settings
from app.daemon.services import Services
from app.errors import KagedError, NotFound, ValidationFailed
from app.harness.sessions import remote_client
from app.harness.sessions.remote_client import RemoteClient
from app.observability import without_controls
from app.tools.contract.definition import load_description

MAX_CONNECTIONS = 200
"""Connections of the older era that are open at once; those of the newer are single requests."""
IDLE_SECONDS = 1_800.0

T = TypeVar("T")


async def serve(
    services: Services, settings: Settings, started: asyncio.Future[ASGIApp], closing: asyncio.Event
) -> None:
    """Serve until `closing` is set; `started` gets the application that answers requests."""
    calls = Calls()
    try:
        manager = StreamableHTTPSessionManager(
            app=_Handlers(services, calls).server(),
            session_idle_timeout=IDLE_SECONDS,
            max_sessions=MAX_CONNECTIONS,
            max_request_body_size=settings.daemon.max_body_bytes,
        )

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            principal: Principal = scope[PRINCIPAL_KEY]
            # The transport lets only the same user go on with a connection.
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=principal.key, scopes=[]))
            await manager.handle_request(scope, receive, send)

        async with manager.run():
            started.set_result(answer)
            await closing.wait()
            await calls.close()
    except Exception as problem:  # who waits for the start hears of it
        if started.done():
            raise
        started.set_exception(problem)


@dataclass(frozen=True, slots=True)
class _Handlers:
    services: Services
    calls: Calls

    def server(self) -> Server[Any]:
        server: Server[Any] = Server(
            "kaged",
            version=__version__,
            title="kaged",
            instructions=load_description("app.api.mcp", "instructions.md"),
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
        )
        # Its own spans would take the trace of a client for ours.
        server.middleware.clear()
        return server

    async def list_tools(self, context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        target = _refusing(lambda: self._target(context))
        return ListToolsResult(tools=listed(target))

    async def call_tool(
        self, context: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        try:
            target = self._target(context)
        except KagedError as problem:
            return error_result(problem)

        async def work(asker: Asker) -> CallToolResult:
            try:
                return await _call(target, context, asker, params.name, dict(params.arguments or {}))
            except KagedError as problem:
                return error_result(problem)

        return await self.calls.run(target.principal.key, params, context, work)

    def _target(self, context: Context) -> Target:
        assert isinstance(context.request, Request)  # every transport here is HTTP
        return target_of(self.services, context.request)


def _refusing(work: Callable[[], T]) -> T:
    try:
        return work()
    except KagedError as problem:
        raise MCPError(INVALID_PARAMS, problem.message, {"code": problem.code}) from None


async def _call(
    target: Target, context: Context, asker: Asker, name: str, arguments: dict[str, Any]
) -> CallToolResult:
    own = OWN_TOOLS.get(name)
    if own is not None and own.is_offered(target):
        return await _own(target, context, asker, name, arguments)
    spec = offered(target).get(name)
    if spec is None:
        raise NotFound(f"There is no tool {name[:100]!r} for {target.agent.path} here. tools/list has them.")
    session_id = await target.own_session(arguments.pop(SESSION, None))

    async def consent(request: Any) -> Any:
        return await asker.consent(target.agent.path, request)

    remote = RemoteClient(consent, asker.progress, target.link(session_id), remote_client.CONSENT_SECONDS)
    envelope = await target.services.sessions.call_tool(
        session_id,
        spec.name,
        arguments,
        agent_path=target.agent.path,
        actor=target.principal.actor,
        consents=False,
        remote=remote,
    )
    return result_of(envelope)


async def _own(
    target: Target, context: Context, asker: Asker, name: str, arguments: dict[str, Any]
) -> CallToolResult:
    unknown = set(arguments) - {*OWN_TOOLS[name].properties, SESSION}
    if unknown:
        raise ValidationFailed(
            f"{name} has no such parameter.", fields=dict.fromkeys(sorted(unknown)[:10], "is not known")
        )
    sessions, handle = target.services.sessions, arguments.get(SESSION)
    if name == "open_session":
        return data_result(_opened(target, await _open(target, context, arguments.get("title"))))
    if name == "close_session":
        session_id = await target.own_session(handle)
        row = await sessions.archive(session_id)
        return data_result({"session": session_id, "state": row.state})
    given = handle is not None
    session_id = await (target.own_session(handle) if given else _open(target, context, None))
    return await ask_agent(target, asker, session_id, arguments.get("prompt"))


async def _open(target: Target, context: Context, title: object) -> str:
    client = context.session.client_params
    name = client.client_info.name if client is not None and client.client_info is not None else ""
    shown = title if isinstance(title, str) and title.strip() else f"MCP: {name or 'a client'}"
    row = await target.services.sessions.create(
        target.project.id,
        title=without_controls(shown)[:200],
        created_by=target.principal.actor,
    )
    return row.id


def _opened(target: Target, session_id: str) -> dict[str, Any]:
    return {
        "session": session_id,
        "project": target.project.slug,
        "agent": target.agent.path,
        "link": target.link(session_id),
    }
