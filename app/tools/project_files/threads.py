"""Runs blocking work in threads, and defines what a cancellation means for it.

Owns: the threads for files and computation, `to_the_end`, `held_open`. Never: short work (the event loop's
pool).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from typing import TypeVar

T = TypeVar("T")
THREADS = 32
PER_SESSION = 4
"""The threads of one session at a time: a few slow files of one session hold up no other."""


class FileThreads:
    """Threads for work that takes as long as the files are large. A session waits for its own work only."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(THREADS, thread_name_prefix="kaged-files")
        self._sessions: dict[str, tuple[asyncio.Semaphore, list[None]]] = {}

    @asynccontextmanager
    async def turn(self, session_id: str) -> AsyncIterator[Executor]:
        """Wait until the session may have one more thread, and yield where its work runs."""
        slots, users = self._sessions.setdefault(session_id, (asyncio.Semaphore(PER_SESSION), []))
        users.append(None)
        try:
            async with slots:
                yield self.pool
        finally:
            users.pop()
            if not users:
                self._sessions.pop(session_id, None)

    async def run(self, session_id: str, work: Callable[[], T]) -> T:
        """Run `work` in a thread. A cancellation does not stop it: `work` must have an end of its own."""
        async with self.turn(session_id) as pool:
            return await asyncio.get_running_loop().run_in_executor(pool, work)


async def to_the_end(work: Callable[[], T], settle: Callable[[T], None], pool: Executor | None = None) -> T:
    """Run `work` in a thread of `pool`, or of the event loop, then `settle` with its result on the event
    loop. A cancellation is raised only when the thread has ended and is settled, so the work happens whole or
    not at all."""
    future = asyncio.get_running_loop().run_in_executor(pool, work)
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait({future})
        except asyncio.CancelledError as request:
            cancelled = request
    if cancelled is None or future.exception() is None:
        settle(future.result())
    if cancelled is not None:
        raise cancelled
    return future.result()


@asynccontextmanager
async def held_open(open_all: Callable[[ExitStack], T]) -> AsyncIterator[T]:
    """Run `open_all` in a thread and yield its result; what it entered into the stack is closed in a thread
    afterwards."""
    with ExitStack() as held:
        opened: list[T] = []
        await to_the_end(lambda: open_all(held), opened.append)
        try:
            yield opened[0]
        finally:
            await asyncio.to_thread(held.close)
