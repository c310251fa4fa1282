"""An answer as a stream of server-sent events.

Owns: the order of events, keep-alive comments, and a client that reads nothing. Never: what an event says.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.api.attendance import ClientLeft
from app.errors import KagedError

KEEP_ALIVE = b": keep-alive\n\n"
DONE = b"data: [DONE]\n\n"
STALL_SECONDS = 30.0
_QUEUED_EVENTS = 64

Write = Callable[[bytes], Awaitable[None]]
Attend = Callable[[Callable[[], Awaitable[None]], Receive], Awaitable[None]]


def event(data: bytes) -> bytes:
    """Return one event; `data` is JSON in one line."""
    return b"data: " + data + b"\n\n"


class EventStream(Response):
    """Sends the events of `source` as they come. `attend` runs the sending while the client is there."""

    media_type = "text/event-stream"

    def __init__(
        self,
        source: AsyncGenerator[bytes, None],
        attend: Attend,
        *,
        refusal: Callable[[KagedError], bytes],
        headers: dict[str, str],
        quiet_seconds: float,
    ) -> None:
        """`refusal` gives the event of an error that ends the stream."""
        super().__init__(b"", 200, {"cache-control": "no-store", "x-accel-buffering": "no", **headers})
        del self.headers["content-length"]
        self._source = source
        self._attend = attend
        self._refusal = refusal
        self._quiet_seconds = quiet_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send everything until the source ends or the client leaves."""
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}

        async def write(data: bytes) -> None:
            try:
                async with asyncio.timeout(STALL_SECONDS):
                    await send({"type": "http.response.body", "body": data, "more_body": True})
            except (TimeoutError, OSError):
                raise ClientLeft from None

        async def serve() -> None:
            await send(start)
            await self._serve(write)
            await send({"type": "http.response.body", "body": b"", "more_body": False})

        try:
            await self._attend(serve, receive)
        except ClientLeft:
            return
        except KagedError as refused:
            with suppress(ClientLeft):
                await write(self._refusal(refused))
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _serve(self, write: Write) -> None:
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(_QUEUED_EVENTS)

        async def pump() -> None:
            try:
                async for data in self._source:
                    await queue.put(data)
            except Exception:
                await queue.put(None)
                raise
            await queue.put(None)

        pumping = asyncio.create_task(pump(), name="events of a chat completion")
        try:
            while True:
                try:
                    async with asyncio.timeout(self._quiet_seconds):
                        data = await queue.get()
                except TimeoutError:
                    if pumping.done() and queue.empty():  # it was cancelled from within
                        return await pumping
                    data = KEEP_ALIVE
                if data is None:
                    return await pumping
                await write(data)
        finally:
            pumping.cancel()
            await asyncio.gather(pumping, return_exceptions=True)
            await self._source.aclose()
