"""The todo list of a session: what the tool writes, kept in the database.

Owns: the list's form as stored and as exported. Never: what the agents make of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.ids import now_ms
from app.storage.storage import Storage
from app.tools.contract.ports import MAX_TODO_CHARACTERS, MAX_TODOS, TODO_STATES, TodoItem


class SessionTodos:
    """The list of one session."""

    def __init__(self, storage: Storage, session_id: str) -> None:
        self._storage = storage
        self._session_id = session_id

    async def read(self) -> tuple[TodoItem, ...]:
        row = await self._storage.read(lambda uow: uow.todos.get(self._session_id))
        return () if row is None else items_of(row.items)

    async def replace(self, todos: Sequence[TodoItem], agent_path: str) -> None:
        """Store the list in place of the one before; it is kept when this returns."""
        items = [{"content": one.content, "status": one.status} for one in todos]
        values = {"session_id": self._session_id, "updated_by": agent_path, "updated_at": now_ms()}
        await self._storage.write(lambda uow: uow.todos.put(items=items, **values), durable=True)


def items_of(stored: Any) -> tuple[TodoItem, ...]:
    """Return stored items as a tool is given them. Raises ValueError for anything else."""
    if not isinstance(stored, list) or len(stored) > MAX_TODOS:
        raise ValueError(f"the items are not a list of at most {MAX_TODOS}")
    return tuple(map(_item, stored))


def _item(stored: Any) -> TodoItem:
    if not isinstance(stored, dict) or stored.keys() != {"content", "status"}:
        raise ValueError("an item does not have content and status")
    content, status = stored["content"], stored["status"]
    if not isinstance(content, str) or not 0 < len(content) <= MAX_TODO_CHARACTERS:
        raise ValueError("the content of an item is not a text of the right length")
    if status not in TODO_STATES:
        raise ValueError(f"status {status!r} is not known")
    return TodoItem(content, status)
