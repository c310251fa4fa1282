"""The access log: one record for each request, and two for each WebSocket.

Owns: what a record holds. Never: query strings, headers or bodies, which may hold secrets.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.access.scopes import Principal
from app.api.access_middleware import PRINCIPAL_KEY
from app.api.error_handlers import REQUEST_ID_KEY
from app.ids import Prefix, is_id
from app.observability import log_event, without_controls

logger = logging.getLogger("kaged.access")

REQUEST = "http.request"
OPENED = "websocket.opened"
CLOSED = "websocket.closed"

_OF_MONITORS = frozenset({"/healthz", "/readyz", "/api/v1/metrics"})
"""Asked every few seconds: logged at `debug` unless they fail."""
_NAMED: Mapping[str, Prefix] = MappingProxyType({"session_id": "ses", "run_id": "run", "project_id": "prj"})
"""The parameters of routes that a record has, and the prefixes of their ids."""
_PATH_CHARACTERS = 200
_ABNORMAL = 1006
"""The close code of a WebSocket whose connection ended without one."""


class AccessLogMiddleware:
    """The outermost layer: it sees the status that a client gets, whichever layer answers."""

    def __init__(self, app: ASGIApp, *, routes: Sequence[BaseRoute]) -> None:
        self._app = app
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun, status, sent = time.monotonic(), None, 0

        async def counted(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, counted)
        finally:
            fields = {"method": scope["method"], **self._where(scope), "status": status}
            quiet = fields["route"] in _OF_MONITORS and status is not None and status < 400
            level = logging.DEBUG if quiet else logging.INFO
            _log(REQUEST, scope, {**fields, "duration_ms": _since(begun), "bytes": sent}, level)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun, code = time.monotonic(), _ABNORMAL
        received, sent = 0, 0

        async def taken(*_: Any) -> Message:
            nonlocal code, received
            message = await receive()
            if message["type"] == "websocket.receive":
                received += 1
            elif message["type"] == "websocket.disconnect":
                code = message.get("code") or code
            return message

        async def counted(message: Message) -> None:
            nonlocal code, sent
            if message["type"] == "websocket.send":
                sent += 1
            elif message["type"] == "websocket.close":
                code = message.get("code") or code
            await send(message)
            if message["type"] == "websocket.accept":
                _log(OPENED, scope, self._where(scope))

        try:
            await self._app(scope, taken, counted)
        finally:
            counts = {"frames_received": received, "frames_sent": sent}
            closed = {"code": code, "duration_ms": _since(begun), **counts}
            _log(CLOSED, scope, {**self._where(scope), **closed})

    def _where(self, scope: Scope) -> dict[str, Any]:
        """Return the template of the route and what its parameters name. Only a request that no route takes
        has its path in the log."""
        route = scope.get("route") or self._route_of(scope)
        if route is None:
            path = without_controls(scope["path"][:_PATH_CHARACTERS])
            return {"route": None, "path": path}
        names: dict[str, Any] = scope.get("path_params") or {}
        named = {name: names[name] for name, kind in _NAMED.items() if is_id(str(names.get(name, "")), kind)}
        return {"route": route.path, **named}

    def _route_of(self, scope: Scope) -> Any:
        """Return the route of a request that was refused before it was looked for."""
        partial = None
        for route in self._routes:
            match, _ = route.matches(scope)
            if match is Match.FULL:
                return route
            if match is Match.PARTIAL and partial is None:
                partial = route
        return partial


def _log(event: str, scope: Scope, fields: dict[str, Any], level: int = logging.INFO) -> None:
    principal: Principal | None = scope.get(PRINCIPAL_KEY)
    client = scope.get("client")
    log_event(
        logger,
        event,
        level=level,
        **fields,
        request_id=scope.get(REQUEST_ID_KEY),
        actor=principal.actor if principal is not None else None,
        client=client[0] if client else None,
    )


def _since(begun: float) -> float:
    return round((time.monotonic() - begun) * 1000, 1)
