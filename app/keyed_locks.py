"""One lock for each key, as long as somebody holds it or waits for it.

Owns: forgetting locks that nobody wants. Never: what they guard.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)


class KeyedLocks(Generic[KeyT]):
    """Locks by key. Who waits for one keeps it: a lock without holder may still have somebody next."""

    def __init__(self) -> None:
        self._locks: dict[KeyT, tuple[asyncio.Lock, int]] = {}

    def __len__(self) -> int:
        return len(self._locks)

    @asynccontextmanager
    async def holding(self, key: KeyT) -> AsyncIterator[None]:
        """Hold the lock of a key."""
        lock, wanted = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = lock, wanted + 1
        try:
            async with lock:
                yield
        finally:
            wanted = self._locks[key][1] - 1
            if wanted:
                self._locks[key] = lock, wanted
            else:
                del self._locks[key]
