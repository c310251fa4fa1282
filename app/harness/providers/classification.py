"""What a provider's failure means: from status, headers and body to one `ProviderError`.

Owns: the tables of phrases, codes and statuses, the reading of retry hints, and the removal of
credentials from messages. Never: I/O, or deciding what to do about the failure (`retry`, `router`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from app.harness.providers.errors import ProviderError, ProviderErrorKind

MESSAGE_LIMIT = 2_000
"""Longest part of a provider's own words that a message carries, in characters."""

CONTEXT_LENGTH_PHRASES: tuple[tuple[str, str], ...] = (
    ("openai", r"maximum context length is"),
    ("openai", r"exceeds? the context window"),
    ("openai", r"input tokens exceed the configured limit"),
    ("openai", r"string too long\. expected a string with maximum length"),
    ("anthropic", r"prompt is too long"),
    ("anthropic", r"exceeds? (the )?context limit"),
    ("anthropic", r"request exceeds the maximum size"),
    ("google", r"input token count.{0,40} exceeds the maximum number of tokens"),
    ("google", r"input token count is .{0,40} but (the )?model only supports"),
    ("azure", r"input or output tokens must be reduced"),
    ("azure", r"please reduce (the length of )?(your|the) (prompt|messages)"),
    ("ollama", r"input length exceeds (the )?(maximum )?context length"),
    ("ollama", r"exceeded max context length"),
    ("vllm", r"longer than the maximum model length"),
    ("vllm", r"max_model_len|maximum model length"),
    ("vllm", r"context length is only \d+ tokens"),
    ("sglang", r"longer than the model's context length|the model's maximum context length"),
    ("sglang", r"exceeds the maximum allowed length"),
    ("llama.cpp", r"exceeds? the available context size"),
    ("llama.cpp", r"context size (has been )?exceeded"),
    ("openrouter", r"endpoint's maximum context length"),
    ("lm studio", r"greater than the context length|context the overflows"),
    ("lm studio", r"cannot truncate prompt with n_keep"),
    ("mistral", r"too large for model with .{0,20} maximum context length"),
    ("x-ai", r"maximum prompt length is"),
    ("bedrock", r"input is too long for requested model"),
    ("moonshot", r"exceeded model token limit"),
    ("minimax", r"context window exceeds limit"),
    ("github copilot", r"prompt token count of \d+ exceeds the limit of"),
)
"""Who says it, and the words (a regular expression, any case) that mean: the conversation does
not fit the model."""

_CONTEXT_LENGTH = re.compile("|".join(f"(?:{words})" for _, words in CONTEXT_LENGTH_PHRASES), re.IGNORECASE)

_KIND_BY_CODE: dict[str, ProviderErrorKind] = {
    "context_length_exceeded": "context_length",
    "string_above_max_length": "context_length",
    "exceed_context_size_error": "context_length",
    "request_too_large": "context_length",
    "model_max_prompt_tokens_exceeded": "context_length",
    "content_filter": "content_refused",
    "content_policy_violation": "content_refused",
    "responsibleaipolicyviolation": "content_refused",
    "insufficient_quota": "auth",
    "billing_error": "auth",
    "billing_hard_limit_reached": "auth",
    "invalid_api_key": "auth",
    "api_key_invalid": "auth",
    "authentication_error": "auth",
    "permission_error": "auth",
    "permission_denied": "auth",
    "unauthenticated": "auth",
    "rate_limit_error": "rate_limited",
    "rate_limit_exceeded": "rate_limited",
    "resource_exhausted": "rate_limited",
    "tokens": "rate_limited",
    "requests": "rate_limited",
    "overloaded_error": "overloaded",
    "server_error": "overloaded",
    "internal_server_error": "overloaded",
    "internal_error": "overloaded",
    "internal": "overloaded",
    "api_error": "overloaded",
    "timeout_error": "overloaded",
    "deadline_exceeded": "overloaded",
    "unavailable": "overloaded",
    "service_unavailable": "overloaded",
    "engine_overloaded": "overloaded",
    "vector_store_timeout": "overloaded",
    "invalid_request_error": "bad_request",
    "invalid_prompt": "bad_request",
    "invalid_argument": "bad_request",
    "failed_precondition": "bad_request",
    "not_found": "bad_request",
    "not_found_error": "bad_request",
    "model_not_found": "bad_request",
    "badrequesterror": "bad_request",
}
"""Codes, types and status names of all providers, in lower case."""

_KIND_BY_STATUS: dict[int, ProviderErrorKind] = {
    401: "auth",
    402: "auth",
    403: "auth",
    408: "overloaded",
    413: "context_length",
    425: "overloaded",
    429: "rate_limited",
    498: "overloaded",
    529: "overloaded",
}

_NEVER_ABOUT_LENGTH = frozenset({401, 402, 403, 404, 429})
"""A limit of tokens per minute is worded nearly like a full context."""

_KEY_SHAPES = re.compile(
    r"\b(?:sk|gsk|xai|pk)[-_][A-Za-z0-9_*\-]{8,}|\bAIza[A-Za-z0-9_\-]{16,}|(?<=Bearer )\S+"
)


@dataclass(frozen=True, slots=True)
class Failure:
    """The facts of a provider's error body, whatever its shape."""

    message: str
    codes: tuple[str, ...]
    status: int | None
    retry_after: float | None


def provider_error(
    *,
    provider: str,
    model: str,
    status: int | None,
    body: Any,
    headers: Mapping[str, str] | None = None,
    secrets: Iterable[str] = (),
) -> ProviderError:
    """Classify one failure. `body` is bytes as received or an already decoded JSON value;
    `status` is None for an error inside a stream. Every string of `secrets` is removed."""
    failure = read_failure(body)
    effective = status if status is not None and status >= 400 else failure.status or status
    kind = classify(effective, failure)
    hint = retry_after(headers or {})
    words = failure.message or "no explanation in the answer"
    where = f"HTTP {status}" if status is not None else "error inside the stream"
    return ProviderError(
        kind,
        redact(f"{provider}: {where}: {words}", secrets),
        provider=provider,
        model=model,
        status=effective,
        retry_after=hint if hint is not None else failure.retry_after,
        codes=tuple(code.lower() for code in failure.codes),
    )


def classify(status: int | None, failure: Failure) -> ProviderErrorKind:
    """Return the kind: words about length first, then codes, then the status."""
    codes = [code.lower() for code in failure.codes]
    kinds = [_KIND_BY_CODE[code] for code in codes if code in _KIND_BY_CODE]
    if status not in _NEVER_ABOUT_LENGTH and _CONTEXT_LENGTH.search(failure.message):
        return "context_length"
    for strong in ("context_length", "content_refused", "auth"):
        if strong in kinds and (strong != "context_length" or status != 429):
            return strong
    if status is not None and status in _KIND_BY_STATUS:
        return _KIND_BY_STATUS[status]
    if status is not None and status >= 500:
        return "overloaded"
    if kinds:
        return kinds[0]
    if status is not None and 300 <= status < 500:
        return "bad_request"
    return "unknown"


def read_failure(body: Any) -> Failure:
    """Find message, codes and retry hint in the error body of any provider."""
    value = _decoded(body)
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, str):
        return Failure(shortened(value), (), None, None)
    if not isinstance(value, Mapping):
        return Failure("", (), None, None)
    response = value.get("response")
    if isinstance(response, Mapping) and response.get("error"):
        value = response
    error = value.get("error")
    inner: Mapping[str, Any] = error if isinstance(error, Mapping) else value
    message = error if isinstance(error, str) else _message(inner)
    code = inner.get("code")
    nested = inner.get("innererror")
    candidates = [code, inner.get("type"), inner.get("status")]
    candidates.append(nested.get("code") if isinstance(nested, Mapping) else None)
    details = inner.get("details")
    if isinstance(details, list):
        # Google answers 400 to a wrong key, and says so only here.
        candidates += [item.get("reason") for item in details if isinstance(item, Mapping)]
    return Failure(
        message=shortened(message),
        codes=tuple(item for item in candidates if isinstance(item, str)),
        status=_status_number(code),
        retry_after=_retry_info(details),
    )


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Return the seconds that `retry-after-ms` or `retry-after` (seconds or HTTP date) asks for.

    `headers` must find its keys in lower case. Never negative; None when nothing usable is there.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None:
        return max(0.0, seconds)
    if not value:
        return None
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return max(0.0, moment.timestamp() - (time.time() if now is None else now))


def redact(text: str, secrets: Iterable[str]) -> str:
    """Remove the given credentials, and anything shaped like an API key, from `text`."""
    for secret in sorted({item for item in secrets if len(item) >= 4}, key=len, reverse=True):
        text = text.replace(secret, "[redacted]")
    return _KEY_SHAPES.sub("[redacted]", text)


def _decoded(body: Any) -> Any:
    if not isinstance(body, bytes | bytearray):
        return body
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.decode("utf-8", "replace").strip()


def _message(inner: Mapping[str, Any]) -> str:
    for key in ("message", "detail", "error_description", "title"):
        text = inner.get(key)
        if isinstance(text, str) and text:
            break
    else:
        text = _as_json(inner) if inner else ""
    metadata = inner.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    # OpenRouter passes on the words of the provider behind it.
    return f"{text}: {raw}" if isinstance(raw, str) and raw else text


def _as_json(inner: Mapping[str, Any]) -> str:
    try:
        return orjson.dumps(inner, default=str).decode()
    except TypeError:  # nested deeper than the encoder goes
        return ""


def _retry_info(details: Any) -> float | None:
    if not isinstance(details, Sequence) or isinstance(details, str | bytes):
        return None
    for item in details:
        delay = item.get("retryDelay") if isinstance(item, Mapping) else None
        if isinstance(delay, str) and delay.endswith("s"):
            return _number(delay[:-1])
    return None


def _status_number(code: Any) -> int | None:
    # Three digits: a longer number may be too long to be read at all.
    number = int(code) if isinstance(code, str) and len(code) == 3 and code.isdecimal() else code
    return number if isinstance(number, int) and 400 <= number <= 599 else None


def _number(value: str | None) -> float | None:
    try:
        return float(value) if value is not None and "n" not in value.lower() else None
    except ValueError:
        return None


def shortened(text: str) -> str:
    """Return `text`, cut where a provider's own words become too many."""
    return text if len(text) <= MESSAGE_LIMIT else text[:MESSAGE_LIMIT] + " …"
