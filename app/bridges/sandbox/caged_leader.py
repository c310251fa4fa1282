"""The main process of a command in a cage, as the daemon reaches it.

Owns: its descriptor, signals, and noticing its end. Never: reaping: the holder does, and reports the exit
code.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

LOST_SECONDS = 5.0
"""How long after a command's end its exit code may take."""
_TO_GROUP = 4
"""PIDFD_SIGNAL_PROCESS_GROUP, since Linux 6.9."""


class ExitListener(Protocol):
    """The holder's side of a command."""

    def signal(self, number: int, what: int) -> None:
        """Have the group of command `number` signalled."""

    def lost(self, number: int) -> None:
        """Note that the exit code of command `number` did not come."""


class CagedLeader:
    """A command's own process, which the holder reaps. `pid` is its number outside."""

    def __init__(self, holder: ExitListener, number: int, pid: int, descriptor: int) -> None:
        self.pid = pid
        self._holder = holder
        self._number = number
        self._descriptor: int | None = descriptor
        self._code: int | None = None
        self._ended: Callable[[int], None] | None = None
        self._lost: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(descriptor, self._vanished)

    def watch(self, ends: Callable[[], None], ended: Callable[[int], None]) -> None:
        """The holder kills the group before it reaps, so that `ends` is not needed."""
        self._ended = ended
        if self._code is not None:
            self._loop.call_soon(ended, self._code)

    def signal(self, number: int) -> None:
        """Signal its group: by descriptor where the kernel can, else the holder does it."""
        if self._descriptor is None:
            return
        try:
            signal.pidfd_send_signal(self._descriptor, number, None, _TO_GROUP)
        except (ProcessLookupError, PermissionError):
            pass
        except OSError:
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self._descriptor, number)
            self._holder.signal(self._number, number)

    def finish(self, code: int) -> None:
        if self._descriptor is None:
            return
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = None
        if self._lost is not None:
            self._lost.cancel()
        self._code = code if code >= 0 else 128 - code
        if self._ended is not None:
            self._ended(self._code)

    def _vanished(self) -> None:
        """The process has ended, says the kernel: now the holder is to say how."""
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            self._lost = self._loop.call_later(LOST_SECONDS, self._holder.lost, self._number)
