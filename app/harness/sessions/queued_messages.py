"""What operators do with messages that wait: change their text or their turn, or take them away.

Owns: that a message is changed or removed only while it waits, also while the queue is drained, and
that one which was stored gets into its session once. Never: the order in which messages are run (`inbox`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol

from app.errors import Conflict, KagedError, NotFound, ValidationFailed
from app.events.payload import EventPayload
from app.events.sessions import MessageEdited, MessageRemoved
from app.events.union import head_of, message_address
from app.harness.conversation.session_rows import posted_event
from app.harness.sessions.session_parts import SessionParts
from app.harness.sessions.session_record import updated_event
from app.harness.sessions.session_services import SessionServices
from app.harness.sessions.session_waits import SessionWaits
from app.states import SessionEvent, SessionState
from app.storage.models import Message
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

Turn = Literal["queue", "steer"]


class QueueOwner(Protocol):
    """The session that the messages wait in."""

    parts: SessionParts
    waits: SessionWaits

    def command(self) -> AbstractAsyncContextManager[None]: ...

    async def start_when_idle(self, row: Message) -> None: ...


class QueuedMessages:
    """Those of all sessions. `find` loads a session, raises `NotFound`."""

    def __init__(self, services: SessionServices, find: Callable[[str], Awaitable[QueueOwner]]) -> None:
        self._services = services
        self._find = find
        self._shielded = services.tasks.shielded

    async def edit(
        self, session_id: str, message_id: str, content: str | None, *, mode: Turn | None = None
    ) -> Message:
        """Give a waiting message another text, and with `mode` another turn.

        Raises `NotFound`, and `Conflict` when it does not wait any more, or cannot have that turn now."""
        return await self._shielded(self._edit(session_id, message_id, content, mode))

    async def remove(self, session_id: str, message_id: str) -> None:
        """Take a waiting message away. A session that waited for a place with it is idle then.

        Raises `NotFound`, and `Conflict` when it does not wait any more."""
        await self._shielded(self._remove(session_id, message_id))

    # -- inside -----------------------------------------------------------------------------

    async def _edit(
        self, session_id: str, message_id: str, content: str | None, mode: Turn | None
    ) -> Message:
        owner = await self._find(session_id)
        parts = owner.parts
        async with owner.command():
            row = await self._waiting(parts, message_id)
            values: dict[str, Any] = {}
            if content is not None:
                if not content.strip() and not row.details.get("attachments"):
                    raise ValidationFailed("The message is empty.", fields={"content": "write something"})
                values["content"] = content
            if mode is not None:
                values["delivery"] = await self._turn(owner, row, mode)
            changed = row.model_copy(update=values)
            held = row.id in {one.id for one in parts.inbox.held()}
            # In memory first: a run that takes it from now on takes the new text.
            change = parts.inbox.replace if mode is None else parts.inbox.move
            change(changed)
            head = head_of(changed.content)
            edited = MessageEdited(
                message_id=row.id,
                content=changed.content if head is None else head,
                content_ref=None if head is None else message_address(session_id, row.id),
            )
            try:
                await parts.stream.record(
                    [edited], lambda uow: uow.messages.update(row.id, **values), durable=True
                )
            except KagedError:
                change(row.model_copy(update={"delivery": "held"}) if held else row)
                raise
            if mode is not None:
                await owner.start_when_idle(changed)
                now = await self._services.runs.storage.read(lambda uow: uow.messages.get(row.id))
                return now or changed
            return changed

    async def _turn(self, owner: QueueOwner, row: Message, mode: Turn) -> str:
        """Return how a message waits that is to have this turn: as if it were posted now."""
        record = owner.parts.record
        if not owner.waits.keeps_run:
            record.require(SessionEvent.MESSAGE_POSTED)
        if record.state is SessionState.IDLE:
            await self._services.check_runnable(record.row, row.details.get("model"))
        active = record.state is SessionState.RUNNING or owner.waits.keeps_run
        return "steer" if mode == "steer" and active else "queued"

    async def _remove(self, session_id: str, message_id: str) -> None:
        owner = await self._find(session_id)
        parts = owner.parts
        async with owner.command():
            row = await self._waiting(parts, message_id)
            parts.inbox.remove({row.id})
            events: list[EventPayload] = [MessageRemoved(message_id=row.id)]

            def statements(uow: UnitOfWork) -> None:
                uow.messages.remove_waiting(row.id)

            queued = parts.record.state is SessionState.QUEUED and not owner.waits.keeps_run
            try:
                if queued and parts.inbox.next() is None:
                    await parts.record.move(
                        SessionEvent.CANCEL,
                        reason="cancelled",
                        events=events,
                        statements=statements,
                        durable=True,
                    )
                    self._services.capacity.withdraw(parts.id)
                else:
                    await parts.stream.record(events, statements, durable=True)
            except KagedError:
                parts.inbox.put_back(row)
                raise

    async def _waiting(self, parts: SessionParts, message_id: str) -> Message:
        row = parts.inbox.find(message_id)
        if row is not None and row.role == "operator":
            return row
        stored = await self._services.runs.storage.read(lambda uow: uow.messages.get(message_id))
        if stored is None or stored.session_id != parts.id:
            raise NotFound(f"The session has no message {message_id}.")
        why = "is in the conversation already" if row is None else "is not an operator's"
        raise Conflict(
            f"The message {why}; only an operator's message that waits can be changed or removed.",
            reason="not_waiting",
            details={"delivery": stored.delivery, "position": stored.position},
        )


async def dispatch(storage: Storage, owner: QueueOwner, message_id: str) -> None:
    """Let a session have a waiting message, and the issue that it is bound to; run it when it is idle."""
    parts = owner.parts
    async with owner.command():
        session, waiting = await storage.read(
            lambda uow: (uow.sessions.get(parts.id), uow.messages.queued(parts.id))
        )
        row = next((row for row in waiting if row.id == message_id), None)
        if session is None or row is None:
            return
        parts.record.row = parts.record.row.model_copy(update={"issue_number": session.issue_number})
        if row.id not in parts.inbox:
            parts.inbox.add(row)
        await parts.stream.record([updated_event(session), posted_event(row, queued=True)])
        await owner.start_when_idle(row)
