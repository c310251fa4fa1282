"""Copies bytes between two sockets, both ways, until both have ended.

Owns: the two directions, their counts, and giving up on silence. Never: what the bytes mean.

A direction reads again only when everything it read is written. Large buffers make a relay in Python fast.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable

LARGE_BUFFER = 1024 * 1024
SMALL_BUFFER = 32 * 1024
KEPT_BUFFERS = 8
IDLE_SECONDS = 900.0
HALF_OPEN_SECONDS = 300.0
"""How long both sides may be silent, and how long when one of them has already ended."""


class Buffers:
    """A few large buffers that the directions of many relays take by turns; when all are taken, and
    that is when many receivers are slow, there are small ones."""

    def __init__(self) -> None:
        self._free: list[bytearray] = []
        self._left = KEPT_BUFFERS

    def take(self) -> bytearray:
        """Return a buffer whose content does not matter."""
        if self._free:
            return self._free.pop()
        if self._left:
            self._left -= 1
            return bytearray(LARGE_BUFFER)
        return bytearray(SMALL_BUFFER)

    def give_back(self, buffer: bytearray) -> None:
        if len(buffer) == LARGE_BUFFER:
            self._free.append(buffer)


class _Direction:
    """From one socket to another. `limit` are the bytes that may still go this way, None is all."""

    def __init__(
        self,
        source: socket.socket,
        sink: socket.socket,
        buffers: Buffers,
        changed: Callable[[OSError | None], None],
        limit: int | None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._source = source
        self._sink = sink
        self._buffers = buffers
        self._changed = changed
        self._limit = limit
        self._held: bytearray | None = None
        self._rest = memoryview(b"")
        self.carried = 0
        self.is_over = False

    def start(self) -> None:
        if self._limit == 0:
            self.is_over = True
        else:
            self._loop.add_reader(self._source, self._read)

    def stop(self) -> None:
        if self._source.fileno() >= 0:
            self._loop.remove_reader(self._source)
        if self._sink.fileno() >= 0:
            self._loop.remove_writer(self._sink)
        self._let_go()

    def _read(self) -> None:
        buffer = self._buffers.take()
        try:
            wanted = len(buffer) if self._limit is None else min(len(buffer), self._limit)
            count = self._source.recv_into(buffer, wanted)
        except (BlockingIOError, InterruptedError):
            self._buffers.give_back(buffer)
            return
        except OSError as error:
            self._buffers.give_back(buffer)
            self._changed(error)
            return
        self._held, self._rest = buffer, memoryview(buffer)[:count]
        self.carried += count
        if not count:
            self._end(notifies=True)
            return
        if self._limit is not None:
            self._limit -= count
        if not self._write() and self._rest:
            self._loop.remove_reader(self._source)
            self._loop.add_writer(self._sink, self._go_on)

    def _go_on(self) -> None:
        if self._write():
            self._loop.remove_writer(self._sink)
            if not self.is_over:
                self._loop.add_reader(self._source, self._read)

    def _write(self) -> bool:
        """Write the buffer; return whether it is empty."""
        try:
            while self._rest:
                self._rest = self._rest[self._sink.send(self._rest) :]
        except (BlockingIOError, InterruptedError):
            self._changed(None)
            return False
        except OSError as error:
            self._let_go()
            self._changed(error)
            return False
        self._let_go()
        if self._limit == 0:
            self._end(notifies=False)
        else:
            self._changed(None)
        return True

    def _end(self, *, notifies: bool) -> None:
        """End the direction. With `notifies` the sink learns of it, unless it has its whole request."""
        self.is_over = True
        self._loop.remove_reader(self._source)
        self._let_go()
        problem: OSError | None = None
        if notifies:
            try:
                self._sink.shutdown(socket.SHUT_WR)
            except OSError as error:
                problem = error
        self._changed(problem)

    def _let_go(self) -> None:
        if self._held is not None:
            self._rest = memoryview(b"")
            self._buffers.give_back(self._held)
            self._held = None


class Relay:
    """Between `client` and `server`, two connected sockets that do not block. It does not close them."""

    def __init__(
        self,
        client: socket.socket,
        server: socket.socket,
        buffers: Buffers,
        *,
        upload_limit: int | None = None,
        idle_seconds: float = IDLE_SECONDS,
        half_open_seconds: float = HALF_OPEN_SECONDS,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._up = _Direction(client, server, buffers, self._changed, upload_limit)
        self._down = _Direction(server, client, buffers, self._changed, None)
        self._idle_seconds = idle_seconds
        self._half_open_seconds = half_open_seconds
        self._over = asyncio.Event()
        self._moved_at = self._loop.time()

    @property
    def sent(self) -> int:
        return self._up.carried

    @property
    def received(self) -> int:
        return self._down.carried

    async def run(self) -> None:
        """Carry until both sides have ended, one of them fails, or both are silent for too long."""
        self._up.start()
        self._down.start()
        try:
            while not self._over.is_set():
                quiet = self._half_open_seconds if self._is_half_open else self._idle_seconds
                left = self._moved_at + quiet - self._loop.time()
                if left <= 0:
                    return
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(left, self._half_open_seconds)):
                        await self._over.wait()
        finally:
            self._up.stop()
            self._down.stop()

    @property
    def _is_half_open(self) -> bool:
        return self._up.is_over or self._down.is_over

    def _changed(self, problem: OSError | None) -> None:
        self._moved_at = self._loop.time()
        if problem is not None or (self._up.is_over and self._down.is_over):
            self._over.set()
