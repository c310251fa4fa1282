"""Queries about compactions."""

from __future__ import annotations

from sqlalchemy import Text, select, type_coerce, update

from app.storage.models import Compaction
from app.storage.repositories.rows import RowsOfSession


class CompactionRepository(RowsOfSession[Compaction]):
    model = Compaction

    def newest(self, session_id: str, agent_path: str) -> Compaction | None:
        statement = select(Compaction).where(self.c.session_id == session_id, self.c.agent_path == agent_path)
        return self._one(statement.order_by(self.c.created_at.desc(), self.c.id.desc()))

    def decide(self, compaction_id: str, **values: object) -> bool:
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
