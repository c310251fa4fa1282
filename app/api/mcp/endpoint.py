"""The address `/mcp`: starts the MCP server at its first request.

Owns: when the server is loaded, started and stopped. Never: the protocol (`server`, which an idle daemon does
not load), or who is let in (`access_middleware`).
"""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

from starlette.datastructures import Headers
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.access_rules import check_origin
from app.api.mcp.names import PATH
from app.config import Settings
from app.errors import Unavailable


class McpEndpoint:
    """One for each application. `close` ends every call that is under way."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = asyncio.Lock()
        self._serving: asyncio.Task[None] | None = None
        self._handler: ASGIApp | None = None
        self._closing = asyncio.Event()

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        check_origin(Headers(scope=scope), scope["scheme"], self._settings.auth)
        handler = await self._started(scope["app"].state.services)

        async def copied(message: Message) -> None:
            # The library sends one list of headers with many answers, and the layers above add to it.
            if message["type"] == "http.response.start":
                message = {**message, "headers": list(message["headers"])}
            await send(message)

        await handler(scope, receive, copied)

    async def close(self) -> None:
        """End the calls, and answer no more."""
        self._closing.set()
        if self._serving is not None:
            await asyncio.gather(self._serving, return_exceptions=True)

    async def _started(self, services: Any) -> ASGIApp:
        async with self._lock:
            if self._closing.is_set():
                raise Unavailable("The daemon stops.", reason="stopping")
            if self._handler is None:
                module = await asyncio.to_thread(importlib.import_module, "app.api.mcp.server")
                started: asyncio.Future[ASGIApp] = asyncio.get_running_loop().create_future()
                self._serving = asyncio.create_task(
                    module.serve(services, self._settings, started, self._closing), name="mcp server"
                )
                self._handler = await started
            return self._handler


class _Entrance:
    """The same for all applications; each has an endpoint of its own."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint: McpEndpoint = scope["app"].state.mcp
        await endpoint.handle(scope, receive, send)


ROUTE = Route(PATH, _Entrance(), include_in_schema=False)
