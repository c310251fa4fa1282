"""The daemon's refusals as errors of the protocol.

Owns: which code and text an editor gets. Never: the texts themselves, which are the daemon's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from acp import RequestError

from app.cli.output import CommandFailed

INVALID_PARAMS, INTERNAL, AUTH_REQUIRED, NOT_FOUND = -32602, -32603, -32000, -32002
_CODES = {
    "bad_request": INVALID_PARAMS,
    "validation_failed": INVALID_PARAMS,
    "payload_too_large": INVALID_PARAMS,
    "dsl_invalid": INVALID_PARAMS,
    "no_project": INVALID_PARAMS,
    "project_untrusted": INVALID_PARAMS,
    "usage": INVALID_PARAMS,
    "not_found": NOT_FOUND,
    "unauthenticated": AUTH_REQUIRED,
    "auth": AUTH_REQUIRED,
}
MAX_DIAGNOSTICS = 5


def refused(code: str, message: str, details: Any = None) -> RequestError:
    """Return an error with a code of kaged as the editor gets it."""
    return RequestError(_CODES.get(code, INTERNAL), message, {"code": code, "details": details or {}})


@contextmanager
def as_errors() -> Iterator[None]:
    """Raise what the daemon refuses as an error of the protocol."""
    try:
        yield
    except CommandFailed as failure:
        raise refused(failure.code, _text(failure), failure.details) from failure


def _text(failure: CommandFailed) -> str:
    lines = [failure.message]
    for found in failure.details.get("diagnostics", ())[:MAX_DIAGNOSTICS]:
        lines.append(f"{found['file']}:{found['line']}:{found['column']}: {found['message']}")
    return "\n".join(lines)
