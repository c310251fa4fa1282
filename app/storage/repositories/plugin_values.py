"""Queries about what plugins keep."""

from __future__ import annotations

from typing import Any

from app.storage.models import PluginValue
from app.storage.repositories.rows import Rows, completed
from app.storage.repositories.upsert import insert_or_overwrite
from app.storage.text import storable


class PluginValueRepository(Rows[PluginValue]):
    model = PluginValue

    def get(self, project_id: str, plugin: str, key: str) -> PluginValue | None:
        """Return one value, None when there is none."""
        return self._first(
            self.c.project_id == project_id, self.c.plugin == plugin, self.c.key == storable(key)
        )

    def put(self, **values: Any) -> None:
        """Store a value in place of the one before; Conflict when there is no such project."""
        insert_or_overwrite(self.connection, self.table, completed(self.model, values))
