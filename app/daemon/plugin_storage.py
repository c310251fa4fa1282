"""What plugins remember between their runs, kept with their project.

Owns: the bounds of what one plugin of one project keeps, and the order of its writes, one at a time. Never:
who may read or write; the plugin's capabilities say that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from app.bridges.plugins.requests import StorageRefused
from app.errors import Conflict
from app.ids import now_ms
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork

MAX_VALUE_BYTES = 1024 * 1024
MAX_KEYS = 10_000
MAX_TOTAL_BYTES = 64 * 1024 * 1024
T = TypeVar("T")


@dataclass(slots=True)
class _Used:
    """How many values one plugin of one project keeps, and their bytes, once they were counted; counting
    takes long when there are many. Held by `lock` while one of them is written."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    known: tuple[int, int] | None = None


class StoredPluginValues:
    """The storage of all plugins, by project, plugin and key. Values are JSON."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._used: dict[tuple[str, str], _Used] = {}

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

        def store(uow: UnitOfWork) -> None:
            uow.plugin_values.put(
                project_id=project_id,
                plugin=plugin,
                key=key,
                value=value,
                size_bytes=size,
                updated_at=now_ms(),
            )

        used = self._used_by(project_id, plugin)
        async with used.lock:
            count, total = await self._beside(used, project_id, plugin, key)
            if count >= MAX_KEYS:
                raise StorageRefused(f"there are {count} keys, {MAX_KEYS} are allowed; delete some")
            if total + size > MAX_TOTAL_BYTES:
                raise StorageRefused(
                    f"there are {total} bytes of values, {MAX_TOTAL_BYTES} are allowed; delete some"
                )
            try:
                await self._written(used, store, (count + 1, total + size))
            except Conflict:
                raise StorageRefused("the project is not known any more") from None

    async def delete(self, project_id: str, plugin: str, key: str) -> bool:
        """Delete a value and return whether there was one."""
        used = self._used_by(project_id, plugin)
        async with used.lock:
            beside = await self._beside(used, project_id, plugin, key)
            return await self._written(
                used, lambda uow: uow.plugin_values.remove(project_id, plugin, key), beside
            )

    async def list(self, project_id: str, plugin: str, prefix: str, after: str, limit: int) -> Sequence[str]:
        """Return up to `limit` keys that begin with `prefix` and come behind `after`, in their order."""
        return await self._storage.read(
            lambda uow: uow.plugin_values.keys(project_id, plugin, prefix, after, limit)
        )

    def _used_by(self, project_id: str, plugin: str) -> _Used:
        return self._used.setdefault((project_id, plugin), _Used())

    async def _beside(self, used: _Used, project_id: str, plugin: str, key: str) -> tuple[int, int]:
        """Return how many values there are beside that of a key, and their bytes."""
        known = used.known

        def read(uow: UnitOfWork) -> tuple[int, int]:
            count, total = known or uow.plugin_values.used(project_id, plugin)
            size = uow.plugin_values.size_of(project_id, plugin, key)
            return (count, total) if size is None else (count - 1, total - size)

        return await self._storage.read(read)

    async def _written(self, used: _Used, statements: Callable[[UnitOfWork], T], after: tuple[int, int]) -> T:
        """Write, also when the caller has gone, and note what is kept then."""
        used.known = None
        stored = self._storage.submit(statements)
        try:
            return await asyncio.shield(stored)
        finally:
            await asyncio.wait({stored})
            if not stored.cancelled() and stored.exception() is None:
                used.known = after
