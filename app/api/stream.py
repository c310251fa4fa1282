"""The WebSockets: the events of one session, and the state changes of all sessions.

Owns: a socket's life from handshake to close code. Never: order, replay or merging of events
(`harness.stream.event_hub`), or who may connect (`access_middleware`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, WebSocket
from starlette.websockets import WebSocketDisconnect

from app.access.scopes import Principal
from app.api.access_middleware import SECRET_KEY
from app.api.client_frames import (
    Answer,
    Cancel,
    Pause,
    Ping,
    Subscribe,
    error_text,
    owners_error_text,
    parse_client_frame,
    pong_text,
)
from app.api.close_codes import (
    CLOSE_BAD_REQUEST,
    CLOSE_IDLE,
    CLOSE_NOT_FOUND,
    CLOSE_RATE_LIMITED,
    CLOSE_RESTART,
    CLOSE_TOO_SLOW,
    CLOSE_UNSUPPORTED_DATA,
)
from app.api.dependencies import PrincipalDep, ServicesDep, SessionId
from app.api.error_handlers import close_code, close_reason, offered_subprotocol, refuse_websocket
from app.api.kaged_route import PREFIX
from app.api.rate_limits import Allowance, RateLimits
from app.api.scope_rules import READS_SESSION
from app.api.socket_commands import OwnerRefused, SocketCommands
from app.daemon.services import Services
from app.errors import BadRequest, KagedError, StorageError
from app.harness.stream.frames import HubClosed, SessionDeleted, TooSlow
from app.harness.stream.subscription import Source

router = APIRouter(prefix=PREFIX)

MAX_BAD_FRAMES = 10
SEND_STALL_SECONDS = 30.0
WATCH_SECONDS = 5.0
"""Between two looks at the clock and at the client's access, at most."""


class _Closing(Exception):
    """Ends all tasks of the socket and closes it with this code."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


@router.websocket("/sessions/{session_id}/ws", dependencies=READS_SESSION)
async def stream_session(
    websocket: WebSocket,
    services: ServicesDep,
    principal: PrincipalDep,
    session_id: SessionId,
    after_seq: Annotated[int, Query(ge=0, le=2**62)] = 0,
    snapshots: Literal["missed", "all"] = "missed",
) -> None:
    async def subscribe() -> Source:
        return await services.events.subscribe(session_id, after_seq, all_snapshots=snapshots == "all")

    async with services.management.folders.changes.news.followed(session_id):
        await _serve(websocket, services, principal, subscribe, session_id)


@router.websocket("/ws")
async def stream_all(websocket: WebSocket, services: ServicesDep, principal: PrincipalDep) -> None:
    async def subscribe() -> Source:
        return services.events.subscribe_all()

    await _serve(websocket, services, principal, subscribe, None)


async def _serve(
    websocket: WebSocket,
    services: Services,
    principal: Principal,
    subscribe: Callable[[], Awaitable[Source]],
    session_id: str | None,
) -> None:
    limits: RateLimits = websocket.app.state.limits
    try:
        with limits.socket(principal) as allowance:
            await _Socket(websocket, services, principal, await subscribe(), session_id, allowance).run()
    except HubClosed:
        await websocket.accept(subprotocol=offered_subprotocol(websocket))
        await websocket.close(CLOSE_RESTART, "restart")
    except KagedError as error:
        await refuse_websocket(websocket, error)


class _Socket:
    """One open socket: a task sends, a task reads, a task checks time-outs."""

    def __init__(
        self,
        websocket: WebSocket,
        services: Services,
        principal: Principal,
        source: Source,
        session_id: str | None,
        allowance: Allowance,
    ) -> None:
        self._websocket = websocket
        self._allowance = allowance
        self._services = services
        self._principal = principal
        self._source = source
        self._commands = SocketCommands(websocket, services, principal, session_id)
        self._channels: frozenset[str] | None = None
        self._bad_frames = 0
        self._active_at = time.monotonic()
        self._sending_since: float | None = None
        self._open_parts: set[asyncio.Task[None]] = set()
        self._close_with: tuple[int, str] | None = None

    async def run(self) -> None:
        """Serve the socket until either side closes it. Never raises because of a client."""
        try:
            await self._websocket.accept(subprotocol=offered_subprotocol(self._websocket))
            async with asyncio.TaskGroup() as tasks:
                parts = [self._send(), self._read(), self._watch()]
                self._open_parts.update(tasks.create_task(self._until_the_end(part)) for part in parts)
        except WebSocketDisconnect:
            return
        finally:
            self._source.close()
        if self._close_with is not None:
            await self._close(*self._close_with)

    async def _until_the_end(self, part: Coroutine[Any, Any, None]) -> None:
        """Run one of the tasks; the first that ends says how the socket closes, and ends the others.

        An exception that left the group of tasks would keep the frames of the socket, and with them the
        socket, until the next garbage collection."""
        how: tuple[int, str] | None = None
        try:
            await part
        except _Closing as closing:
            how = (closing.code, closing.reason)
        except WebSocketDisconnect:
            pass  # there is nobody to tell
        open_parts, self._open_parts = self._open_parts, set()
        if open_parts:
            self._close_with = how
        for task in open_parts - {asyncio.current_task()}:
            task.cancel()

    async def _close(self, code: int, reason: str) -> None:
        try:
            await self._websocket.close(code, reason)
        except (RuntimeError, WebSocketDisconnect):
            # The client is gone.
            return

    async def _send(self) -> None:
        try:
            async for batch in self._source.batches():
                for _, channel, text in batch:
                    if self._channels is None or channel in self._channels:
                        await self._send_text(text)
                if any('"type":"heartbeat"' not in text[:120] for _, _, text in batch):
                    self._active_at = time.monotonic()
        except TooSlow:
            raise _Closing(CLOSE_TOO_SLOW, "too_slow") from None
        except HubClosed:
            raise _Closing(CLOSE_RESTART, "restart") from None
        except SessionDeleted:
            raise _Closing(CLOSE_NOT_FOUND, "deleted") from None
        except StorageError:
            raise _Closing(CLOSE_RESTART, "unavailable") from None

    async def _send_text(self, text: str) -> None:
        self._sending_since = time.monotonic()
        await self._websocket.send_text(text)
        self._sending_since = None

    async def _read(self) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message.get("code", 1005), message.get("reason"))
            self._active_at = time.monotonic()
            if self._allowance.take("frames"):
                raise _Closing(CLOSE_RATE_LIMITED, "too_many_frames")
            text = message.get("text")
            try:
                if text is None:
                    raise BadRequest("Send frames as JSON text, not as bytes.", reason="binary_frame")
                await self._follow(text)
            except KagedError as error:
                await self._complain(error, CLOSE_UNSUPPORTED_DATA if text is None else CLOSE_BAD_REQUEST)

    async def _complain(self, error: KagedError, malformed_code: int) -> None:
        """Send the error; close the socket of a client that keeps sending malformed frames."""
        await self._send_text(error_text(error, self._services.redactor))
        if error.status == 400:
            self._bad_frames += 1
            if self._bad_frames >= MAX_BAD_FRAMES:
                raise _Closing(malformed_code, "too_many_bad_frames")

    async def _follow(self, text: str) -> None:
        frame = parse_client_frame(text)
        match frame:
            case Ping():
                await self._send_text(pong_text(frame))
            case Subscribe():
                self._channels = frozenset(frame.channels)
            case Cancel() | Pause() | Answer():
                try:
                    await self._commands.follow(frame)
                except OwnerRefused as refusal:
                    await self._send_text(owners_error_text(refusal.error))

    async def _watch(self) -> None:
        """Close the socket of a client that stalls, is idle, or lost its access."""
        settings = self._services.settings.daemon
        period = min(settings.heartbeat_seconds, settings.idle_timeout_seconds / 4, WATCH_SECONDS)
        secret: str | None = self._websocket.scope.get(SECRET_KEY)
        access = self._services.access
        with access.watched(self._principal) as revoked:
            while True:
                await self._confirm(secret)
                with suppress(TimeoutError):
                    async with asyncio.timeout(period):
                        await revoked.wait()
                self._check_clock()

    async def _confirm(self, secret: str | None) -> None:
        try:
            await self._services.access.confirm(self._principal, secret)
        except KagedError as error:
            raise _Closing(close_code(error), close_reason(error)) from None

    def _check_clock(self) -> None:
        now = time.monotonic()
        if self._sending_since is not None and now - self._sending_since > SEND_STALL_SECONDS:
            raise _Closing(CLOSE_TOO_SLOW, "too_slow")
        if now - self._active_at > self._services.settings.daemon.idle_timeout_seconds:
            raise _Closing(CLOSE_IDLE, "idle")
