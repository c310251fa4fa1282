"""One pseudo-terminal: its two descriptors, its modes, reading it by the event loop.

Owns: both descriptors. Never: what the bytes mean, or who runs on it.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import termios
from collections.abc import Callable

COLUMNS = 120
ROWS = 40
_CHUNK = 4096
"""As much as the kernel hands out at once; room for more would be faulted in for nothing."""
_READS_AT_ONCE = 64
_DEALT_WITH_AT_ONCE = 16


class Terminal:
    """Calls `received` with every chunk of output on the event loop, from the first `resume` on; it may call
    `pause`. Raises OSError when the system has no more terminals."""

    def __init__(self, received: Callable[[bytes], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._received = received
        self._outer, self._inner = pty.openpty()
        self._reading = False
        self.ended = asyncio.Event()
        """Set when nobody can write to the terminal any more and everything was read."""
        try:
            _prepare(self._inner)
            os.set_blocking(self._outer, False)
        except BaseException:
            self.close()
            raise

    @property
    def inner(self) -> int:
        """The descriptor that a child is started on."""
        return self._inner

    def release(self) -> None:
        """Close the inner side here, so that its end is seen when the last process closes it."""
        if self._inner >= 0:
            os.close(self._inner)
            self._inner = -1

    def read_now(self) -> None:
        """Read what there is now, without waiting for the event loop."""
        if self._reading:
            self._read()

    def pause(self, seconds: float | None = None) -> None:
        """Stop reading, for a while or until `resume`; writers wait when the terminal is full."""
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._outer)
        if seconds is not None:
            self._loop.call_later(seconds, self.resume)

    def resume(self) -> None:
        if not self._reading and not self.ended.is_set():
            self._reading = True
            self._loop.add_reader(self._outer, self._read)

    def close(self) -> None:
        """Close both sides; processes on the terminal get a hang-up."""
        self.pause()
        self.release()
        if self._outer >= 0:
            os.close(self._outer)
            self._outer = -1
        self.ended.set()

    def _read(self) -> None:
        """Read what there is, up to a bound, so that others get the event loop and the kernel's small buffer
        does not fill."""
        chunks: list[bytes] = []
        try:
            for number in range(1, _READS_AT_ONCE + 1):
                chunk = os.read(self._outer, _CHUNK)
                if not chunk:
                    self._end()
                    break
                chunks.append(chunk)
                if number % _DEALT_WITH_AT_ONCE == 0:
                    self._received(b"".join(chunks))
                    chunks.clear()
                    if not self._reading:
                        break
        except BlockingIOError:
            pass
        except OSError:  # EIO: the inner side is closed
            self._end()
        if chunks:
            self._received(b"".join(chunks))

    def _end(self) -> None:
        self.pause()
        self.ended.set()


def _prepare(descriptor: int) -> None:
    """No echo, for nobody types; no carriage returns, for they would only be removed again (and
    cost the kernel three quarters of the time)."""
    attributes = termios.tcgetattr(descriptor)
    attributes[1] &= ~termios.OPOST
    attributes[3] &= ~(termios.ECHO | termios.ECHONL)
    termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
