"""Requests of a plugin to the daemon: its storage and the log.

Owns: their checks: capability, and bounds on keys and values. Never: storing values.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import orjson

from app.bridges.plugins.journal import LEVELS, Journal
from app.bridges.plugins.limits import PluginLimits
from app.bridges.plugins.manifest import PluginManifest
from app.bridges.rpc.peer import INTERNAL_ERROR, ResponseError
from app.errors import RPC_CAPABILITY_DENIED, RPC_INVALID_PARAMS, RPC_TOOL_NOT_FOUND
from app.json_schema import is_deeper

MAX_KEY = 256
MAX_VALUE_BYTES = 64 * 1024
MAX_VALUE_DEPTH = 32
MAX_LISTED = 1_000
MAX_FIELDS_BYTES = 2_000
_KEY = re.compile(r"[!-~](?:[ -~]{0,254}[!-~])?")
_STORAGE = "kaged.storage."


class StorageRefused(Exception):
    """Raised by a storage that refuses a value, as over a quota; the plugin gets the message."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class PluginStorage(Protocol):
    """What plugins remember, by project, plugin and key. Values are JSON. Raises StorageRefused."""

    async def get(self, project_id: str, plugin: str, key: str) -> Any:
        """Return the value, None when there is none."""

    async def set(self, project_id: str, plugin: str, key: str, value: Any) -> None: ...

    async def delete(self, project_id: str, plugin: str, key: str) -> bool:
        """Tell whether there was a value."""

    async def list(self, project_id: str, plugin: str, prefix: str, after: str, limit: int) -> Sequence[str]:
        """Return up to `limit` keys that begin with `prefix` and come behind `after`, in their order."""


class PluginRequests:
    def __init__(
        self,
        manifest: PluginManifest,
        project_id: str,
        storage: PluginStorage,
        journal: Journal,
        limits: PluginLimits,
    ) -> None:
        self._manifest = manifest
        self._project_id = project_id
        self._storage = storage
        self._journal = journal
        self._limits = limits

    def notified(self, method: str, params: Any) -> None:
        """Handle a notification. Unknown ones are ignored."""
        if method == "kaged.log" and isinstance(params, dict):
            self._log(params)

    async def answer(self, method: str, params: Any) -> Any:
        """Answer a request. Raises ResponseError."""
        fields = params if isinstance(params, dict) else {}
        if method == "kaged.log":
            self._log(fields)
            return None
        action = method.removeprefix(_STORAGE) if method.startswith(_STORAGE) else ""
        if action not in {"get", "set", "delete", "list"}:
            raise ResponseError(RPC_TOOL_NOT_FOUND, f"there is no method {method[:100]}")
        needed = "kaged:storage:read" if action in {"get", "list"} else "kaged:storage:write"
        if not self._manifest.may(needed):
            raise ResponseError(
                RPC_CAPABILITY_DENIED,
                f"{method} needs `{needed}`; write that under capabilities in the manifest",
            )
        try:
            async with asyncio.timeout(self._limits.storage_seconds):
                return await self._stored(action, fields)
        except TimeoutError:
            raise ResponseError(INTERNAL_ERROR, "the storage takes too long; try again later") from None
        except StorageRefused as refused:
            raise ResponseError(RPC_INVALID_PARAMS, refused.message) from None

    async def _stored(self, action: str, fields: Mapping[str, Any]) -> Any:
        whose = (self._project_id, self._manifest.name)
        if action == "list":
            return {"keys": await self._keys(fields)}
        key = _key(fields)
        match action:
            case "get":
                return {"value": await self._storage.get(*whose, key)}
            case "delete":
                return {"deleted": await self._storage.delete(*whose, key)}
            case _:
                await self._storage.set(*whose, key, await asyncio.to_thread(_value, fields))
                return {}

    async def _keys(self, fields: Mapping[str, Any]) -> list[str]:
        prefix, after = fields.get("prefix", ""), fields.get("after", "")
        limit = fields.get("limit", MAX_LISTED)
        if (
            not isinstance(prefix, str)
            or not isinstance(after, str)
            or len(prefix) + len(after) > 2 * MAX_KEY
        ):
            raise _wrong("`prefix` and `after` are texts of at most 256 characters")
        if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MAX_LISTED:
            raise _wrong(f"`limit` is a number from 1 to {MAX_LISTED}")
        found = await self._storage.list(self._project_id, self._manifest.name, prefix, after, limit)
        return list(found)[:limit]

    def _log(self, fields: Mapping[str, Any]) -> None:
        message, level = fields.get("message"), fields.get("level", "info")
        if not isinstance(message, str):
            return
        details = fields.get("fields")
        if isinstance(details, dict) and details:
            try:
                shown = orjson.dumps(details)[:MAX_FIELDS_BYTES].decode("utf-8", "replace")
            except TypeError:
                shown = ""
            message = f"{message[: self._limits.log.line_characters - len(shown)]} {shown}"
        self._journal.say(level if isinstance(level, str) and level in LEVELS else "info", message)


def _key(fields: Mapping[str, Any]) -> str:
    key = fields.get("key")
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise _wrong(f"`key` is a text of 1 to {MAX_KEY} plain ASCII characters")
    return key


def _value(fields: Mapping[str, Any]) -> Any:
    """Return the value to keep. Blocks when it is large."""
    if "value" not in fields:
        raise _wrong("`value` is missing; delete the key to have no value")
    value = fields["value"]
    if is_deeper(value, MAX_VALUE_DEPTH):
        raise _wrong(f"`value` is nested more than {MAX_VALUE_DEPTH} deep")
    size = len(orjson.dumps(value))
    if size > MAX_VALUE_BYTES:
        raise _wrong(f"`value` has {size} bytes as JSON, {MAX_VALUE_BYTES} are allowed; divide it")
    return value


def _wrong(message: str) -> ResponseError:
    return ResponseError(RPC_INVALID_PARAMS, message)
