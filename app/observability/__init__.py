"""What is seen of the daemon from outside: logs, traces, metrics, and the redactor they all share.

Owns: the names below. Never: importing a tracing or metrics library before one is configured or
asked for.
"""

from app.observability.credential_shapes import MASK
from app.observability.log_output import LogOutput, event_of, log_event, start_logging
from app.observability.metrics import Metrics
from app.observability.redactor import Redactor, names_secret, without_controls
from app.observability.tracing import NO_SPAN, Span, Telemetry

__all__ = [
    "MASK",
    "NO_SPAN",
    "LogOutput",
    "Metrics",
    "Redactor",
    "Span",
    "Telemetry",
    "event_of",
    "log_event",
    "names_secret",
    "start_logging",
    "without_controls",
]
