"""A watchdog over the event loop: what holds it up, and for how long.

Times every callback of every loop in this process. Time in which the thread wanted to run and
another process had the processor is not the callback's fault and is left out.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from asyncio.events import Handle
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

LONGEST_SECONDS = 0.050


@dataclass
class LoopWatch:
    """`slow` has the seconds and the name of each callback above the limit."""

    slow: list[tuple[float, str]] = field(default_factory=list)
    callbacks: int = 0

    def check(self) -> None:
        assert self.callbacks > 0, "nothing ran"
        assert not self.slow, "the event loop was held up: " + "; ".join(
            f"{seconds * 1000:.0f} ms by {name}" for seconds, name in sorted(self.slow, reverse=True)[:10]
        )


@contextmanager
def watched_loop(limit: float = LONGEST_SECONDS) -> Iterator[LoopWatch]:
    """Watch while the block runs; fail at its end when a callback took longer than `limit`."""
    watch = LoopWatch()
    original = Handle._run
    with suppress(FileNotFoundError):
        descriptor: int | None = None
        descriptor = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY)

    def waited() -> float:
        """Return the seconds for which this thread has waited for a processor so far."""
        return int(os.pread(descriptor, 64, 0).split()[1]) / 1e9 if descriptor is not None else 0.0

    def run(handle: Handle) -> None:
        before, waited_before = time.perf_counter(), waited()
        try:
            original(handle)
        finally:
            watch.callbacks += 1
            took = time.perf_counter() - before
            if took > limit and took - (waited() - waited_before) > limit:
                watch.slow.append((took, _name(handle)))

    Handle._run = run  # type: ignore[method-assign, assignment]
    try:
        yield watch
    finally:
        Handle._run = original  # type: ignore[method-assign]
        if descriptor is not None:
            os.close(descriptor)
    watch.check()


def _name(handle: Handle) -> str:
    callback = getattr(handle, "_callback", None)
    owner = getattr(callback, "__self__", None)
    return repr(owner) if isinstance(owner, asyncio.Task) else repr(callback)
