"""Authentication: checks host, origin and identity of every request and WebSocket.

Owns: applying `access_rules` before a route is reached. Never: the rules, or answers (`boundary` renders
errors).
Keeps S15 of docs/security.md.
"""

from __future__ import annotations

import asyncio

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from app.access.scopes import Principal
from app.access.tokens import AccessControl
from app.api.access_rules import (
    PUBLIC_PATHS,
    SAFE_METHODS,
    allowed_hosts,
    authenticate,
    check_host,
    check_origin,
    check_write,
)
from app.api.base_path import check_prefix
from app.api.passage import clients_ends
from app.api.project_owner import Owners
from app.api.rate_limits import RateLimits
from app.bridges.processes.tcp_peers import PEER_KEY, Peer, peer_descends_through
from app.config import Settings
from app.errors import Forbidden, KagedError, Unauthenticated

PRINCIPAL_KEY = "kaged.principal"
SECRET_KEY = "kaged.secret"
LAUNCH_PATH = "/launch"


class AccessMiddleware:
    """Pure ASGI, so that streams and WebSockets pass untouched."""

    def __init__(self, app: ASGIApp, *, settings: Settings, limits: RateLimits, owners: Owners) -> None:
        self._app = app
        self._owners = owners
        self._limits = limits
        self._settings = settings
        self._hosts = allowed_hosts(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            await self._admit(scope)
        if PRINCIPAL_KEY in scope:
            services, principal = scope["app"].state.services, scope[PRINCIPAL_KEY]
            taken = await self._owners.take(services, principal, scope, receive, send)
            if taken is None:
                return
            receive = taken
        await self._app(scope, receive, send)

    async def _admit(self, scope: Scope) -> None:
        connection = HTTPConnection(scope)
        writes = scope["type"] == "http" and scope["method"] not in SAFE_METHODS
        try:
            check_host(connection.headers, self._hosts)
            if writes or scope["type"] == "websocket":
                check_origin(connection.headers, scope["scheme"], self._settings.auth)
            check_prefix(scope)
        except KagedError:
            self._limits.anonymous(scope)
            raise
        if scope["path"] in PUBLIC_PATHS:
            self._limits.anonymous(scope)
            if scope["path"] == LAUNCH_PATH:
                await refuse_descendant(scope)
            return
        services = connection.app.state.services
        principal, secret = await self._known(connection, services.access)
        if not principal.is_caged:
            await refuse_descendant(scope)
        await connection.app.state.bound_operations.check(principal, connection, services.storage)
        if writes:
            check_write(connection, principal, secret)
        scope[PRINCIPAL_KEY] = principal
        scope[SECRET_KEY] = secret

    async def _known(self, connection: HTTPConnection, access: AccessControl) -> tuple[Principal, str | None]:
        """Return who is asking, counted among what that one asks."""
        try:
            principal, secret = await authenticate(connection, access)
        except Unauthenticated:
            self._limits.failed(connection.scope)
            raise
        self._limits.request(principal, connection.scope)
        return principal, secret


async def refuse_descendant(scope: Scope) -> None:
    """Refuse a client that the daemon started itself: a command of an agent must not act as the operator.
    Looked up once per connection, off the event loop."""
    peer: Peer = scope.get("state", {}).get(PEER_KEY) or Peer()
    if await peer.descends(scope.get("client"), scope.get("server")) or await _came_round(scope):
        raise Forbidden(
            "A process that the daemon started may not act as the operator. Run the command outside the "
            "daemon, or give it a token of its agent (`kaged token create NAME --session ID --agent PATH`).",
            reason="started_by_daemon",
        )


async def _came_round(scope: Scope) -> bool:
    """Tell whether the daemon's own descendant has asked another daemon on this machine, which has passed the
    request on."""
    ends, peer, here = clients_ends(scope), scope.get("client"), scope.get("server")
    if ends is None or peer is None or here is None:
        return False
    try:
        return await asyncio.to_thread(peer_descends_through, *ends, peer, here)
    except (OSError, ValueError):
        return False
