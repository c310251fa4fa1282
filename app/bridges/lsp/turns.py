"""Work with a server side by side, or by one alone.

Owns: who waits for whom. Never: what is done meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


class Turns:
    """Who works alone goes first: those who come later wait until that is over."""

    def __init__(self) -> None:
        self._side_by_side = 0
        self._alone = False
        self._waiting: set[asyncio.Future[None]] = set()

    @asynccontextmanager
    async def side_by_side(self) -> AsyncIterator[None]:
        """Work at the same time as others, once nobody works alone."""
        await self._until(lambda: not self._alone)
        self._side_by_side += 1
        try:
            yield
        finally:
            self._side_by_side -= 1
            self._ring()

    @asynccontextmanager
    async def alone(self, seconds: float) -> AsyncIterator[None]:
        """Work while nobody else does. Raises TimeoutError when others are still at work after so long."""
        async with asyncio.timeout(seconds):
            await self._until(lambda: not self._alone)
            self._alone = True
            try:
                await self._until(lambda: not self._side_by_side)
            except BaseException:
                self._leave()
                raise
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        self._alone = False
        self._ring()

    async def _until(self, free: Callable[[], bool]) -> None:
        while not free():
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.add(waiting)
            try:
                await waiting
            finally:
                self._waiting.discard(waiting)

    def _ring(self) -> None:
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
