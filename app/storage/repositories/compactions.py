"""Queries about compactions."""

from __future__ import annotations

import builtins
from typing import Any

from sqlalchemy import Text, select, type_coerce, update

from app.storage.models import Compaction
from app.storage.pages import Page
from app.storage.repositories.rows import RowsById


class CompactionRepository(RowsById[Compaction]):
    model = Compaction

    def list(self, session_id: str, *, limit: int = 25, cursor: str | None = None) -> Page[Compaction]:
        """Return a page of a session's compactions, the newest first."""
        where = [self.c.session_id == session_id]
        return self._newest_first("compactions", where, limit=limit, cursor=cursor)

    def of_session(self, session_id: str) -> builtins.list[Compaction]:
        """Return every compaction of a session, the oldest first."""
        statement = select(Compaction).where(self.c.session_id == session_id)
        return self._all(statement.order_by(self.c.created_at, self.c.id))

    def newest(self, session_id: str, agent_path: str) -> Compaction | None:
        """Return the newest compaction of one agent; None when there is none."""
        statement = select(Compaction).where(self.c.session_id == session_id, self.c.agent_path == agent_path)
        found = self._all(statement.order_by(self.c.created_at.desc(), self.c.id.desc()).limit(1))
        return found[0] if found else None

    def decide(self, compaction_id: str, **values: Any) -> bool:
        """Set columns of a compaction that is still proposed; False when it is not."""
        statement = update(self.table).where(self.c.id == compaction_id, self.c.state == "proposed")
        return self.connection.execute(statement.values(**values)).rowcount > 0

    def link_proposals(self, session_id: str, checkpoint_id: str) -> int:
        """Note the checkpoint at which the session's proposals wait; return how many there are."""
        statement = update(self.table).where(self.c.session_id == session_id, self.c.state == "proposed")
        return self.connection.execute(statement.values(checkpoint_id=checkpoint_id)).rowcount

    def has_unpriced(self, session_id: str) -> bool:
        """Tell whether a summary of the session has cost what is not known."""
        bill = type_coerce(self.c.plugin_cost, Text)
        where = (self.c.session_id == session_id, bill.like('%"cost_usd":null%'))
        return self.connection.execute(select(self.c.id).where(*where).limit(1)).first() is not None
