"""Sends finished spans to one endpoint, from a thread of its own, as well as it goes.

Owns: the bounded queue, the thread, and the one warning when the endpoint does not answer. Never:
waiting on behalf of a run: what does not fit is dropped and counted, and stopping has a deadline.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

log = logging.getLogger("kaged.traces")

MAX_WAITING = 2048
MAX_BATCH = 128
GATHER_SECONDS = 1.0
"""How long the first span of a batch waits for others."""

T = TypeVar("T")


class Send(Protocol[T]):  # type: ignore[misc]
    """Sends one batch; returns whether it was taken. It may block, and may raise anything."""

    def __call__(self, batch: Sequence[T]) -> bool: ...


class SpanExport(Generic[T]):
    """One endpoint; `name` is what the operator knows it by. `close` breaks a sending that hangs."""

    def __init__(self, name: str, send: Send[T], close: Callable[[], None]) -> None:
        self.dropped = 0
        self.sent = 0
        self.name = name
        self._send = send
        self._close = close
        self._waiting: deque[T] = deque()
        self._changed = threading.Condition()
        self._stopping = False
        self._over = threading.Event()
        self._failing = False
        self._thread = threading.Thread(target=self._run, name=f"kaged-{name}-traces", daemon=True)
        self._thread.start()

    def put(self, span: T) -> None:
        """Queue one finished span; never waits."""
        with self._changed:
            if self._stopping or len(self._waiting) >= MAX_WAITING:
                self.dropped += 1
                return
            self._waiting.append(span)
            if len(self._waiting) in (1, MAX_BATCH):
                self._changed.notify()

    async def stop(self, seconds: float) -> None:
        """Send what is queued, for so long at most; then give up what is left."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        # The thread may hang in the network: it is waited for so long, and never joined.
        if not await asyncio.to_thread(self._over.wait, seconds):
            with self._changed:
                left = len(self._waiting)
                self._waiting.clear()
            # Said once: not again by the thread, whose sending fails later.
            level, self._failing = logging.DEBUG if self._failing else logging.WARNING, True
            log.log(
                level, "%s did not take its last traces in time; %d or more are lost", self.name, left + 1
            )
            threading.Thread(target=self._close, name=f"kaged-{self.name}-close", daemon=True).start()

    def _run(self) -> None:
        try:
            while True:
                batch = self._take()
                if not batch:
                    break
                self._report(self._taken(batch), len(batch))
        finally:
            self._over.set()

    def _take(self) -> list[T]:
        """Wait for spans and return some; nothing when it is time to stop."""
        with self._changed:
            while not self._waiting and not self._stopping:
                self._changed.wait()
            if len(self._waiting) < MAX_BATCH and not self._stopping:
                self._changed.wait(GATHER_SECONDS)
            return [self._waiting.popleft() for _ in range(min(MAX_BATCH, len(self._waiting)))]

    def _taken(self, batch: list[T]) -> bool:
        try:
            return self._send(batch)
        except Exception:
            # The edge of the thread: whatever a span or the network has, traces go on.
            log.debug("traces for %s could not be sent", self.name, exc_info=True)
            return False

    def _report(self, taken: bool, count: int) -> None:
        """Count, and say it once when sending begins to fail and once when it works again."""
        if taken:
            self.sent += count
            if self._failing:
                log.info("%s accepts traces again", self.name)
        else:
            self.dropped += count
            if not self._failing:
                log.warning(
                    "%s does not accept traces: traces are lost until it does; runs continue", self.name
                )
        self._failing = not taken
