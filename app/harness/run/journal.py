"""What a run emits and records: events, audit rows and contents, each stored once and in order.

Owns: the audit buffer (rows that ride along with the run's next write), and the futures of writes that
have not been awaited yet. Never: decisions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import xxhash

from app.events.payload import EventPayload
from app.harness.run.scope import Scope
from app.harness.stream.session_stream import SessionStream
from app.ids import now_ms
from app.messages import SystemBlock
from app.observability import NO_SPAN, Metrics, Redactor, Span
from app.storage.unit_of_work import UnitOfWork

Blobs = dict[str, tuple[str, bytes]]
"""Contents by digest, each with its media type."""


class Journal:
    """The records of one run. `span` is the agent's while it runs, and before that the one that the run
    is started under."""

    def __init__(
        self,
        scope: Scope,
        stream: SessionStream,
        redactor: Redactor,
        *,
        metrics: Metrics,
        span: Span = NO_SPAN,
    ) -> None:
        self.stream = stream
        self.redactor = redactor
        self.metrics = metrics
        self.span = span
        self._scope = scope
        self._audit: list[dict[str, Any]] = []
        self._blobs: Blobs = {}
        self._kept: set[str] = set()
        self._writes: list[asyncio.Future[Any]] = []
        self._system_seen: tuple[tuple[SystemBlock, ...], str] | None = None

    def emit(self, event: EventPayload) -> None:
        """Publish a transient event of the run."""
        self.stream.emit(event, origin=self._scope.origin)

    def audit(self, event: str, data: dict[str, Any]) -> None:
        """Note an audit event; it is stored with the run's next write.

        What the row's own columns say is not said again in its data."""
        own = {
            "session_id": self._scope.session_id,
            "run_id": self._scope.run_id,
            "caller": self._scope.agent_path,
        }
        fields = {k: v for k, v in data.items() if k not in own or own[k] != v}
        request_id = fields.pop("request_id", None)
        self._audit.append(
            {
                "created_at": now_ms(),
                "event": event,
                "actor": self._scope.actor,
                "project_id": self._scope.project_id,
                "session_id": self._scope.session_id,
                "run_id": self._scope.run_id or None,
                "agent_path": self._scope.agent_path,
                "request_id": None if request_id == self._scope.run_id else request_id,
                "data": self.redactor.data(fields),
            }
        )

    @property
    def sent_system(self) -> str | None:
        """The digest of the system prompt that was sent last; None before anything was."""
        return None if self._system_seen is None else self._system_seen[1]

    def keep_blob(self, digest: str, media_type: str, content: bytes) -> None:
        """Store `content` once, with the run's next write."""
        if digest not in self._kept:
            self._kept.add(digest)
            self._blobs[digest] = (media_type, content)

    def system_digest(self, system: tuple[SystemBlock, ...]) -> str:
        """Return the digest of the system blocks, computed once for each distinct tuple."""
        if self._system_seen is None or self._system_seen[0] is not system:
            content = orjson.dumps([block.model_dump() for block in system])
            digest = xxhash.xxh3_128_hexdigest(content)
            self.keep_blob(digest, "application/json", content)
            self._system_seen = (system, digest)
        return self._system_seen[1]

    def record(
        self,
        *events: EventPayload,
        statements: Callable[[UnitOfWork], object] | None = None,
        durable: bool = False,
        kept: bool = False,
    ) -> asyncio.Future[None]:
        """Store events, the buffered audit rows and what `statements` store in one unit.

        `kept`: what has happened and must be stored, if need be after an outage (`SessionStream.record`)."""
        audit, blobs = self._take_buffers()

        def unit(uow: UnitOfWork) -> None:
            if statements is not None:
                statements(uow)
            _store_buffers(uow, audit, blobs)

        origin = self._scope.origin
        future = self.stream.record(events, unit, origin=origin, durable=durable, kept=kept)
        if (audit or blobs) and not kept:
            future.add_done_callback(lambda done: self._give_back(done, audit, blobs))
        self._writes.append(future)
        return future

    def drain(self) -> Callable[[UnitOfWork], None]:
        """Empty the buffers into a piece of work that stores what was in them."""
        audit, blobs = self._take_buffers()
        return lambda uow: _store_buffers(uow, audit, blobs)

    def _take_buffers(self) -> tuple[list[dict[str, Any]], Blobs]:
        audit, self._audit = self._audit, []
        blobs, self._blobs = self._blobs, {}
        return audit, blobs

    def _give_back(self, done: asyncio.Future[None], audit: list[dict[str, Any]], blobs: Blobs) -> None:
        """Buffer again what rode along with a write that failed."""
        if done.cancelled() or done.exception() is not None:
            self._audit[:0] = audit
            self._blobs = blobs | self._blobs

    async def settle(self) -> None:
        """Wait until all that was recorded so far is committed or has failed; raise what failed first."""
        writes, self._writes = self._writes, []
        if writes:
            await asyncio.shield(asyncio.gather(*writes, return_exceptions=True))
        for write in writes:
            write.result()


def _store_buffers(uow: UnitOfWork, audit: list[dict[str, Any]], blobs: Blobs) -> None:
    for digest, (media_type, content) in blobs.items():
        uow.blobs.put(digest, media_type, content)
    uow.audit.append(audit)
