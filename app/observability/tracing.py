"""Traces: the `Span` protocol, and the span that records nothing. A span's parent is the span that opened it.

Owns: `Telemetry`, `Span` and the no-op used without traces. Never: a tracing library (`otel` imports it).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Protocol

from app.observability.metrics import Metrics

Attribute = str | bool | int | float | Sequence[str]
"""A value of a span's attribute; None in a mapping of attributes leaves that one out."""
SpanKind = Literal["internal", "client"]


class Span(Protocol):
    """One timed piece of work. Used as a context manager it ends itself, and an exception that
    leaves it makes it failed. A child may outlive it."""

    @property
    def captures(self) -> bool:
        """Whether content (messages, arguments, results) is wanted on spans at all."""

    def child(
        self, name: str, attributes: Mapping[str, Attribute | None], *, kind: SpanKind = "internal"
    ) -> Span:
        """Open a span under this one; it runs from now on."""

    def set(self, attributes: Mapping[str, Attribute | None]) -> None:
        """Add attributes; None values are left out."""

    def content(self, name: str, value: Any) -> None:
        """Add content that is sent only where it is wanted: redacted, shortened, as JSON, later and on
        another thread. `value` must not be changed any more."""

    def fail(self, error_type: str, message: str = "") -> None:
        """Mark it as failed; `error_type` is a short stable name such as an error code."""

    def end(self) -> None:
        """Close it; what comes after the first time changes nothing."""

    def __enter__(self) -> Span: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class NoSpan:
    """Records nothing; its children are itself."""

    captures: bool = False

    def child(
        self, name: str, attributes: Mapping[str, Attribute | None], *, kind: SpanKind = "internal"
    ) -> Span:
        return self

    def set(self, attributes: Mapping[str, Attribute | None]) -> None:
        return None

    def content(self, name: str, value: Any) -> None:
        return None

    def fail(self, error_type: str, message: str = "") -> None:
        return None

    def end(self) -> None:
        return None

    def __enter__(self) -> Span:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


NO_SPAN: Span = NoSpan()


def error_type_of(error: BaseException) -> str:
    """Return the short name of an exception: its own code, or its class."""
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    code = getattr(error, "code", None)
    return code if isinstance(code, str) and code else type(error).__name__


@dataclass(frozen=True, slots=True)
class Telemetry:
    """`traces` is the span that runs begin under, which is no span itself."""

    traces: Span = NO_SPAN
    metrics: Metrics = field(default_factory=Metrics)
