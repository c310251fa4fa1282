"""The route class of every operation: strict bodies before the route, idempotency around it.

Owns: how a request's body reaches the framework. Never: what the operation does.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from app.api.access_middleware import PRINCIPAL_KEY
from app.api.idempotency import HEADER, Idempotency
from app.api.json_body import parse_json
from app.api.operator_audit import note_operation
from app.errors import BadRequest

PREFIX = "/api/v1"

_JSON_TYPES = ("application/json", "")


IdempotencyKeyHeader = Annotated[
    str | None,
    Header(
        alias=HEADER,
        description="At most 255 printable characters. A repeated key with the same body returns the first "
        "answer; with another body it is a conflict.",
        max_length=255,
    ),
]


async def _declare_idempotency_key(idempotency_key: IdempotencyKeyHeader = None) -> None:
    """Puts the header into the OpenAPI document; `KagedRoute` is what acts on it."""


async def _declare_claimed_key(idempotency_key: IdempotencyKeyHeader = None) -> None:
    """As above, for `CLAIMED`."""


IDEMPOTENT = Depends(_declare_idempotency_key)
"""For an operation that stores its effect with its key (`storage.keyed_effect`), or that has the same effect
when it is done again."""
CLAIMED = Depends(_declare_claimed_key)
"""For an operation with more than one effect, or with one outside the database: its key is claimed first."""


class KagedRoute(APIRoute):
    """Parses JSON bodies strictly, and runs operations marked `IDEMPOTENT` or `CLAIMED` once for each key.
    An operation's id is the name of its function, unless it has one."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        operation_id = options.pop("operation_id", None) or endpoint.__name__
        super().__init__(path, endpoint, operation_id=operation_id, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()
        takes_json = self.body_field is not None
        claimed = CLAIMED in self.dependencies
        idempotent = claimed or IDEMPOTENT in self.dependencies
        operation = self.operation_id or self.name

        async def noted(request: Request) -> Response:
            answer = await handler(request)
            await note_operation(request, operation, answer)
            return answer

        if not takes_json and not idempotent:
            return noted

        async def strict(request: Request) -> Response:
            body = await request.body()
            if takes_json:
                _check_json(request, body)
            key = request.headers.get(HEADER) if idempotent else None
            if key is None:
                return await noted(request)
            idempotency: Idempotency = request.app.state.idempotency
            answer = await idempotency.once(
                request.app.state.services.storage,
                scope=scope_of_key(request),
                key=key,
                body=body + b"?" + request.scope["query_string"],
                call=lambda: handler(request),
                claimed=claimed,
            )
            # Only now: were it not stored, the key would be given back for what has happened.
            await note_operation(request, operation, answer)
            return answer

        return strict


def scope_of_key(request: Request) -> str:
    """Return what an idempotency key is unique within: who asks for which operation."""
    return f"{request.scope[PRINCIPAL_KEY].key} {request.method} {request.url.path}"


def _check_json(request: Request, body: bytes) -> None:
    """Parse the body once, here, and leave the value where the framework looks for it."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if body and content_type not in _JSON_TYPES and not content_type.endswith("+json"):
        raise BadRequest(
            "Send the body as JSON, with `Content-Type: application/json`.", reason="unsupported_content_type"
        )
    if body:
        request._json = parse_json(body)


def noun_router(tag: str, *, prefix: str = PREFIX) -> APIRouter:
    """Return the router of one noun; its operations bear `tag`."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=KagedRoute, strict_content_type=False)
