"""Spans by OpenTelemetry, sent by OTLP over HTTP. Imported only when traces are configured.

Owns: the `Span` that records, and the destinations. Never: the process's global tracer, context or
exit hooks of the library: parents are handed in, threads are our own (`span_export`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import requests  # noqa: TID251 - the exporter sends with it
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace.status import Status, StatusCode

from app.observability.langfuse import for_langfuse
from app.observability.redactor import Redactor
from app.observability.span_content import content_json, encodable, shortened
from app.observability.span_export import SpanExport
from app.observability.tracing import Attribute, NoSpan, Span, SpanKind, error_type_of

SEND_SECONDS = 5.0
"""One batch may take so long, repeated tries included."""
STOP_SECONDS = 3.0
_KINDS = {"internal": trace.SpanKind.INTERNAL, "client": trace.SpanKind.CLIENT}
_MESSAGE_CHARACTERS = 2000
_STATUS_MESSAGE = "status message"


@dataclass(frozen=True, slots=True)
class Destination:
    """Where spans go. `captures`: content as well; `langfuse`: with the attributes that it reads."""

    name: str
    endpoint: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    captures: bool = False
    langfuse: bool = False


@dataclass(frozen=True, slots=True)
class _Finished:
    span: ReadableSpan
    content: Mapping[str, Any]
    trace_name: str


class _HeadersOnly(requests.Session):
    """Takes the status of an answer and leaves the rest: a collector cannot keep the thread busy with it."""

    def request(self, *arguments: Any, **options: Any) -> requests.Response:
        answer = super().request(*arguments, **{**options, "stream": True})
        answer.close()
        return answer


class Traces(NoSpan):
    """The root of all spans: a `Span` without a parent that records nothing itself."""

    def __init__(
        self,
        destinations: Sequence[Destination],
        *,
        service_name: str,
        version: str,
        redactor: Redactor,
    ) -> None:
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # one warning is ours to give
        resource = Resource({"service.name": service_name, "service.version": version})
        provider = TracerProvider(resource=resource, sampler=ALWAYS_ON, shutdown_on_exit=False)
        self._tracer = provider.get_tracer("kaged", version)
        self._redactor = redactor
        self._exports = [self._export(destination) for destination in destinations]
        self.captures = any(destination.captures for destination in destinations)

    def start(
        self,
        name: str,
        attributes: Mapping[str, Attribute | None],
        kind: SpanKind,
        parent: trace.Span | None,
        trace_name: str,
    ) -> Span:
        """Open a span; `trace_name` is the name of its root."""
        context = Context() if parent is None else trace.set_span_in_context(parent, Context())
        span = self._tracer.start_span(name, context, _KINDS[kind], attributes=_given(attributes))
        return OtelSpan(self, span, trace_name)

    def finish(self, span: trace.Span, content: Mapping[str, Any], trace_name: str) -> None:
        """Hand a finished span to every destination."""
        if isinstance(span, ReadableSpan):
            for export in self._exports:
                export.put(_Finished(span, content, trace_name))

    async def aclose(self) -> None:
        """Send what is left, for a few seconds at most."""
        await asyncio.gather(*(export.stop(STOP_SECONDS) for export in self._exports))

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return by destination how many spans were sent and how many dropped."""
        return {export.name: (export.sent, export.dropped) for export in self._exports}

    def _export(self, destination: Destination) -> SpanExport[_Finished]:
        exporter = OTLPSpanExporter(
            endpoint=destination.endpoint,
            headers=dict(destination.headers),
            timeout=SEND_SECONDS,
            compression=Compression.Gzip,
            session=_HeadersOnly(),
        )

        def send(batch: Sequence[_Finished]) -> bool:
            spans = [_prepared(finished, destination, self._redactor) for finished in batch]
            return exporter.export(spans) is SpanExportResult.SUCCESS

        return SpanExport(destination.name, send, exporter.shutdown)

    # -- the root as a span -----------------------------------------------------------------

    def child(
        self, name: str, attributes: Mapping[str, Attribute | None], *, kind: SpanKind = "internal"
    ) -> Span:
        return self.start(name, attributes, kind, None, name)


class OtelSpan:
    """A span that records."""

    __slots__ = ("_content", "_ended", "_span", "_trace_name", "_traces", "captures")

    def __init__(self, traces: Traces, span: trace.Span, trace_name: str) -> None:
        self.captures = traces.captures
        self._traces = traces
        self._span = span
        self._trace_name = trace_name
        self._content: dict[str, Any] = {}
        self._ended = False

    def child(
        self, name: str, attributes: Mapping[str, Attribute | None], *, kind: SpanKind = "internal"
    ) -> Span:
        return self._traces.start(name, attributes, kind, self._span, self._trace_name)

    def set(self, attributes: Mapping[str, Attribute | None]) -> None:
        if not self._ended:
            self._span.set_attributes(_given(attributes))

    def content(self, name: str, value: Any) -> None:
        if self.captures and not self._ended:
            self._content[name] = value

    def fail(self, error_type: str, message: str = "") -> None:
        if self._ended:
            return
        self._span.set_attribute("error.type", error_type)
        self._span.set_status(Status(StatusCode.ERROR, error_type))
        if message:
            self.content(_STATUS_MESSAGE, message)

    def end(self) -> None:
        if not self._ended:
            self._ended = True
            self._span.end()
            self._traces.finish(self._span, self._content, self._trace_name)

    def __enter__(self) -> Span:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.fail(error_type_of(error))
        self.end()


def _given(attributes: Mapping[str, Attribute | None]) -> dict[str, Attribute]:
    return {name: value for name, value in attributes.items() if value is not None}


def _prepared(finished: _Finished, destination: Destination, redactor: Redactor) -> ReadableSpan:
    """Return the span as one destination gets it: on the sending thread, since it takes its time."""
    span = finished.span

    def clean(text: str) -> str:
        return encodable(redactor.text(text))

    attributes: dict[str, Any] = {
        name: _clean(value, clean) for name, value in (span.attributes or {}).items()
    }
    status = span.status
    if destination.captures:
        for name, value in finished.content.items():
            if name == _STATUS_MESSAGE:
                message = shortened(clean(str(value)[: 2 * _MESSAGE_CHARACTERS]), _MESSAGE_CHARACTERS)
                status = Status(status.status_code, f"{status.description}: {message}")
            else:
                attributes[name] = content_json(value, redactor)
    if destination.langfuse:
        attributes = for_langfuse(
            attributes, started_ns=span.start_time or 0, trace_name=clean(finished.trace_name)
        )
    return ReadableSpan(
        name=clean(span.name),
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=attributes,
        kind=span.kind,
        status=status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _clean(value: Any, clean: Callable[[str], str]) -> Any:
    match value:
        case str():
            return clean(value)
        case tuple():
            return tuple(_clean(item, clean) for item in value)
        case _:
            return value
