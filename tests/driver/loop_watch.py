"""A watchdog over the event loop: what holds it up, and for how long.

Times every callback of every loop in this process. Time in which the thread wanted to run and
another process (or another machine on the same host) had the processor is not the callback's fault
and is left out. What the test process has gathered before is kept out of garbage collections, as
the daemon does with what it has loaded at its start.
"""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from asyncio.events import Handle
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

LONGEST_SECONDS = 0.050
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


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
    gc.collect()
    gc.freeze()
    with suppress(FileNotFoundError):
        descriptor: int | None = None
        descriptor = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY)

    def waited() -> float:
        """Return the seconds for which this thread has waited for a processor so far."""
        if descriptor is None:
            return 0.0
        return int(os.pread(descriptor, 64, 0).split()[1]) / 1e9

    def stolen() -> float:
        """Return the seconds that the host has taken from this machine so far, at the most."""
        with open("/proc/stat", "rb") as file:
            return int(file.readline().split()[8]) / TICKS_A_SECOND if descriptor is not None else 0.0

    def run(handle: Handle) -> None:
        before, waited_before, stolen_before = time.perf_counter(), waited(), stolen()
        try:
            original(handle)
        finally:
            watch.callbacks += 1
            took = time.perf_counter() - before
            others = waited() - waited_before + stolen() - stolen_before if took > limit else 0.0
            if took - others > limit:
                watch.slow.append((took, _name(handle)))

    Handle._run = run  # type: ignore[method-assign, assignment]
    try:
        yield watch
    finally:
        Handle._run = original  # type: ignore[method-assign]
        gc.unfreeze()
        if descriptor is not None:
            os.close(descriptor)
            descriptor = None  # the callback that ends the block still asks
    watch.check()


def waited_for_processors() -> float:
    """Return the seconds that the threads of this process have waited for a processor so far, and the
    host has taken from this machine: what a figure has too much while others keep it busy."""
    waited = 0
    for file in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError):  # a thread that has just ended
            waited += int(file.read_text().split()[1])
    with suppress(OSError), open("/proc/stat", "rb") as file:
        return waited / 1e9 + int(file.readline().split()[8]) / TICKS_A_SECOND
    return waited / 1e9


def _name(handle: Handle) -> str:
    callback = getattr(handle, "_callback", None)
    owner = getattr(callback, "__self__", None)
    return repr(owner) if isinstance(owner, asyncio.Task) else repr(callback)
