"""What a service is handed to tell of itself. Owns: the pair. Never: what is told."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.observability.metrics import Metrics
from app.observability.tracing import NO_SPAN, Span


@dataclass(frozen=True, slots=True)
class Telemetry:
    """`traces` is the span that runs begin under, which is no span itself."""

    traces: Span = NO_SPAN
    metrics: Metrics = field(default_factory=Metrics)
