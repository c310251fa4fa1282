"""Which traces are sent where, by the local config.

Owns: turning `[otel]` and `[langfuse]` into destinations, and importing the tracing library only then.
Never: what a span holds, or a failure of the daemon's start: traces are never worth that.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from app import __version__
from app.config import LangfuseSettings, OtelSettings, Settings
from app.observability import NO_SPAN, Redactor, Span, langfuse

if TYPE_CHECKING:
    from app.observability.otel import Destination, Traces

log = logging.getLogger("kaged.traces")

_TRACES_PATH = "/v1/traces"


@asynccontextmanager
async def open_traces(settings: Settings, redactor: Redactor) -> AsyncIterator[Span]:
    """Give the span under which runs begin; on leaving, what is left is sent, for a few seconds at most."""
    if not (settings.otel.enabled or settings.langfuse.enabled):
        yield NO_SPAN
        return
    try:
        otel: Any = await asyncio.to_thread(importlib.import_module, "app.observability.otel")
    except ImportError as error:
        log.warning("no traces are sent: %s; install kaged[otel]", error)
        yield NO_SPAN
        return
    destinations = _destinations(settings, otel.Destination, redactor)
    if not destinations:
        yield NO_SPAN
        return
    traces: Traces = otel.Traces(
        destinations, service_name=settings.otel.service_name, version=__version__, redactor=redactor
    )
    try:
        yield traces
    finally:
        await traces.aclose()


def trace_findings(settings: Settings) -> dict[str, str | None]:
    """Return, for each enabled section, what keeps it from sending traces; None when nothing does. Nothing
    is connected to and no tracing library is imported."""
    enabled = [name for name in ("otel", "langfuse") if getattr(settings, name).enabled]
    missing: str | None = None
    if importlib.util.find_spec("opentelemetry.exporter") is None:
        missing = "enabled, but the extra is not installed: pip install 'kaged[otel]'"
    found: dict[str, str | None] = dict.fromkeys(enabled, missing)
    if missing is None and settings.langfuse.enabled:
        found["langfuse"] = _missing_keys(settings)
    return found


def _missing_keys(settings: Settings) -> str | None:
    if settings.langfuse.public_key is not None and settings.langfuse.secret_key is not None:
        return None
    names = [name for key, name in settings.missing_env.items() if key.startswith("langfuse.")]
    wanted = " and ".join(names) or "public_key_env and secret_key_env in [langfuse]"
    return f"its keys are missing; set {wanted}"


def _destinations(settings: Settings, make: type[Destination], redactor: Redactor) -> list[Destination]:
    found = []
    if settings.otel.enabled:
        found.append(_otel(settings.otel, make))
    if settings.langfuse.enabled:
        destination = _langfuse(settings.langfuse, make, redactor)
        if destination is not None:
            found.append(destination)
        else:
            log.warning("no traces are sent to Langfuse: %s", _missing_keys(settings))
    return found


def _otel(settings: OtelSettings, make: type[Destination]) -> Destination:
    parts = urlsplit(settings.endpoint)
    path = parts.path.rstrip("/")
    if not path.endswith(_TRACES_PATH):
        path += _TRACES_PATH
    return make(
        name="OpenTelemetry",
        endpoint=urlunsplit(parts._replace(path=path)),
        headers=settings.headers,
        captures=settings.capture_content,
    )


def _langfuse(settings: LangfuseSettings, make: type[Destination], redactor: Redactor) -> Destination | None:
    if settings.public_key is None or settings.secret_key is None:
        return None
    headers = langfuse.authorization(
        settings.public_key.get_secret_value(), settings.secret_key.get_secret_value()
    )
    redactor.add(headers["Authorization"].removeprefix("Basic "))
    return make(
        name="Langfuse",
        endpoint=langfuse.endpoint(settings.base_url),
        headers=headers,
        captures=settings.capture_content,
        langfuse=True,
    )
