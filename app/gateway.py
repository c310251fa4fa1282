"""The application that the server has before the daemon is up, and in front of it afterwards.

Owns: what a request gets while the daemon starts, and when the start fails. Never: any route but `/healthz`.
"""

from __future__ import annotations

import asyncio

import orjson
from starlette.types import ASGIApp, Receive, Scope, Send

from app import __version__
from app.ids import new_id

HEALTH = orjson.dumps({"status": "ok", "version": __version__})
_NO_START = {
    "code": "unavailable",
    "message": "The daemon did not start; its log says why.",
    "details": {},
}


class Gateway:
    """Healthy at once, complete once it is opened. Other requests wait for that, or for `abandon`."""

    def __init__(self) -> None:
        self._app: ASGIApp | None = None
        self._decided = asyncio.Event()

    def open(self, app: ASGIApp) -> None:
        self._app = app
        self._decided.set()

    def abandon(self) -> None:
        """End the requests that wait for a start that has failed. Changes nothing once the daemon is up."""
        self._decided.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None and scope["type"] == "http" and scope["path"] == "/healthz":
            await _answer(send, 200, HEALTH)
            return
        await self._decided.wait()
        if self._app is not None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            request_id = new_id("req")
            body = orjson.dumps({"error": {**_NO_START, "request_id": request_id}})
            await _answer(send, 503, body, (b"x-request-id", request_id.encode()))
        else:
            await receive()
            await send({"type": "websocket.close"})


async def _answer(send: Send, status: int, body: bytes, *more: tuple[bytes, bytes]) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-store"),
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
