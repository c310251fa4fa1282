"""A session's row and the one way it moves: the state machine, stored with what belongs to it.

Owns: the row in memory, which is never ahead of or behind what is stored. Never: deciding which
event happens (`session`), or what a run does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.errors import Conflict, StorageOutage
from app.events.payload import EventPayload, Origin
from app.events.sessions import SessionStateChanged, SessionUpdated
from app.harness.issues.binding import change_session
from app.harness.stream.session_stream import SessionStream
from app.ids import now_ms
from app.states import SessionEvent, SessionState, legal_for_operators, move_session
from app.storage.models import Session as SessionRow
from app.storage.unit_of_work import UnitOfWork

Statements = Callable[[UnitOfWork], None]


class SessionRecord:
    """The stored side of one session. Callers hold the session's lock while they move it."""

    def __init__(self, row: SessionRow, stream: SessionStream) -> None:
        self.row = row
        self.stream = stream
        self._owed_events: list[EventPayload] = []
        self._owed_statements: list[Statements] = []
        self._late: asyncio.Future[None] | None = None

    @property
    def state(self) -> SessionState:
        return SessionState(self.row.state)

    @property
    def ahead(self) -> bool:
        """True while the row in memory knows what storing has failed for."""
        return bool(self._owed_statements) or (self._late is not None and not self._late.done())

    def forget_version(self) -> None:
        """Go on with the project's present version. The stored row forgets its own with the next trust."""
        self.row = self.row.model_copy(update={"compiled_digest": None})

    def require(self, event: SessionEvent) -> None:
        """Raise `Conflict` when `event` is not legal now."""
        move_session(self.state, event)

    def illegal(self, command: str) -> Conflict:
        """Return the error of a command that has no event of its own."""
        return Conflict(
            f"The session is {self.row.state}: {command} is not possible now.",
            reason="invalid_transition",
            details={
                "state": self.row.state,
                "legal_events": legal_for_operators(self.state),
            },
        )

    async def move(
        self,
        event: SessionEvent,
        *,
        reason: str | None = None,
        detail: str | None = None,
        events: Sequence[EventPayload] = (),
        statements: Statements | None = None,
        run_id: str | None = None,
        durable: bool = False,
        columns: Mapping[str, Any] | None = None,
    ) -> None:
        """Move, and store everything that belongs to the move in one unit. `detail` is the `reason` in words.

        `columns` are further ones of the row. When storing fails nothing has moved."""
        before = self.row
        state = move_session(self.state, event)
        values = {**(columns or {}), "state": state.value, "state_reason": reason, "updated_at": now_ms()}
        published = [*self._owed_events, *events]
        if state.value != before.state:
            moved = SessionStateChanged(
                state=state.value, previous=before.state, reason=reason, detail=detail
            )
            published.append(moved)
        if "title" in values and values["title"] != before.title:
            published.append(updated_event(before.model_copy(update=values)))
        owed = list(self._owed_statements)

        def unit(uow: UnitOfWork) -> None:
            for late in owed:
                late(uow)
            if statements is not None:
                statements(uow)
            uow.sessions.update(before.id, **values)

        self.row = before.model_copy(update=values)
        try:
            await asyncio.shield(self.stream.record(published, unit, origin=Origin(run_id), durable=durable))
        except Exception:
            self.row = before
            raise
        self._owed_events.clear()
        self._owed_statements.clear()

    def move_unstored(
        self,
        event: SessionEvent,
        events: Sequence[EventPayload],
        statements: Statements,
        problem: Exception,
        *,
        reason: str | None = None,
        run_id: str | None = None,
    ) -> None:
        """Move in memory alone, when storing has failed with `problem`. After an outage of the storage what
        is owed is stored when it works again, otherwise with the next move."""
        before = self.row
        state = move_session(self.state, event)
        values = {"state": state.value, "state_reason": reason, "updated_at": now_ms()}
        self.row = before.model_copy(update=values)
        if not isinstance(problem, StorageOutage):
            self._owed_events.extend(events)
            self._owed_statements.append(statements)
            return
        published, owed = [*self._owed_events, *events], [*self._owed_statements, statements]
        if state.value != before.state:
            published.append(SessionStateChanged(state=state.value, previous=before.state, reason=reason))
        self._owed_events, self._owed_statements = [], []

        def unit(uow: UnitOfWork) -> None:
            for late in owed:
                late(uow)
            uow.sessions.update(before.id, **values)

        stored = self.stream.record(published, unit, origin=Origin(run_id), durable=True, kept=True)
        stored.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._late = stored

    async def change(self, columns: Mapping[str, Any], statements: Statements = lambda uow: None) -> None:
        """Give the session another title, another issue to work on (None: no issue), another mode, other
        overrides, or the run that was seen. `statements` are stored in the same unit."""
        # Looking at a session does not keep it from retention.
        values = dict(columns) if columns.keys() == {"seen_run_id"} else {**columns, "updated_at": now_ms()}
        after = self.row.model_copy(update=values)

        def unit(uow: UnitOfWork) -> None:
            change_session(uow, self.row, values)
            statements(uow)

        await self.stream.record([updated_event(after)], unit, durable=True)
        self.row = self.row.model_copy(update=values)


def updated_event(row: SessionRow) -> SessionUpdated:
    """Return the event with what a person may change of a session."""
    return SessionUpdated(
        title=row.title,
        issue_number=row.issue_number,
        model=row.overrides.get("model"),
        mode=row.mode,
        seen_run_id=row.seen_run_id,
    )
