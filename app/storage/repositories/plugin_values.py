"""Queries about what plugins keep."""

from __future__ import annotations

from sqlalchemy import delete, func, select

from app.storage.models import PluginValue
from app.storage.repositories.rows import Rows, completed, insert_or_overwrite
from app.storage.text import storable


class PluginValueRepository(Rows[PluginValue]):
    model = PluginValue

    def get(self, project_id: str, plugin: str, key: str) -> PluginValue | None:
        return self._first(*self._equal(project_id=project_id, plugin=plugin, key=key))

    def keys(self, project_id: str, plugin: str, prefix: str, after: str, limit: int) -> list[str]:
        """Return up to `limit` keys that begin with `prefix` and come behind `after`, in their order."""
        statement = (
            select(self.c.key)
            .where(
                self.c.project_id == project_id,
                self.c.plugin == plugin,
                self.c.key.startswith(storable(prefix), autoescape=True),
                func.substr(self.c.key, 1, len(prefix)) == storable(prefix),  # `LIKE` folds case in SQLite
            )
            .order_by(self.c.key)
        )
        # Compared here: PostgreSQL orders texts by the language of the database.
        found = sorted(self.connection.execute(statement).scalars())
        return [key for key in found if key > after][:limit]

    def used(self, project_id: str, plugin: str) -> tuple[int, int]:
        """Return how many keys there are, and the bytes of their values. It looks at every row."""
        row = self.connection.execute(
            select(func.count(), func.coalesce(func.sum(self.c.size_bytes), 0)).where(
                self.c.project_id == project_id, self.c.plugin == plugin
            )
        ).one()
        return int(row[0]), int(row[1])

    def size_of(self, project_id: str, plugin: str, key: str) -> int | None:
        where = self._equal(project_id=project_id, plugin=plugin, key=key)
        statement = select(self.c.size_bytes).where(*where)
        return self.connection.execute(statement).scalar_one_or_none()

    def remove(self, project_id: str, plugin: str, key: str) -> bool:
        """Delete one value; False when there was none."""
        statement = delete(self.table).where(*self._equal(project_id=project_id, plugin=plugin, key=key))
        return self.connection.execute(statement).rowcount > 0

    def put(self, **values: object) -> None:
        """Store a value in place of the one before; Conflict when there is no such project."""
        insert_or_overwrite(self.connection, self.table, completed(self.model, values))
