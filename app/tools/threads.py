"""Blocking work in threads, with a clear answer to what a cancellation means for it.

Owns: `to_the_end`. Never: a pool of its own; the event loop's is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
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
