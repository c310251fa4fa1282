"""Blocking work in threads, with a clear answer to what a cancellation means for it.

Owns: `to_the_end` and `held_open`. Never: a pool of its own; the event loop's is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import TypeVar

T = TypeVar("T")


async def to_the_end(work: Callable[[], T], settle: Callable[[T], None]) -> T:
    """Run `work` in a thread and then `settle` with its result on the event loop.

    A cancellation does not stop the thread: it is waited for, settled, and only then is the
    cancellation raised. So the work happens whole or not at all, and is never left running.
    """
    future = asyncio.get_running_loop().run_in_executor(None, work)
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
