"""What one session consists of, for commands that work on some of it.

Owns: the bundle, and the deadline of a compaction at rest. Never: the order of commands (`session_runs`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.events.payload import EventPayload
from app.events.sessions import PromptReloaded
from app.harness.conversation.inbox import Inbox
from app.harness.conversation.session_conversation import SessionConversation
from app.harness.projects.prompts.session_prompts import SessionPrompts
from app.harness.sessions.session_record import SessionRecord, Statements
from app.harness.stream.session_stream import SessionStream
from app.ids import now_ms
from app.states import SessionState
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage


@dataclass(frozen=True, slots=True)
class SessionParts:
    """The state of one session. It changes under the session's lock alone."""

    stream: SessionStream
    record: SessionRecord
    conversation: SessionConversation
    inbox: Inbox
    prompts: SessionPrompts

    @classmethod
    def of(cls, row: SessionRow, stream: SessionStream, storage: Storage) -> SessionParts:
        return cls(
            stream,
            SessionRecord(row, stream),
            SessionConversation(storage, row.id),
            Inbox(),
            SessionPrompts(storage, row.id),
        )

    @property
    def id(self) -> str:
        return self.record.row.id

    async def edits_to_apply(self, storage: Storage) -> tuple[list[EventPayload], Statements]:
        """Return the events and statements of leaving a pause in which prompts were edited."""
        if self.record.state is not SessionState.PAUSED:
            return [], lambda uow: None
        rows = await storage.read(lambda uow: uow.prompt_edits.not_applied(self.id))
        if not rows:
            return [], lambda uow: None
        targets = tuple(dict.fromkeys(row.target for row in rows))
        return [PromptReloaded(agents=targets)], lambda uow: uow.prompt_edits.apply(self.id, now_ms())


class RestCompaction:
    """A compaction that an operator asked for while the session is at rest; it holds the session's lock."""

    def __init__(self) -> None:
        self.stopped = False
        self._deadline: asyncio.Timeout | None = None

    @asynccontextmanager
    async def within(self, seconds: float) -> AsyncIterator[None]:
        """Bound the compaction. Raises `TimeoutError` after that time, or when it is `stopped`."""
        self.stopped = False
        try:
            async with asyncio.timeout(seconds) as self._deadline:
                yield
        finally:
            self._deadline = None

    def give_up(self) -> bool:
        """Have it end now, so that the lock is free soon; True when there was one."""
        if self._deadline is None or self._deadline.expired():
            return False
        self.stopped = True
        self._deadline.reschedule(asyncio.get_running_loop().time())
        return True
