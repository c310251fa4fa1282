"""What plugins remember between their runs, kept with their project.

Owns: the bounds on what one plugin of one project keeps, and the order of its writes. Never: who may
read or write, which the plugin's capabilities say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from app.bridges.plugins.manager import StorageRefused
from app.errors import Conflict
from app.ids import now_ms
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

MAX_VALUE_BYTES = 1024 * 1024
MAX_KEYS = 10_000
MAX_TOTAL_BYTES = 64 * 1024 * 1024


class StoredPluginValues:
    """The storage of all plugins, by project, plugin and key. Values are JSON."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def get(self, project_id: str, plugin: str, key: str) -> Any:
        """Return the value, None when there is none."""
        row = await self._storage.read(lambda uow: uow.plugin_values.get(project_id, plugin, key))
        return None if row is None else row.value

    async def set(self, project_id: str, plugin: str, key: str, value: Any) -> None:
        """Keep a value in place of the one before; a null deletes it. Raises StorageRefused beyond the
        bounds, and when the project is gone."""
        if value is None:
            await self.delete(project_id, plugin, key)
            return
        size = len(orjson.dumps(value))
        if size > MAX_VALUE_BYTES:
            raise StorageRefused(f"the value has {size} bytes as JSON, {MAX_VALUE_BYTES} are allowed")

        def store(uow: UnitOfWork) -> str | None:
            count, total = uow.plugin_values.used(project_id, plugin, but=key)
            if count >= MAX_KEYS:
                return f"there are {count} keys, {MAX_KEYS} are allowed; delete some"
            if total + size > MAX_TOTAL_BYTES:
                return f"there are {total} bytes of values, {MAX_TOTAL_BYTES} are allowed; delete some"
            uow.plugin_values.put(
                project_id=project_id,
                plugin=plugin,
                key=key,
                value=value,
                size_bytes=size,
                updated_at=now_ms(),
            )
            return None

        try:
            refusal = await self._storage.write(store)
        except Conflict:
            refusal = "the project is not known any more"
        if refusal is not None:
            raise StorageRefused(refusal)

    async def delete(self, project_id: str, plugin: str, key: str) -> bool:
        """Delete a value and tell whether there was one."""
        return await self._storage.write(lambda uow: uow.plugin_values.remove(project_id, plugin, key))

    async def list(self, project_id: str, plugin: str, prefix: str, after: str, limit: int) -> Sequence[str]:
        """Return up to `limit` keys that begin with `prefix` and come behind `after`, in their order."""
        return await self._storage.read(
            lambda uow: uow.plugin_values.keys(project_id, plugin, prefix, after, limit)
        )
