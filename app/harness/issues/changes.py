"""How a change of an issue is stored: rows, history, audit and events in one unit of work.

Owns: that unit, and which events it publishes; sessions that are bound to the issue keep a place for them
while it runs. Never: what changes (`service`, and other callers).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from app.errors import NotFound
from app.events.issues import IssueChange, IssueChanged
from app.events.payload import EventPayload
from app.harness.issues.author import Author
from app.harness.issues.fields import MAX_NUMBER
from app.harness.stream.event_hub import EventHub
from app.harness.stream.frames import Frame
from app.harness.stream.session_stream import SessionStream
from app.harness.stream.stream_records import HeldPlace
from app.ids import now_ms
from app.observability import Redactor
from app.storage.keyed_effect import effect
from app.storage.models import AuditEvent, Issue
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

T = TypeVar("T")

MAX_EVENTS = 4
"""How many events one change may have."""


@dataclass(frozen=True, slots=True)
class Changed(Generic[T]):
    """What a unit of work has done: its result and its events."""

    result: T
    events: Sequence[EventPayload] = ()


class IssueChanges:
    """The one way to store a change of an issue or of what belongs to it."""

    def __init__(self, storage: Storage, hub: EventHub, redactor: Redactor) -> None:
        self.storage = storage
        self._hub = hub
        self._redactor = redactor

    async def store(
        self, project_id: str, number: int | None, statements: Callable[[UnitOfWork], Changed[T]]
    ) -> T:
        """Run `statements` as one durable unit, then emit its events; return its result.

        Every session that is bound to issue `number` (None: there is none yet) gets the events, and so does
        who listens to all sessions. An error of `statements` is raised, and nothing is stored."""
        streams = await self._bound(project_id, number)
        held = [(stream, stream.hold(MAX_EVENTS)) for stream in streams]
        at = now_ms()

        def unit(uow: UnitOfWork) -> Changed[T]:
            changed = statements(uow)
            for _, place in held:
                place.store(uow, changed.events, at)
            return changed

        try:
            submitted = self.storage.submit(effect(unit, lambda changed: changed.result), durable=True)
        except BaseException:
            _settle(held, stored=False)
            raise
        submitted.add_done_callback(lambda done: self._publish(held, done, at))
        # A caller that goes away changes nothing about what is stored and published.
        return (await asyncio.shield(submitted)).result

    def audit(
        self, uow: UnitOfWork, event: str, author: Author, issue: Issue, data: Mapping[str, Any]
    ) -> None:
        """Store one row of the audit trail about an issue; `data` is redacted here."""
        data = {"issue_id": issue.id, "number": issue.number, **data, "caller": author.name}
        row = AuditEvent(
            created_at=now_ms(),
            event=event,
            actor=author.name,
            project_id=issue.project_id,
            session_id=author.session_id,
            run_id=author.run_id,
            agent_path=author.agent_path,
            request_id=author.request_id,
            data=self._redactor.data(data),
        )
        uow.audit.add_many([row])

    def audit_move(self, uow: UnitOfWork, before: Issue, after: Issue, author: Author) -> None:
        """Store the audit row of a move, for a caller that moves an issue inside its own unit."""
        data = {"from_status": before.status, "to_status": after.status}
        self.audit(uow, "kaged.issue.transitioned", author, after, data)

    async def _bound(self, project_id: str, number: int | None) -> list[SessionStream]:
        if number is None or not 0 < number <= MAX_NUMBER:
            return []
        ids = await self.storage.read(lambda uow: uow.sessions.bound_to(project_id, number))
        streams: list[SessionStream] = []
        for session_id in ids:
            try:
                streams.append(await self._hub.stream(session_id))
            except NotFound:  # deleted meanwhile
                continue
        return streams

    def _publish(
        self,
        held: Sequence[tuple[SessionStream, HeldPlace]],
        done: asyncio.Future[Changed[T]],
        at: int,
    ) -> None:
        stored = not done.cancelled() and done.exception() is None
        _settle(held, stored=stored)
        for payload in done.result().events if stored else ():
            self._hub.publish_globally(Frame.make(0, payload, session_id="", created_at=at))


def _settle(held: Sequence[tuple[SessionStream, HeldPlace]], *, stored: bool) -> None:
    for stream, place in held:
        stream.settle(place, stored=stored)


def changed_event(issue: Issue, change: IssueChange, author: Author) -> IssueChanged:
    """Return the event of a change; `issue` is as it is after it."""
    return IssueChanged(
        issue_id=issue.id,
        number=issue.number,
        project_id=issue.project_id,
        status=issue.status,
        assignment=issue.assignment,
        change=change,
        actor=author.name,
    )
