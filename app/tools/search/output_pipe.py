"""A pipe for the output of a program that prints in many small pieces.

Owns: the pipe, and reading from it without waking up for every piece. Never: the program.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from contextlib import suppress
from types import TracebackType

CAPACITY = 1024 * 1024
PIECE = 16 * 1024
PAUSE_SECONDS = 0.001


class OutputPipe:
    """`inner` is the descriptor that the program gets; `hand_over` closes it on our side."""

    def __init__(self) -> None:
        self._outer, self._inner = os.pipe()
        os.set_blocking(self._outer, False)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with suppress(OSError):  # a user may have only so much memory in pipes
                fcntl.fcntl(self._outer, fcntl.F_SETPIPE_SZ, CAPACITY)
        self._hurried = True

    def __enter__(self) -> OutputPipe:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hand_over()
        os.close(self._outer)

    @property
    def inner(self) -> int:
        return self._inner

    def hand_over(self) -> None:
        if self._inner >= 0:
            os.close(self._inner)
            self._inner = -1

    async def read(self) -> bytes:
        """Return what there is, at least one byte; nothing at the end of the output.

        After a small piece the next is waited for a little, so that several come at once.
        """
        if not self._hurried:
            await asyncio.sleep(PAUSE_SECONDS)
        while True:
            try:
                chunk = os.read(self._outer, CAPACITY)
            except BlockingIOError:
                await self._readable()
            else:
                self._hurried = len(chunk) >= PIECE
                return chunk

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        loop.add_reader(self._outer, _settle, ready)
        try:
            await ready
        finally:
            loop.remove_reader(self._outer)


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
