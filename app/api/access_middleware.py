"""The gate: no request and no WebSocket passes without host, origin and identity checked.

Owns: applying `access_rules` to each connection before a route sees it. Never: the rules, and
never answers; what it raises is rendered by `boundary`.
"""

from __future__ import annotations

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from app.access_tokens import AccessControl
from app.api.access_rules import (
    PUBLIC_PATHS,
    SAFE_METHODS,
    allowed_hosts,
    authenticate,
    check_host,
    check_origin,
    check_write,
)
from app.api.scope_rules import check_scope
from app.config import Settings

PRINCIPAL_KEY = "kaged.principal"
SECRET_KEY = "kaged.secret"


class AccessMiddleware:
    """Pure ASGI, so that streams and WebSockets pass untouched."""

    def __init__(self, app: ASGIApp, *, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = allowed_hosts(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            await self._admit(scope)
        await self._app(scope, receive, send)

    async def _admit(self, scope: Scope) -> None:
        connection = HTTPConnection(scope)
        check_host(connection.headers, self._hosts)
        writes = scope["type"] == "http" and scope["method"] not in SAFE_METHODS
        if writes or scope["type"] == "websocket":
            check_origin(connection.headers, scope["scheme"], self._settings.auth)
        if scope["path"] in PUBLIC_PATHS:
            return
        services = connection.app.state.services
        access: AccessControl = services.access
        principal, secret = await authenticate(connection, access)
        await check_scope(principal, connection, services.storage)
        if writes:
            check_write(connection, principal, secret)
        scope[PRINCIPAL_KEY] = principal
        scope[SECRET_KEY] = secret
