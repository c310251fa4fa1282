"""The MCP server of the daemon: streamable HTTP, both eras of the protocol.

Owns: the handlers of the protocol, and the life of the transport. Never: authorisation of requests
(`access_middleware`) or of calls (`tools.dispatch`), which is that of an agent's calls.
"""

from __future__ import annotations

import asyncio
import logging
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
from app.api.mcp.ask_agent import ask_agent, checked_prompt
from app.api.mcp.calls import Asker, Calls, Context
from app.api.mcp.names import SESSION
from app.api.mcp.own_tools import OWN_TOOLS
from app.api.mcp.results import data_result, error_result, result_of
from app.api.mcp.target import OwnSession, Target, target_of
from app.api.mcp.tool_list import listed, offered
from app.config import Settings
from app.daemon.services import Services
from app.errors import KagedError, NotFound, ValidationFailed
from app.harness.sessions import remote_client
from app.harness.sessions.opening import Opening
from app.harness.sessions.remote_client import RemoteClient
from app.observability import without_controls
from app.tools.contract.definition import load_description

MAX_CONNECTIONS = 200
"""Connections of the older era that are open at once; those of the newer are single requests."""
IDLE_SECONDS = 1_800.0

T = TypeVar("T")
log = logging.getLogger("kaged.mcp")


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
    except Exception as problem:
        if started.done():
            log.exception("the MCP server has failed")
            raise
        started.set_exception(problem)  # who waits for the start hears of it


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
    if name in OWN_TOOLS:
        return await _own(target, context, asker, name, arguments)
    spec = offered(target).get(name)
    if spec is None:
        message = f"There is no tool {name[:100]!r} for {target.agent.path} here. tools/list has them."
        raise MCPError(INVALID_PARAMS, message, {"code": NotFound.code})
    session = await target.own_session(arguments.pop(SESSION, None))
    path = session.path_of(target.agent.path)

    async def consent(request: Any) -> Any:
        return await asker.consent(target.agent.path, request)

    remote = RemoteClient(consent, asker.progress, target.link(session.id), remote_client.CONSENT_SECONDS)
    envelope = await target.services.sessions.call_tool(
        session.id,
        spec.name,
        arguments,
        agent_path=path,
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
        title = arguments.get("title")
        return data_result(_opened(target, await _open(target, context, target.agent.path, title)))
    if name == "close_session":
        session = await target.own_session(handle)
        row = await sessions.archive(session.id)
        return data_result({"session": session.id, "state": row.state})
    prompt = checked_prompt(arguments.get("prompt"))
    return await ask_agent(
        target, asker, await _asked(target, context, arguments.get("agent"), handle), prompt
    )


async def _asked(target: Target, context: Context, agent: object, handle: object) -> OwnSession:
    """Return the session in which an agent is asked. A handle's has its agent already.

    Raises `NotFound` for an agent that may not be asked, `ValidationFailed` for one of another session."""
    if handle is None:
        return await _open(target, context, target.to_ask(agent))
    session = await target.own_session(handle)
    if agent not in (None, session.root):
        raise ValidationFailed(
            f"This session talks to {session.root}. Leave out `session` to ask another agent.",
            fields={"agent": f"is not {session.root}"},
        )
    target.to_ask(session.root)
    return session


async def _open(target: Target, context: Context, agent_path: str, title: object = None) -> OwnSession:
    client = context.session.client_params
    name = client.client_info.name if client is not None and client.client_info is not None else ""
    shown = title if isinstance(title, str) and title.strip() else f"MCP: {name or 'a client'}"
    opening = Opening(target.project.id, agent_path, title=without_controls(shown)[:200], headless=False)
    row = await target.services.sessions.open(opening, created_by=target.principal.owner)
    return OwnSession(row.id, agent_path)


def _opened(target: Target, session: OwnSession) -> dict[str, Any]:
    return {
        "session": session.id,
        "project": target.project.slug,
        "agent": session.root,
        "link": target.link(session.id),
    }
