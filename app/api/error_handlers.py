"""Errors as clients see them: one body for every status, one close code for every refusal.

Owns: the mapping from exceptions to answers, without details of the daemon's inside. Never: codes and
statuses, which are on the error classes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, get_args

import orjson
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from pydantic import BaseModel
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope
from starlette.websockets import WebSocket

from app.api.close_codes import (
    CLOSE_BAD_REQUEST,
    CLOSE_FORBIDDEN,
    CLOSE_INTERNAL,
    CLOSE_NOT_FOUND,
    CLOSE_RATE_LIMITED,
    CLOSE_RESTART,
    CLOSE_UNAUTHENTICATED,
)
from app.api.protocol_errors import DO_NOT_RETRY, protocol_error, retried, speaks_protocol
from app.api.sign_in import sign_in_page
from app.errors import BadRequest, KagedError, MethodNotAllowed, NotFound, PayloadTooLarge, ValidationFailed
from app.nearest_names import did_you_mean
from app.observability import Redactor
from app.tools.dispatch.arguments import length_in_words

REQUEST_ID_KEY = "kaged.request_id"

_CLOSE_CODES = {
    401: CLOSE_UNAUTHENTICATED,
    403: CLOSE_FORBIDDEN,
    404: CLOSE_NOT_FOUND,
    429: CLOSE_RATE_LIMITED,
    503: CLOSE_RESTART,
}
RETRY_AFTER = "retry_after_seconds"
"""In an error's details: also sent as the header `Retry-After`."""

MAX_FIELDS = 50
MAX_NAME = 100
"""How many wrong fields an answer names, and how much of each part of a name."""

_METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")
_FRAMEWORK_STATUSES = (400, 401, 403, 404, 405, 406, 413, 415, 422)
_LOCATIONS = ("body", "query", "path", "header", "cookie")


def request_id_of(connection: HTTPConnection) -> str:
    """Return the id that the answer to this request bears."""
    return str(connection.scope.get(REQUEST_ID_KEY, ""))


def error_body(error: KagedError, request_id: str, redactor: Redactor | None = None) -> bytes:
    message, details = error_words(error, redactor)
    body: dict[str, Any] = {"code": error.code, "message": message, "request_id": request_id}
    if details:
        body["details"] = details
    return orjson.dumps({"error": body}, default=str)


def error_words(error: KagedError, redactor: Redactor | None) -> tuple[str, dict[str, Any]]:
    """Return an error's message and details without secrets. What the daemon's inside has to say may hold
    any; what is wrong with a request speaks of that request, and only known secrets are masked."""
    if redactor is None:
        return error.message, error.details
    if error.status >= 500:
        return redactor.text(error.message), redactor.data(error.details)
    return redactor.known(error.message), redactor.known(error.details)


def redactor_of(scope: Scope) -> Redactor | None:
    """Return what knows the daemon's secrets; None while there are no services."""
    services = getattr(scope["app"].state, "services", None) if "app" in scope else None
    return services.redactor if services is not None else None


def error_response(scope: Scope, error: KagedError, request_id: str) -> Response:
    """Return the whole answer for `error`, in the shape that the path has."""
    redactor, headers = redactor_of(scope), {}
    if error.status == 401:
        headers["www-authenticate"] = "Bearer"
    if error.status == 405:
        headers["allow"] = ", ".join(error.details.get("allow", ()))
    if error.status == 416:
        headers["content-range"] = f"bytes */{error.details['size']}"
    if RETRY_AFTER in error.details:
        headers["retry-after"] = str(error.details[RETRY_AFTER])
    if speaks_protocol(scope["path"]):
        if not retried(error):
            headers[DO_NOT_RETRY] = "false"
        body = protocol_error(error, error_words(error, redactor)[0])
        return Response(body, error.status, headers, "application/json")
    page = sign_in_page(scope, error)
    return page or Response(
        error_body(error, request_id, redactor), error.status, headers, "application/json"
    )


def close_code(error: KagedError) -> int:
    """Return the WebSocket close code that says what `error` says."""
    if error.status in _CLOSE_CODES:
        return _CLOSE_CODES[error.status]
    return CLOSE_INTERNAL if error.status >= 500 else CLOSE_BAD_REQUEST


def close_reason(error: KagedError) -> str:
    """Return what fits into a close frame (123 bytes): the code, and what is wrong with which parameter."""
    reason = str(error.details.get("reason", error.code))
    fields = error.details.get("fields")
    if fields:
        reason += ": " + "; ".join(f"{name}: {text}" for name, text in fields.items())
    return reason.encode()[:123].decode(errors="ignore")


def validation_error(errors: list[Any], shape: Any = None) -> ValidationFailed:
    """Turn pydantic's findings into one error that maps each field to what is wrong; `shape` is the type of
    the body, whose fields are named beside an unknown one."""
    fields = {}
    for finding in errors[:MAX_FIELDS]:
        location = list(finding.get("loc", ()))
        if len(location) > 1 and location[0] in _LOCATIONS:
            location = location[1:]
        name = ".".join(str(part)[:MAX_NAME] for part in location) or "body"
        fields[name] = _sentence(finding, shape, location)
    noun = "field is" if len(errors) == 1 else "fields are"
    names = ", ".join(fields) + (", ..." if len(errors) > MAX_FIELDS else "")
    return ValidationFailed(f"{len(errors)} {noun} not valid: {names}.", fields=fields)


def _sentence(finding: Any, shape: Any, location: list[int | str]) -> str:
    match finding.get("type"):
        case "extra_forbidden":
            return _unknown_field(shape, location)
        case "missing":
            return "is required"
        case "too_long" | "too_short":
            return length_in_words(finding) or str(finding["msg"])
        case _:
            return str(finding.get("msg", "is not valid")).removeprefix("Value error, ")


def from_framework(status: int, detail: str, allow: Collection[str], method: str, path: str) -> KagedError:
    """Turn what the framework refuses by itself into one of our errors; `allow` has the methods that are
    possible at `path`."""
    match status:
        case 404:
            return NotFound(f"There is nothing at {path}.", reason="no_such_route")
        case 405:
            return MethodNotAllowed(
                f"{path} does not support {method}; it supports {', '.join(allow)}.",
                details={"allow": list(allow)},
            )
        case 413:
            return PayloadTooLarge("The body is too large.")
        case _:
            return BadRequest(detail)


# The framework calls one handler with requests and with WebSockets, hence `Any` in these three.


async def _answer_kaged_error(connection: Any, error: Exception) -> Any:
    assert isinstance(error, KagedError)
    return await _answer(connection, error)


async def _answer_framework(connection: Any, error: Exception) -> Any:
    status = getattr(error, "status_code", 400)
    known = from_framework(
        status,
        str(getattr(error, "detail", "The request is not valid.")),
        _methods_at(connection) if status == 405 else (),
        str(connection.scope.get("method", "GET")),
        connection.scope["path"],
    )
    return await _answer(connection, known)


def _methods_at(connection: Any) -> list[str]:
    """Return what is possible at the address: each method is a route of its own, and the framework names
    those of the first one only."""
    return [
        method
        for method in _METHODS
        if any(
            route.matches({**connection.scope, "method": method})[0] is Match.FULL
            for route in connection.app.routes
        )
    ]


async def _answer_validation(connection: Any, error: Exception) -> Any:
    assert isinstance(error, RequestValidationError | WebSocketRequestValidationError)
    body = getattr(connection.scope.get("route"), "body_field", None)
    shape = body.field_info.annotation if body is not None else None
    return await _answer(connection, validation_error(list(error.errors()), shape))


async def _answer(connection: HTTPConnection, error: KagedError) -> Response | None:
    if isinstance(connection, WebSocket):
        await refuse_websocket(connection, error)
        return None
    return error_response(connection.scope, error, request_id_of(connection))


async def refuse_websocket(websocket: WebSocket, error: KagedError) -> None:
    """Close with the code for `error`. A client sees the code only of an accepted socket, so an
    unaccepted one is accepted first; nothing else is sent."""
    if websocket.client_state.name == "CONNECTING":
        await websocket.receive()
    if websocket.application_state.name == "CONNECTING":
        await websocket.accept(subprotocol=offered_subprotocol(websocket))
    await websocket.close(close_code(error), close_reason(error))


def offered_subprotocol(connection: HTTPConnection) -> str | None:
    """Return the subprotocol to select: a browser gives up when none of its offers is taken."""
    offered: list[str] = list(connection.scope.get("subprotocols", ()))
    known = [name for name in offered if name.startswith("kaged.")]
    return min(known, key=lambda name: name.startswith("kaged.bearer."), default=None)


def install_error_handlers(app: FastAPI) -> None:
    """Answer every exception that is not a defect; defects are caught by `boundary`."""
    app.add_exception_handler(KagedError, _answer_kaged_error)
    for status in _FRAMEWORK_STATUSES:
        app.add_exception_handler(status, _answer_framework)
    app.add_exception_handler(RequestValidationError, _answer_validation)
    app.add_exception_handler(WebSocketRequestValidationError, _answer_validation)


def _unknown_field(shape: Any, place: Sequence[int | str]) -> str:
    """Return the message about the unknown field at `place` in a body of the given type: the fields that are
    known there, and the one that was probably meant. Of a place that the type does not tell, neither."""
    known = list(_model_at(shape, place[:-1]))
    if not known:
        return "unknown field"
    hint = did_you_mean(str(place[-1]), known, quote="")
    return f"unknown field (known: {', '.join(known)}){hint}"


def _model_at(shape: Any, place: Sequence[int | str]) -> Sequence[str]:
    """Return the names of the fields of the object at `place`; a list's items are numbers in it."""
    for part in place:
        model = _model_in(shape)
        if model is None:
            return ()
        if isinstance(part, int):
            continue  # an item of the list whose items are this model
        field = model.model_fields.get(part)
        shape = field.annotation if field is not None else None
    model = _model_in(shape)
    return () if model is None else tuple(model.model_fields)


def _model_in(shape: Any) -> type[BaseModel] | None:
    """Return the first model in a type: itself, or one of its arguments (`list[Model] | None`)."""
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        return shape
    return next((model for argument in get_args(shape) if (model := _model_in(argument))), None)
