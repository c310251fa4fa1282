"""Blocking work in threads, with a clear answer to what a cancellation means for it.

Owns: the threads for files and for what tools compute, `to_the_end` and `held_open`. What is short runs in
the event loop's own threads, which nothing here may fill.
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
"""Of one session at a time, so that a few slow files of one session hold up no other."""


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
    """Run `work` in a thread (of the event loop's, unless a `pool` is given) and then `settle` with its
    result on the event loop.

    A cancellation does not stop the thread: it is waited for, settled, and only then is the
    cancellation raised. So the work happens whole or not at all, and is never left running.
    """
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
    """Run `open_all` in a thread and yield what it returns; what it has entered into the stack is
    closed in a thread afterwards, whatever happens."""
    with ExitStack() as held:
        opened: list[T] = []
        await to_the_end(lambda: open_all(held), opened.append)
        try:
            yield opened[0]
        finally:
            await asyncio.to_thread(held.close)
