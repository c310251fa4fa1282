"""The events of a session or of all sessions, over lost connections. Asynchronous.

Owns: connecting, resuming, pings, the deadline. Never: what an event means.
"""

from __future__ import annotations

import asyncio
import ssl
import weakref
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kaged_client._answer import unreachable
from kaged_client._call import Attempts, Settings, retry_after
from kaged_client._generated.events import Event
from kaged_client._position import (
    CLOSE_SECONDS,
    MAX_FRAME_BYTES,
    OPEN_SECONDS,
    PING,
    Position,
    pause_after_close,
    refused_handshake,
)

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection


class AsyncEventStream:
    """An asynchronous iterator over events, without end. Each durable event comes once and in order, whatever
    happens to the connection or the daemon. `last_seq` is where another stream could continue. Close it, or
    use it in an `async with` statement; closing ends the stream, not the run."""

    def __init__(
        self, settings: Settings, path: str, position: Position, opened: weakref.WeakSet[AsyncEventStream]
    ) -> None:
        self._settings = settings
        self._path = path
        self._position = position
        self._attempts = Attempts(settings.retry_seconds)
        self._socket: ClientConnection | None = None
        self._closed = False
        opened.add(self)

    @property
    def last_seq(self) -> int | None:
        """The number of the newest durable event that was handed on."""
        return self._position.last_seq

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        from websockets.exceptions import ConnectionClosed

        while not self._closed:
            seconds = self._position.wait_seconds()
            await self.connect()
            if self._socket is None:
                break
            try:
                async with asyncio.timeout(seconds):
                    text = await self._socket.recv()
            except TimeoutError:
                await self._ping()
                continue
            except ConnectionClosed:
                await self._lost(self._socket)
                continue
            event = self._position.take(text)
            if event is not None:
                if event.type != "sync":
                    self._attempts.restart()
                return event
        raise StopAsyncIteration

    async def connect(self) -> None:
        """Connect now, not with the first event."""
        if self._socket is None and not self._closed:
            self._socket = await self._connect()

    async def close(self) -> None:
        """End the stream; safe to call twice. The run continues."""
        self._closed = True
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _ping(self) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            if self._socket is not None:
                await self._socket.send(PING)
        except ConnectionClosed:
            pass  # the next read says why

    async def _lost(self, socket: ClientConnection) -> None:
        self._socket = None
        await socket.close()
        least = pause_after_close(socket.close_code, socket.close_reason or "")
        await self._wait(least, ConnectionError("the connection was lost"))

    async def _connect(self) -> ClientConnection:
        from websockets.asyncio.client import connect
        from websockets.exceptions import InvalidStatus, WebSocketException

        secure = None
        if self._settings.url.startswith("https:"):
            secure = await asyncio.to_thread(ssl.create_default_context)
        while True:
            least = 0.0
            try:
                return await connect(
                    self._settings.socket_url + self._path + self._position.query(),
                    additional_headers=self._settings.token.headers(),
                    ssl=secure,
                    proxy=None,
                    max_size=MAX_FRAME_BYTES,
                    open_timeout=min(OPEN_SECONDS, self._position.wait_seconds()),
                    close_timeout=CLOSE_SECONDS,
                )
            except InvalidStatus as refused:
                error = refused_handshake(refused.response.status_code, bytes(refused.response.body or b""))
                if error is not None:
                    raise error from None
                least = retry_after(refused.response.headers.get("Retry-After"))
                failure: Exception = refused
            except (OSError, EOFError, WebSocketException) as lost:
                failure = lost
            await self._wait(least, failure)

    async def _wait(self, least: float, failure: Exception) -> None:
        pause = self._attempts.pause(least)
        if pause is None:
            raise unreachable(self._settings, failure) from None
        await asyncio.sleep(min(pause, self._position.wait_seconds()))
