"""Where the log is read: from the daemon that runs, else from the database of the data folder.

Owns: which of the two, the newest entries, and the later ones once each. Never: arguments or output.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from app.cli.client import DaemonClient
from app.cli.daemon_address import DaemonAddress, local_settings
from app.cli.output import CommandFailed, print_warning
from app.errors import StorageError

EVERY_SECONDS = 1.0
ANSWER_SECONDS = 10.0
_PAGE = 100
_LATE = timedelta(seconds=5)
"""How much later than another an older entry may be stored: several threads and daemons write."""
_GONE = frozenset({"no_daemon", "unreachable"})


@dataclass(slots=True)
class LogSource:
    """`folder` is that of the local daemon, None for a daemon that an address names. `filters` are those of
    `GET /logs`."""

    find: Callable[[], DaemonAddress]
    folder: Path | None
    config_file: Path | None
    filters: dict[str, Any]
    _client: DaemonClient | None = None
    _silent: bool = False
    _seen: dict[int, datetime] = field(default_factory=dict)

    async def newest(self, count: int | None, since: datetime | None) -> list[dict[str, Any]]:
        """Return the newest entries, all with None, the oldest first."""
        found = await self._entries(count, since)
        self._note(found)
        return found

    async def later(self, begun: datetime) -> AsyncIterator[dict[str, Any]]:
        """Yield the entries that come after those of `newest`, once each, for ever; those since `begun` where
        there were none. A daemon that is gone is waited for, and so is a database that cannot be read."""
        while True:
            last = max(self._seen.values(), default=begun)
            try:
                found = await self._entries(None, last - _LATE)
            except CommandFailed as failure:
                if failure.code not in _GONE:
                    raise
                found = []
                self._say_silent("the daemon does not answer; waiting for it")
            except StorageError as problem:  # of a database that a daemon closes, or that restarts
                found = []
                self._say_silent(f"{problem.message}; waiting for it")
            fresh = [
                entry for entry in found if entry["id"] not in self._seen and _time(entry) >= begun - _LATE
            ]
            self._note(fresh)
            for entry in fresh:
                yield entry
            await asyncio.sleep(EVERY_SECONDS)

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.__aexit__()

    def _note(self, entries: list[dict[str, Any]]) -> None:
        """Note which entries of the last seconds are shown."""
        self._seen |= {entry["id"]: _time(entry) for entry in entries}
        newest = max(self._seen.values(), default=None)
        if newest is not None:
            self._seen = {number: time for number, time in self._seen.items() if time >= newest - 2 * _LATE}

    async def _entries(self, count: int | None, since: datetime | None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor = None
        while count is None or len(found) < count:
            limit = _PAGE if count is None else min(_PAGE, count - len(found))
            page = await self._page(since, limit, cursor)
            found += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        return found[::-1]

    async def _page(self, since: datetime | None, limit: int, cursor: str | None) -> dict[str, Any]:
        try:
            return await self._from_daemon(since, limit, cursor)
        except CommandFailed as failure:
            if failure.code not in _GONE or self.folder is None:
                raise
            if failure.code == "unreachable":
                self._say_silent("the daemon does not answer; this is its stored log")
            await self.aclose()
            self._client = None  # the next daemon has another address
        return await asyncio.to_thread(self._from_database, since, limit, cursor)

    async def _from_daemon(self, since: datetime | None, limit: int, cursor: str | None) -> dict[str, Any]:
        if self._client is None:
            self._client = DaemonClient(self.find, keeps_connections=False, seconds=ANSWER_SECONDS)
        asked = {**self.filters, "limit": limit, "cursor": cursor}
        if since is not None:
            asked["since"] = since.isoformat()
        page: dict[str, Any] = await self._client.request("GET", "/logs", params=asked)
        self._silent = False
        return page

    def _from_database(self, since: datetime | None, limit: int, cursor: str | None) -> dict[str, Any]:
        from app.api.schemas.operations import SEVERITIES, LogRecord
        from app.storage.stored_log import read_log

        settings = local_settings(self.folder, self.config_file)
        url = settings.storage.url
        filters = dict(self.filters)
        level = filters.pop("level", None)
        filters |= {
            "severity": None if level is None else SEVERITIES[level],
            "since": None if since is None else int(since.timestamp() * 1000),
            "limit": limit,
            "cursor": cursor,
        }
        page = read_log(
            url.get_secret_value() if url is not None else None, settings.daemon.data_dir, filters
        )
        items = [LogRecord.of(row).model_dump(mode="json") for row in page.items]
        return {"items": items, "next_cursor": page.next_cursor}

    def _say_silent(self, text: str) -> None:
        if not self._silent:
            print_warning(text)
        self._silent = True


def _time(entry: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(entry["created_at"]).astimezone(UTC)
