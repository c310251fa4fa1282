"""A collector of traces on a real port: it takes OTLP over HTTP and decodes it.

Owns: the requests as they came, the spans in them, and bad behaviour on demand (an error status, no
answer at all). Never: kaged's own encoder.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.driver.daemon_process import WAIT_SECONDS


@dataclass(frozen=True)
class CollectedSpan:
    """One span as it was received; ids are hexadecimal, `parent` is empty for a root."""

    name: str
    trace: str
    id: str
    parent: str
    started: int
    ended: int
    status: int
    message: str
    attributes: dict[str, Any]


@dataclass
class Collector:
    """What was received. `status` is what is answered; one that `hangs` answers nothing until the end, one
    that `babbles` answers all the time."""

    url: str = ""
    status: int = 200
    hangs: bool = False
    babbles: bool = False
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    spans: list[CollectedSpan] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    changed: threading.Condition = field(default_factory=threading.Condition)
    asked: threading.Event = field(default_factory=threading.Event)

    def take(self, path: str, headers: dict[str, str], body: bytes) -> None:
        if headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        self.requests.append((path, headers))
        self.bodies.append(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(_values(resource.resource.attributes))
            for scope in resource.scope_spans:
                self.spans += [_collected(span) for span in scope.spans]
        with self.changed:
            self.changed.notify_all()

    def until(self, count: int, seconds: float = WAIT_SECONDS) -> None:
        """Wait until so many spans are there."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.spans) >= count, seconds)

    def named(self, name: str) -> list[CollectedSpan]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> CollectedSpan:
        (found,) = self.named(name)
        return found

    def parent_of(self, span: CollectedSpan) -> CollectedSpan | None:
        return next((other for other in self.spans if other.id == span.parent), None)


@contextmanager
def collecting(**behaviour: Any) -> Iterator[Collector]:
    """Run a collector while the block runs."""
    collector = Collector(**behaviour)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            collector.asked.set()
            if collector.hangs:
                collector.over.wait(60)
                self.close_connection = True
                return
            if collector.status == 200:
                collector.take(self.path, headers, body)
            if collector.babbles:
                self.babble()
                return
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(collector.status)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def babble(self) -> None:
            self.send_response(200)
            self.send_header("content-length", str(2**40))
            self.end_headers()
            self.close_connection = True
            with suppress(OSError):
                while not collector.over.wait(0.01):
                    self.wfile.write(b"x")

        def log_message(self, *_: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    collector.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        collector.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _collected(span: Any) -> CollectedSpan:
    return CollectedSpan(
        name=span.name,
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        started=span.start_time_unix_nano,
        ended=span.end_time_unix_nano,
        status=span.status.code,
        message=span.status.message,
        attributes=_values(span.attributes),
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {attribute.key: _value(attribute.value) for attribute in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind)
