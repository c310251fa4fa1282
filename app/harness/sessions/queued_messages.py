"""What operators do with messages that wait: change their text, or take them away.

Owns: that a message is changed or removed only while it waits, whoever drains the queue at that moment, and
that one which was stored gets into its session once. Never: the order in which messages are run (`inbox`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from app.errors import Conflict, KagedError, NotFound, ValidationFailed
from app.events.payload import EventPayload
from app.events.sessions import MessageEdited, MessageRemoved
from app.events.union import SessionUpdated, head_of, message_address
from app.harness.conversation.session_rows import posted_event
from app.harness.sessions.session_runs import SessionRuns
from app.harness.sessions.session_services import SessionServices
from app.states import SessionEvent, SessionState
from app.storage.models import Message
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork


class QueuedMessages:
    """Those of all sessions. `find` loads a session's runs, raises `NotFound`."""

    def __init__(self, services: SessionServices, find: Callable[[str], Awaitable[SessionRuns]]) -> None:
        self._services = services
        self._find = find
        self._shielded = services.tasks.shielded

    async def edit(self, session_id: str, message_id: str, content: str) -> Message:
        """Give a waiting message another text.

        Raises `NotFound`, and `Conflict` when it does not wait any more."""
        return await self._shielded(self._edit(session_id, message_id, content))

    async def remove(self, session_id: str, message_id: str) -> None:
        """Take a waiting message away. A session that waited for a place with it is idle then.

        Raises `NotFound`, and `Conflict` when it does not wait any more."""
        await self._shielded(self._remove(session_id, message_id))

    # -- inside -----------------------------------------------------------------------------

    async def _edit(self, session_id: str, message_id: str, content: str) -> Message:
        runs = await self._find(session_id)
        async with runs.lock:
            row = await self._waiting(runs, message_id)
            if not content.strip() and not row.details.get("attachments"):
                raise ValidationFailed("The message is empty.", fields={"content": "write something"})
            changed = row.model_copy(update={"content": content})
            # In memory first: a run that takes it from now on takes the new text.
            runs.inbox.replace(changed)
            head = head_of(content)
            edited = MessageEdited(
                message_id=row.id,
                content=content if head is None else head,
                content_ref=None if head is None else message_address(session_id, row.id),
            )
            try:
                await runs.stream.record(
                    [edited], lambda uow: uow.messages.update(row.id, content=content), durable=True
                )
            except KagedError:
                runs.inbox.replace(row)
                raise
            return changed

    async def _remove(self, session_id: str, message_id: str) -> None:
        runs = await self._find(session_id)
        async with runs.lock:
            row = await self._waiting(runs, message_id)
            runs.inbox.remove({row.id})
            events: list[EventPayload] = [MessageRemoved(message_id=row.id)]

            def statements(uow: UnitOfWork) -> None:
                uow.messages.remove_waiting(row.id)

            queued = runs.record.state is SessionState.QUEUED and not runs.waits.keeps_run
            try:
                if queued and runs.inbox.next() is None:
                    await runs.record.move(
                        SessionEvent.CANCEL,
                        reason="cancelled",
                        events=events,
                        statements=statements,
                        durable=True,
                    )
                    self._services.capacity.withdraw(runs.id)
                else:
                    await runs.stream.record(events, statements, durable=True)
            except KagedError:
                runs.inbox.put_back(row)
                raise

    async def _waiting(self, runs: SessionRuns, message_id: str) -> Message:
        if runs.closed:
            raise NotFound(f"There is no session {runs.id}.")
        row = runs.inbox.find(message_id)
        if row is not None and row.role == "operator":
            return row
        stored = await self._services.runs.storage.read(lambda uow: uow.messages.get(message_id))
        if stored is None or stored.session_id != runs.id:
            raise NotFound(f"The session has no message {message_id}.")
        why = "is in the conversation already" if row is None else "is not an operator's"
        raise Conflict(
            f"The message {why}; only an operator's message that waits can be changed or removed.",
            reason="not_waiting",
            details={"delivery": stored.delivery, "position": stored.position},
        )


async def dispatch(storage: Storage, runs: SessionRuns, message_id: str) -> None:
    """Let a session have a waiting message, and the issue that it is bound to; run it when it is idle."""
    async with runs.lock:
        if runs.closed:
            return
        session, waiting = await storage.read(
            lambda uow: (uow.sessions.get(runs.id), uow.messages.queued(runs.id))
        )
        row = next((row for row in waiting if row.id == message_id), None)
        if session is None or row is None:
            return
        runs.record.row = runs.row.model_copy(update={"issue_number": session.issue_number})
        if row.id not in runs.inbox:
            runs.inbox.add(row)
        updated = SessionUpdated(title=session.title, issue_number=session.issue_number)
        await runs.stream.record([updated, posted_event(row, queued=True)])
        await runs.tasks.dispatch(row)
