"""Errors in the shape of the chat-completions protocol.

Owns: that shape, and which paths have it. Never: codes and statuses, which are on the error classes.
"""

from __future__ import annotations

import orjson

from app.errors import BadRequest, KagedError

PREFIX = "/v1/"
PARAM = "param"
"""In an error's details: the field that is wrong."""
DO_NOT_RETRY = "x-should-retry"
"""With the value `false` the protocol's official clients do not send the request again by themselves."""

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    409: "conflict_error",
    429: "rate_limit_error",
}


def speaks_protocol(path: str) -> bool:
    """Tell whether errors at a path have the protocol's shape."""
    return path.startswith(PREFIX)


def bad_field(param: str, message: str, reason: str = "unsupported_parameter") -> BadRequest:
    """Return the refusal of one field of a request."""
    return BadRequest(message, reason=reason, details={PARAM: param})


def protocol_error(error: KagedError, message: str) -> bytes:
    """Return the JSON of an error; `message` is its message without secrets."""
    fields = error.details.get("fields")
    param = error.details.get(PARAM)
    if param is None and isinstance(fields, dict) and fields:
        param = str(next(iter(fields)))
        message = f"{message} {param}: {fields[param]}"
    kind = _TYPES.get(error.status, "server_error" if error.status >= 500 else "invalid_request_error")
    code = str(error.details.get("reason", error.code))
    return orjson.dumps({"error": {"message": message, "type": kind, "param": param, "code": code}})


def retried(error: KagedError) -> bool:
    """Tell whether a client does well to send the same request again by itself. It does not where a run of
    the agent has begun, or may have, or somebody else has to act first."""
    return error.status in (408, 429, 503) and error.details.get("reason") != "outcome_unknown"
