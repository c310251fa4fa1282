"""Queries about todo lists."""

from __future__ import annotations

from typing import Any

from app.storage.models import TodoList
from app.storage.repositories.rows import Rows, completed
from app.storage.repositories.upsert import insert_or_overwrite
from app.storage.text import storable


class TodoListRepository(Rows[TodoList]):
    model = TodoList

    def get(self, session_id: str) -> TodoList | None:
        """Return the session's list; None when none was ever written."""
        return self._first(self.c.session_id == storable(session_id))

    def put(self, **values: Any) -> None:
        """Store a session's list in place of the one before; Conflict when there is no such session."""
        insert_or_overwrite(self.connection, self.table, completed(self.model, values))
