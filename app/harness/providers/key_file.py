"""Sets and deletes the keys of providers while the daemon runs.

Owns: the file of stored keys, private and replaced whole, and that a change counts from the next call on.
Never: returning a key, or deciding who may set one.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from app.bridges.mcp.added_servers import write_private
from app.config import KEY_FILE, stored_keys, with_stored_key, without_stored_key
from app.errors import Conflict, NotFound, StorageError, ValidationFailed
from app.harness.providers.route import ProviderEntry
from app.harness.providers.router import ProviderRouter
from app.observability import Redactor


def put_key(data_dir: Path, name: str, key: str | None) -> bool:
    """Store a key, or delete it with None; tell whether anything has changed. Raises `ConfigError`,
    `StorageError`. Blocks."""
    keys = stored_keys(data_dir)
    before = keys.pop(name, None)
    if key is not None:
        keys[name] = key
    if key == before:
        return False
    file = data_dir / KEY_FILE
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(file, json.dumps(keys, sort_keys=True).encode())
    except OSError as problem:
        raise StorageError(f"{file} cannot be written: {problem.strerror}") from None
    return True


class ProviderKeys:
    """The keys of one daemon's providers; `router` uses them."""

    def __init__(self, data_dir: Path, router: ProviderRouter, redactor: Redactor) -> None:
        self._data_dir, self._router, self._redactor = data_dir, router, redactor

    async def put(self, name: str, key: str) -> ProviderEntry:
        """Store the key of a provider; it counts from the next call on. Raises `NotFound`, `Conflict` when
        the settings give the provider another key, and `StorageError`."""
        async with self._router.changing:
            settings = self._router.settings_of(name)
            if settings.driver == "replay":
                raise ValidationFailed(
                    f"{name} plays a transcript and needs no key.", fields={"name": "needs no key"}
                )
            if settings.key_from == "settings":
                raise Conflict(
                    f"The settings of the daemon give {name} its key. Change it there: api_key or "
                    f"api_key_env under [providers.{name}].",
                    reason="key_in_settings",
                )
            self._redactor.add(key)
            await asyncio.to_thread(put_key, self._data_dir, name, key)
            self._router.replace_settings(name, with_stored_key(settings, key))
        return self._entry(name)

    async def delete(self, name: str) -> ProviderEntry:
        """Delete the stored key of a provider. Raises `NotFound` when none is stored, and `StorageError`."""
        async with self._router.changing:
            settings = self._router.settings_of(name)
            if not await asyncio.to_thread(put_key, self._data_dir, name, None):
                raise NotFound(f"No key of {name} is stored.")
            if settings.key_from == "stored":
                fresh = await asyncio.to_thread(without_stored_key, name, settings)
                self._router.replace_settings(name, fresh)
        return self._entry(name)

    def _entry(self, name: str) -> ProviderEntry:
        return next(one for one in self._router.list_providers() if one.name == name)
