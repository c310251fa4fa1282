"""What a program and its adapter write: kept within bounds, and handed on while it comes.

Owns: the memory that this takes. Never: who may see it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from app.bridges.dap.requests import Progress

MAX_PIECES = 4_096
MAX_LIVE = 16_000
PAUSE_SECONDS = 0.1
"""How long is waited between two pieces that are handed on."""
FLOOD = 16_000
"""From how many characters since the last stop on output is a flood."""
QUIET_AFTER_FLOOD_SECONDS, MAX_FLOOD_SECONDS = 0.15, 5.0
QUIET_AFTER_END_SECONDS = 0.03
"""The time without output after which that of an ended program is complete."""
_NOT_SHOWN = frozenset({"telemetry"})


class Output:
    """The output since the last stop: the first `head` characters and the last `tail`."""

    def __init__(self, head: int, tail: int) -> None:
        self._most_head = head
        self._most_tail = tail
        self._head: list[str] = []
        self._head_size = 0
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._left_out = 0
        self._came = 0
        self._live: deque[str] = deque()
        self._live_size = 0
        self._news = asyncio.Event()
        self._listeners = 0
        self._pull: Callable[[], None] | None = None

    def also_from(self, pull: Callable[[], None]) -> None:
        """Call `pull` before output is taken: it adds what has been written elsewhere, on terminals."""
        self._pull = pull

    def event(self, body: dict[str, Any]) -> None:
        """Take an `output` event."""
        text, category = body.get("output"), body.get("category")
        if isinstance(text, str) and category not in _NOT_SHOWN:
            self.add(text)

    def add(self, text: str) -> None:
        """Take a piece of output."""
        if not text:
            return
        self._came += len(text)
        self._keep(text)
        if self._listeners:
            self._live.append(text[-MAX_LIVE:])
            self._live_size += len(self._live[-1])
            while self._live_size > MAX_LIVE and len(self._live) > 1:
                self._live_size -= len(self._live.popleft())
            self._news.set()

    def take(self) -> tuple[str, bool]:
        """Return the output since the last time, and whether a part of it is left out."""
        if self._pull is not None:
            self._pull()
        head, tail = "".join(self._head), "".join(self._tail)
        truncated = self._left_out > 0
        if truncated:
            head += f"\n[... {self._left_out} characters are left out here ...]\n"
        self._head.clear()
        self._tail.clear()
        self._head_size = self._tail_size = self._left_out = self._came = 0
        return head + tail, truncated

    async def calm(self, *, flood: int = FLOOD, quiet_seconds: float = QUIET_AFTER_FLOOD_SECONDS) -> None:
        """Wait, for a short time at most, until nothing comes any more, when more than `flood` characters
        have come: the end of much output may come after the event that the program has stopped."""
        loop = asyncio.get_running_loop()
        until = loop.time() + MAX_FLOOD_SECONDS
        while self._came > flood and loop.time() < until:
            before = self._came
            await asyncio.sleep(QUIET_AFTER_FLOOD_SECONDS if before > FLOOD else quiet_seconds)
            if self._came == before:
                return

    def peek(self, size: int) -> str:
        """Return the end of the output, which stays."""
        return ("".join(self._head) + "".join(self._tail))[-size:]

    @asynccontextmanager
    async def handed_to(self, progress: Progress | None) -> AsyncIterator[None]:
        """While the `with` lasts, `progress` is given what comes. What is left at its end is given, too."""
        if progress is None:
            yield
            return
        self._listeners += 1
        task = asyncio.create_task(self._hand_on(progress), name="output of a debugged program")
        try:
            yield
        finally:
            self._listeners -= 1
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if text := self._take_live():
            await progress(text)

    async def _hand_on(self, progress: Progress) -> None:
        while True:
            await self._news.wait()
            await progress(self._take_live())
            await asyncio.sleep(PAUSE_SECONDS)

    def _take_live(self) -> str:
        self._news.clear()
        text = "".join(self._live)
        self._live.clear()
        self._live_size = 0
        return text

    def _keep(self, text: str) -> None:
        room = self._most_head - self._head_size
        if room > 0 and not self._tail:
            self._head.append(text[:room])
            self._head_size += len(self._head[-1])
            text = text[room:]
        if not text:
            return
        if len(text) > self._most_tail:
            self._left_out += len(text) - self._most_tail
            text = text[-self._most_tail :]
        self._tail.append(text)
        self._tail_size += len(text)
        while self._tail_size > self._most_tail and len(self._tail) > 1:
            self._drop(len(self._tail[0]))
        if self._tail_size > self._most_tail:
            self._drop(self._tail_size - self._most_tail)
        if len(self._tail) > MAX_PIECES:
            self._tail = deque(("".join(self._tail),))

    def _drop(self, size: int) -> None:
        """Drop that many characters of the oldest piece of the end."""
        first = self._tail.popleft()
        if size < len(first):
            self._tail.appendleft(first[size:])
        size = min(size, len(first))
        self._tail_size -= size
        self._left_out += size
