"""The outermost layer of the HTTP interface, in pure ASGI.

Owns: request ids, security headers, limits of bodies, malformed addresses, `Retry-After`, unexpected errors.
Never: who may send a request (`access_middleware`) or what a route does.
Keeps S18 and S21 of docs/security.md.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.utils import ClientDisconnected

from app.api.base_path import without_slash
from app.api.error_handlers import REQUEST_ID_KEY, RETRY_AFTER, error_response, refuse_websocket
from app.config import Settings
from app.errors import BadRequest, InternalError, KagedError, PayloadTooLarge, RequestTooSlow, Unavailable
from app.ids import new_id

logger = logging.getLogger("kaged.api")

_REQUEST_ID = re.compile(r"^[A-Za-z0-9._:-]{1,64}$")

IMPORT_PATH = "/api/v1/sessions/import"
MAX_IMPORT_BYTES = 256 * 1024 * 1024
"""Exported sessions are larger than any other body."""

_UPLOAD_PATH = re.compile(r"/api/v1/(uploads|sessions/[^/]+/interactions/[^/]+/files)")
_AROUND_A_FILE = 64 * 1024
"""The overhead of a form around a file; the file itself is measured where it is written."""

BODY_SECONDS = 20.0
BODY_BYTES_PER_SECOND = 1_024
"""The time for a body, extended as its bytes arrive. Uploads have their own limits."""
RETRY_SECONDS = {429: 1, 503: 5}
"""The default of `Retry-After`."""

TRUSTED_TYPES = ("svelte-trusted-html", "kaged-markdown", "kaged-worker")
"""Who may make HTML or the addresses of scripts on the page: its framework, the sanitiser of Markdown, and
what starts workers (`web/src/policies.ts`)."""

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; "
    f"frame-ancestors 'none'; trusted-types {' '.join(TRUSTED_TYPES)}; require-trusted-types-for 'script'"
)

_NO_FEATURES = ", ".join(
    f"{feature}=()"
    for feature in (
        *("accelerometer", "camera", "display-capture", "geolocation", "gyroscope", "magnetometer"),
        *("microphone", "midi", "payment", "publickey-credentials-get", "screen-wake-lock", "serial"),
        *("usb", "xr-spatial-tracking"),
    )
)
"""Browser features that the page never uses."""

_SECURITY_HEADERS = (
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-frame-options", "DENY"),
    ("content-security-policy", CONTENT_SECURITY_POLICY),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("x-permitted-cross-domain-policies", "none"),
    ("permissions-policy", _NO_FEATURES),
)


class BoundaryMiddleware:
    """Wraps the whole application, including the exception handling of the framework."""

    def __init__(self, app: ASGIApp, *, settings: Settings) -> None:
        self._app = app
        self._warning = ", ".join(_warnings(settings))
        self._max_body_bytes = settings.daemon.max_body_bytes
        self._max_upload_bytes = settings.limits.max_upload_bytes + _AROUND_A_FILE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = _request_id(scope)
        started = False

        async def decorated(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(raw=message["headers"])
                self._decorate(headers, request_id)
                if message["status"] in RETRY_SECONDS:
                    headers.setdefault("retry-after", str(RETRY_SECONDS[message["status"]]))
                if message["status"] == RequestTooSlow.status:
                    headers["connection"] = "close"
            await send(message)

        in_time = _UPLOAD_PATH.fullmatch(scope["path"]) is None
        body = _BoundedBody(scope, receive, self._limit(scope), in_time=in_time)
        try:
            _check_address(scope)
            body.check_announced()
            await (without_slash(scope) or self._app)(scope, body.receive, decorated)
        except ClientDisconnect:
            return  # in the middle of its body
        except Exception as error:  # the edge: whatever happens below, the client gets one error body
            known = error if isinstance(error, KagedError) else _defect(error, scope, request_id)
            if started:
                raise
            answer = error_response(scope, known, request_id)
            await answer(scope, receive, decorated)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_id = _request_id(scope)

        async def decorated(message: Message) -> None:
            if message["type"] == "websocket.accept":
                headers = [*message.get("headers", ()), (b"x-request-id", request_id.encode())]
                if self._warning:
                    headers.append((b"x-kaged-warning", self._warning.encode()))
                message["headers"] = headers
            await send(message)

        try:
            _check_address(scope)
            await self._app(scope, receive, decorated)
        except KagedError as error:
            with suppress(WebSocketDisconnect, ClientDisconnected):
                await refuse_websocket(WebSocket(scope, receive, decorated), error)
        except (WebSocketDisconnect, ClientDisconnected):
            return  # before it was let in
        except Exception as error:  # the edge: the server closes the socket, the log has the reason
            _defect(error, scope, request_id)
            raise

    def _decorate(self, headers: MutableHeaders, request_id: str) -> None:
        headers["x-request-id"] = request_id
        for name, value in _SECURITY_HEADERS:
            headers.setdefault(name, value)
        headers.setdefault("cache-control", "no-store")
        if self._warning:
            headers["x-kaged-warning"] = self._warning

    def _limit(self, scope: Scope) -> int:
        if scope["path"] == IMPORT_PATH:
            return MAX_IMPORT_BYTES
        return self._max_upload_bytes if _UPLOAD_PATH.fullmatch(scope["path"]) else self._max_body_bytes


def _warnings(settings: Settings) -> Iterator[str]:
    """Yield the warnings that every answer has in its headers."""
    if settings.auth.mode == "insecure":
        yield "insecure"
    if settings.sandbox.mode == "off":
        yield "no-sandbox"


class _BoundedBody:
    """A request's body up to a limit, and `in_time`. The server reads and drops what a client sends after the
    answer, so that the answer reaches it."""

    def __init__(self, scope: Scope, receive: Receive, limit: int, *, in_time: bool) -> None:
        announced = Headers(scope=scope).get("content-length", "")
        self._receive = receive
        self._limit = limit
        self._received = 0
        self._waited = 0.0
        self._is_awaited = in_time
        self._announced = int(announced) if announced.isdigit() else 0

    def check_announced(self) -> None:
        """Refuse a body whose `Content-Length` is too large."""
        if self._announced > self._limit:
            raise _too_large(self._limit)

    async def receive(self) -> Message:
        if self._is_awaited:
            message = await self._receive_in_time()
        else:
            message = await self._receive()
        if message["type"] == "http.request":
            self._is_awaited = self._is_awaited and message.get("more_body", False)
            self._received += len(message.get("body", b""))
            if self._received > self._limit:
                raise _too_large(self._limit)
        return message

    async def _receive_in_time(self) -> Message:
        clock = asyncio.get_running_loop().time
        begun = clock()
        try:
            async with asyncio.timeout(BODY_SECONDS + self._received / BODY_BYTES_PER_SECOND - self._waited):
                return await self._receive()
        except TimeoutError:
            raise RequestTooSlow(
                f"The body is too slow: {self._received} bytes arrived in "
                f"{self._waited + clock() - begun:.0f} s.",
                reason="body_too_slow",
            ) from None
        finally:
            self._waited += clock() - begun


def _request_id(scope: Scope) -> str:
    sent = Headers(scope=scope).get("x-request-id", "")
    request_id = sent if _REQUEST_ID.match(sent) else new_id("req")
    scope[REQUEST_ID_KEY] = request_id
    return request_id


def _check_address(scope: Scope) -> None:
    query: bytes = scope.get("query_string", b"")
    if "\x00" in scope["path"] or b"%00" in query or b"\x00" in query:
        raise BadRequest("The address contains a NUL character.", reason="nul_character")


def _too_large(limit: int) -> PayloadTooLarge:
    return PayloadTooLarge(
        f"The body is larger than {limit} bytes.", reason="body_too_large", details={"max_bytes": limit}
    )


def _defect(error: Exception, scope: Scope, request_id: str) -> KagedError:
    if isinstance(error, MemoryError):
        logger.warning(
            "no memory for %s %s (request %s)", scope.get("method", "WS"), scope["path"], request_id
        )
        return Unavailable(
            "There is not enough memory to answer this request. Ask for less at once, or try again later.",
            reason="out_of_memory",
            details={RETRY_AFTER: 5},
        )
    logger.error(
        "unhandled error in %s %s (request %s)",
        scope.get("method", "WS"),
        scope["path"],
        request_id,
        exc_info=error,
    )
    return InternalError(
        "The daemon failed to answer this request. Its log has the reason under the request id."
    )
