"""One writer at a time for each file.

Owns: an asyncio lock per file identity, dropped when idle. Never: locks across processes: digests notice
other programs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from app.errors import ToolError

WAIT_SECONDS = 5.0


@dataclass(slots=True)
class _Entry:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class FileLocks:
    """First come, first served; a caller that waits too long gets `file_busy`."""

    def __init__(self, wait_seconds: float = WAIT_SECONDS) -> None:
        self._wait_seconds = wait_seconds
        self._entries: dict[Hashable, _Entry] = {}

    @asynccontextmanager
    async def holding(self, identity: Hashable, shown: str) -> AsyncIterator[None]:
        """Hold the file's lock during the body. Raises ToolError `file_busy`."""
        entry = self._entries.setdefault(identity, _Entry())
        entry.users += 1
        try:
            try:
                async with asyncio.timeout(self._wait_seconds):
                    await entry.lock.acquire()
            except TimeoutError:
                raise busy(shown) from None
            try:
                yield
            finally:
                entry.lock.release()
        finally:
            entry.users -= 1
            if entry.users == 0:
                del self._entries[identity]


def busy(shown: str) -> ToolError:
    return ToolError(
        "file_busy", f"another call is writing {shown}; try again in a moment", detail={"path": shown}
    )
