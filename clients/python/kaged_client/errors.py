"""What can go wrong, as exceptions. Each says what to do."""

from __future__ import annotations

from typing import Any


class KagedError(Exception):
    """Every error of this package."""


class ConnectionFailed(KagedError):
    """The daemon did not answer within the time for retries."""


class DeadlineExceeded(KagedError, TimeoutError):
    """The `timeout` of a stream has passed. The run continues in the daemon; `cancel()` ends it."""


class StreamRefused(KagedError):
    """The daemon closed the WebSocket with a code after which another connection makes no sense."""

    def __init__(self, message: str, *, close_code: int) -> None:
        super().__init__(message)
        self.close_code = close_code


class MessageRemoved(KagedError):
    """Somebody removed the queued message before a run began with it."""


class AnswerNeeded(KagedError):
    """`wait()` without `on_question` met a question. The run waits for the answer in the daemon."""

    def __init__(self, interaction_id: str, session_id: str) -> None:
        super().__init__(
            f"The session {session_id} waits for an answer to {interaction_id}. Pass `on_question`. "
            "If somebody else answers, use `wait(others_answer=True)`. With `headless=True` nobody is asked."
        )
        self.interaction_id = interaction_id
        self.session_id = session_id


class RunFailed(KagedError):
    """The run did not succeed; `state` and `reason` say how it ended."""

    def __init__(self, run_id: str, state: str, reason: str | None, error: dict[str, Any] | None) -> None:
        detail = f": {error['message']}" if error and isinstance(error.get("message"), str) else ""
        super().__init__(f"The run {run_id} ended as {state} ({reason}){detail}")
        self.run_id = run_id
        self.state = state
        self.reason = reason
        self.error = error


class ApiError(KagedError):
    """An answer of the daemon that is an error. `code` is stable; `reason` is more specific."""

    hint = ""
    """What to do about errors of this class."""

    def __init__(
        self, status: int, code: str, message: str, *, details: dict[str, Any], request_id: str | None
    ) -> None:
        reason = details.get("reason")
        self.status = status
        self.code = code
        self.message = message
        self.details = details
        self.reason = reason if isinstance(reason, str) else None
        self.request_id = request_id
        more = f"/{self.reason}" if self.reason else ""
        super().__init__(" ".join(filter(None, (f"{code}{more} ({status}):", message, self._advice()))))

    def _advice(self) -> str:
        return _REASONS.get(self.reason or "", self.hint)


class BadRequest(ApiError):
    """The request is malformed, or a field is not valid: `details["fields"]` has the error of each."""


class Unauthenticated(ApiError):
    hint = "Pass the content of `token` in the daemon's data folder, or a token of `kaged token create`."


class Forbidden(ApiError):
    hint = "Use a token whose scope allows this."


class NotFound(ApiError):
    """The object does not exist."""


class Conflict(ApiError):
    """The operation is not possible now; `reason` says why."""


class ProjectUntrusted(Conflict):
    hint = "Read what the project would do (`projects.get(...).trust.acts`), then call `projects.trust`."


class Gone(ApiError):
    """The object existed and is no longer stored."""


class TooLarge(ApiError):
    """The body is larger than `details["max_bytes"]`."""


class DslInvalid(ApiError):
    hint = "`details['diagnostics']` has file, line and column of each error."


class RateLimited(ApiError):
    hint = "Wait and try again; a longer `retry_seconds` of the client does it for you."


class Unavailable(ApiError):
    hint = "Try again when the daemon is ready (`health.get_readiness()` says what is missing)."


class ServerError(ApiError):
    hint = "The daemon's log has the request id."


_REASONS = {
    "outcome_unknown": "The operation may have happened: read the object. Use another key to repeat it.",
    "idempotency_key_reused": "Use another `idempotency_key` for another body.",
    "run_in_progress": "Wait for the run, or post with `mode='queue'` or `mode='steer'`.",
    "already_answered": "Somebody else has answered; `details` has the answer.",
    "queue_full": "Wait until a run has ended, then post again.",
}
_CLASSES: dict[str, type[ApiError]] = {
    "bad_request": BadRequest,
    "validation_failed": BadRequest,
    "unauthenticated": Unauthenticated,
    "forbidden": Forbidden,
    "not_found": NotFound,
    "conflict": Conflict,
    "project_untrusted": ProjectUntrusted,
    "gone": Gone,
    "payload_too_large": TooLarge,
    "dsl_invalid": DslInvalid,
    "rate_limited": RateLimited,
    "unavailable": Unavailable,
    "internal": ServerError,
}


def api_error(status: int, body: Any, request_id: str | None = None) -> ApiError:
    """Return the error of an answer, whatever its body is."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        error = {}
    code = str(error.get("code", "failed"))
    details = error.get("details")
    known = _CLASSES.get(code, ServerError if status >= 500 else ApiError)
    return known(
        status,
        code,
        str(error.get("message", f"The daemon answered with status {status}.")),
        details=details if isinstance(details, dict) else {},
        request_id=str(error.get("request_id") or request_id or "") or None,
    )
