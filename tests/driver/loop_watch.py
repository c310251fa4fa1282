"""A watchdog over the event loop: what holds it up, and for how long.

Times every callback of every loop in this process. Time in which the thread wanted to run and
another process (or another machine on the same host) had the processor is not the callback's fault
and is left out. So is the time in which other threads of this process, which may hold the interpreter's
lock, wanted to run. The garbage collector has the daemon's settings meanwhile: what the test process has
gathered before is kept out of collections.
"""

from __future__ import annotations

import asyncio
import gc
import os
import time
from asyncio.events import Handle
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from app.process_memory import freeze_loaded

LONGEST_SECONDS = 0.050
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
SAMPLE_SECONDS = 0.005
"""How old the times of waiting may be that a callback is compared with."""


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
    original, thresholds = Handle._run, gc.get_threshold()
    gc.collect()
    freeze_loaded()
    known = os.path.exists("/proc/self/schedstat")
    sampled, waits_before, stolen_before = 0.0, dict[str, float](), 0.0

    def stolen() -> float:
        """Return the seconds that the host has taken from this machine so far, at the most."""
        with open("/proc/stat", "rb") as file:
            return int(file.readline().split()[8]) / TICKS_A_SECOND if known else 0.0

    def run(handle: Handle) -> None:
        nonlocal sampled, waits_before, stolen_before
        if time.perf_counter() - sampled > SAMPLE_SECONDS:
            waits_before, stolen_before = _waits(), stolen()
            sampled = time.perf_counter()
        # What was read here may have waited for the interpreter's lock.
        before, computed_before = time.perf_counter(), time.thread_time()
        try:
            original(handle)
        finally:
            watch.callbacks += 1
            took, computed = time.perf_counter() - before, time.thread_time() - computed_before
            if took > limit:
                waits = [waited - waits_before.get(thread, 0.0) for thread, waited in _waits().items()]
                # One after the other may have held the interpreter's lock while it waited for a processor.
                if took - sum(waits) - (stolen() - stolen_before) > limit:
                    watch.slow.append((took, f"{_name(handle)} ({computed * 1000:.0f} ms of its own)"))

    Handle._run = run  # type: ignore[method-assign, assignment]
    try:
        yield watch
    finally:
        Handle._run = original  # type: ignore[method-assign]
        gc.set_threshold(*thresholds)
        _freeze_what_stays()
    watch.check()


def _freeze_what_stays() -> None:
    """Collect the garbage of what was frozen, and freeze the rest again, as it was before any test: each
    collection of a later test would walk all tests and modules."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class LongestTurn:
    """The most processor time that the loop's thread took before others got their turn, in seconds.

    Time in which the thread did not run does not count: a busy machine makes no turn longer.
    """

    def __init__(self) -> None:
        gc.collect()
        gc.freeze()
        self._seconds = 0.0
        self._task = asyncio.create_task(self._measure())

    async def _measure(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.001)
            self._seconds = max(self._seconds, time.thread_time() - before)

    def stop(self) -> float:
        self._task.cancel()
        _freeze_what_stays()
        return self._seconds


def _waits() -> dict[str, float]:
    """Return for each thread of this process the seconds that it has waited for a processor so far."""
    waits: dict[str, float] = {}
    for folder in os.scandir("/proc/self/task"):
        with suppress(OSError), open(f"{folder.path}/schedstat", "rb") as file:  # it may just have ended
            waits[folder.name] = int(file.read().split()[1]) / 1e9
    return waits


def _name(handle: Handle) -> str:
    callback = getattr(handle, "_callback", None)
    owner = getattr(callback, "__self__", None)
    return repr(owner) if isinstance(owner, asyncio.Task) else repr(callback)
