"""Every error that kaged raises on purpose, with its code, HTTP status and audience.

Owns: the error classes and their stable codes. Never: formatting for one particular edge.
Two audiences: clients of the HTTP interface (`KagedError`) and the model (`ToolError`). A `Failure` has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class Failure(Exception):
    """What one part of the daemon raises for another; `reason` says why, in words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class KagedError(Exception):
    """An error that a client of the daemon gets.

    `details` is JSON-ready. A more specific machine-readable code goes in `reason`,
    which is sent as `details.reason`.
    """

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500

    def __init__(
        self,
        message: str,
        *,
        reason: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = dict(details or {})
        if reason is not None:
            self.details["reason"] = reason


class BadRequest(KagedError):
    code = "bad_request"
    status = 400


class ValidationFailed(KagedError):
    """One or more fields are wrong; `details.fields` maps a field's path to what is wrong."""

    code = "validation_failed"
    status = 400

    def __init__(self, message: str, *, fields: Mapping[str, str], reason: str | None = None) -> None:
        super().__init__(message, reason=reason, details={"fields": dict(fields)})


class Unauthenticated(KagedError):
    code = "unauthenticated"
    status = 401


class Forbidden(KagedError):
    code = "forbidden"
    status = 403


class NotFound(KagedError):
    code = "not_found"
    status = 404


class MethodNotAllowed(KagedError):
    code = "method_not_allowed"
    status = 405


class Conflict(KagedError):
    code = "conflict"
    status = 409


class ProjectUntrusted(Conflict):
    """Nobody trusts the project, so nothing of it runs; `details` has its id and digest."""

    code = "project_untrusted"


class Gone(KagedError):
    code = "gone"
    status = 410


class RequestTooSlow(KagedError):
    """The body does not arrive in time."""

    code = "request_too_slow"
    status = 408


class PayloadTooLarge(KagedError):
    code = "payload_too_large"
    status = 413


class RangeNotSatisfiable(KagedError):
    """No byte of the file is in the range that is asked for; `details.size` is the file's size."""

    code = "range_not_satisfiable"
    status = 416

    def __init__(self, message: str, *, size: int) -> None:
        super().__init__(message, details={"size": size})


class ProjectFileInvalid(KagedError):
    """The project file does not compile; `details.diagnostics` lists every finding."""

    code = "dsl_invalid"
    status = 422


class RateLimited(KagedError):
    code = "rate_limited"
    status = 429


class InternalError(KagedError):
    code = "internal"
    status = 500


class Unavailable(KagedError):
    code = "unavailable"
    status = 503


class InsufficientStorage(KagedError):
    """There is no room on the disk; the message says where."""

    code = "insufficient_storage"
    status = 507


class ConfigError(KagedError):
    """The local configuration is wrong; the message names the key and what to write."""

    code = "config_invalid"
    status = 500


class StorageError(KagedError):
    """The database cannot be used; the message says what the operator can do."""

    code = "unavailable"
    status = 503


class StorageOutage(StorageError):
    """The database cannot be written at present (a full disk, a server that is away): the same write may
    work later."""


class ToolError(Exception):
    """A tool's failure, as the model reads it.

    `code` is the stable string of the sources (`file_not_read`); `rpc_code` the JSON-RPC
    number where the sources give one; `detail` is JSON-ready.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        detail: Mapping[str, Any] | None = None,
        rpc_code: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail: dict[str, Any] = dict(detail or {})
        if rpc_code is not None:
            self.detail["rpc_code"] = rpc_code


def invalid_params(message: str, fields: Mapping[str, str], **detail: object) -> ToolError:
    """Return the error for wrong parameters of a tool. `fields` says what is wrong with each."""
    detail = {"fields": dict(fields), **detail} if fields else detail
    return ToolError("invalid_params", message, detail=detail, rpc_code=RPC_INVALID_PARAMS)


RPC_TOOL_NOT_FOUND = -32601
RPC_INVALID_PARAMS = -32602
RPC_CAPABILITY_DENIED = -32001
