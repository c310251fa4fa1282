"""What the sessions owe the storage after an outage, and the one task that tries again.

Owns: which streams are in debt, and when the next attempt is made. Never: what is owed (`session_stream`).
One stream tries first: while the storage is away, the others do not.
"""

from __future__ import annotations

import asyncio
import logging

from app.harness.stream.session_stream import SessionStream

log = logging.getLogger("kaged.storage")

RETRY_SECONDS = 1.0


class StorageDebts:
    """The streams with something to store that an outage kept from being stored."""

    def __init__(self) -> None:
        self._streams: dict[SessionStream, None] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, stream: SessionStream) -> None:
        """Have a stream pay what it owes as soon as the storage works again."""
        self._streams[stream] = None
        if self._task is None or self._task.done():
            log.error("the storage is unavailable; unsaved changes of sessions are kept and stored later")
            self._task = asyncio.create_task(self._retry(), name="storage debts")

    def close(self) -> None:
        """Try no more: the daemon stops, and the next start puts right what is not stored."""
        if self._task is not None:
            self._task.cancel()

    async def _retry(self) -> None:
        while self._streams:
            await asyncio.sleep(RETRY_SECONDS)
            for stream in list(self._streams):
                if stream.owes and not await stream.pay():
                    break
                self._streams.pop(stream, None)
        log.warning("the storage is available again; the unsaved changes of sessions are stored")
