"""One error for everything that can go wrong between us and a model, with its class.

Owns: the class of an error (`kind`): it decides whether to retry, fall back or fail. Never: the phrases that
it is recognised by (`classification`).
"""

from __future__ import annotations

from typing import Literal

ProviderErrorKind = Literal[
    "rate_limited",
    "overloaded",
    "auth",
    "context_length",
    "content_refused",
    "bad_request",
    "network",
    "truncated_stream",
    "unknown",
]

RETRYABLE: frozenset[ProviderErrorKind] = frozenset(
    {"rate_limited", "overloaded", "network", "truncated_stream"}
)
"""Kinds for which the same call may succeed a moment later."""

FALLBACK: frozenset[ProviderErrorKind] = frozenset(
    {"rate_limited", "overloaded", "auth", "network", "truncated_stream", "unknown", "bad_request"}
)
"""Kinds for which another provider of the chain may succeed. `context_length` and
`content_refused` are about the conversation itself and go to the run instead."""


class ProviderError(Exception):
    """A model call failed. `message` never contains a credential; `retry_after` is seconds; `codes` are the
    provider's own words for what went wrong, in lower case."""

    def __init__(
        self,
        kind: ProviderErrorKind,
        message: str,
        *,
        provider: str = "",
        model: str = "",
        status: int | None = None,
        retry_after: float | None = None,
        codes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.kind: ProviderErrorKind = kind
        self.message = message
        self.provider = provider
        self.model = model
        self.status = status
        self.retry_after = retry_after
        self.codes = codes
