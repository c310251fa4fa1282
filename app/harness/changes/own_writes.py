"""A list never shows what a revert wrote without the record of that revert.

Owns: who waits for whom. Never: the files, or their records.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

LONGEST_SECONDS = 5.0
"""Who has waited so long goes on. A list may then say for a moment that others changed a file."""


class OwnWrites:
    """The lists and reverts of one root: many lists at once, or one revert, which goes before new lists."""

    def __init__(self) -> None:
        self._lists = 0
        self._no_list, self._no_revert = asyncio.Event(), asyncio.Event()
        self._no_list.set()
        self._no_revert.set()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Look at files and records in this block."""
        await _when(self._no_revert)
        self._lists += 1
        self._no_list.clear()
        try:
            yield
        finally:
            self._lists -= 1
            if not self._lists:
                self._no_list.set()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Write files and store that in this block. Only one may be open."""
        self._no_revert.clear()
        try:
            await _when(self._no_list)
            yield
        finally:
            self._no_revert.set()


async def _when(event: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(LONGEST_SECONDS):
            while not event.is_set():  # it may be cleared again before this task goes on
                await event.wait()
