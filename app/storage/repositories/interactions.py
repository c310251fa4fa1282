"""Queries about interactions."""

from __future__ import annotations

import builtins
from collections.abc import Sequence

from sqlalchemy import ColumnElement, func, literal_column, select, update

from app.states import InteractionState
from app.storage.models import Interaction
from app.storage.pages import Page
from app.storage.repositories.rows import RowsById
from app.storage.text import storable, storable_values

_PENDING: ColumnElement[str] = literal_column(f"'{InteractionState.PENDING.value}'")
"""Written out: an index of the pending rows alone is not used for a parameter."""


class InteractionRepository(RowsById[Interaction]):
    model = Interaction

    def list(
        self, session_id: str, *, state: str | None = None, limit: int = 25, cursor: str | None = None
    ) -> Page[Interaction]:
        """Return a page of a session's interactions, the newest first."""
        where = self._equal(session_id=session_id, state=state)
        return self._newest_first("interactions", where, limit=limit, cursor=cursor)

    def pending(self, session_id: str) -> builtins.list[Interaction]:
        """Return what a session waits for, the oldest first."""
        return self._sorted(self.c.session_id == session_id, self.c.state == _PENDING)

    def of_call(self, session_id: str, call_id: str) -> builtins.list[Interaction]:
        """Return what the root agent's calls with this id have asked, the oldest first."""
        return self._sorted(self.c.session_id == session_id, self.c.tool_call_id == call_id)

    def pending_anywhere(self) -> builtins.list[Interaction]:
        """Return every pending interaction, the oldest of each session first."""
        return self._sorted(self.c.state == _PENDING, by=("session_id", "created_at", "id"))

    def count_pending(self, session_id: str) -> int:
        return self._count([self.c.session_id == session_id, self.c.state == _PENDING])

    def pending_counts(self, session_ids: Sequence[str]) -> dict[str, int]:
        """Count what each of some sessions waits for; those that wait for nothing are left out."""
        where = (self.c.session_id.in_(session_ids), self.c.state == _PENDING)
        statement = select(self.c.session_id, func.count()).where(*where).group_by(self.c.session_id)
        return {row[0]: row[1] for row in self.connection.execute(statement)}

    def close(self, interaction_id: str, **values: object) -> bool:
        """Set columns of a pending interaction; False when it is not pending any more."""
        statement = update(self.table).where(self.c.id == storable(interaction_id), self.c.state == _PENDING)
        return self.connection.execute(statement.values(storable_values(values))).rowcount > 0
