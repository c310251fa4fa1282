"""Notices the end of a process without a thread for each.

Owns: the descriptor (or thread, where the system has none) that waits for one process. Never: reaping.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable


class ExitWatch:
    """Calls `ended` once on the event loop when the process `pid` has ended. `pid` is a child."""

    def __init__(self, pid: int, ended: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._pid = pid
        self._ended = ended
        self._closed = False
        self._descriptor: int | None = None
        if hasattr(os, "pidfd_open"):
            self._descriptor = os.pidfd_open(pid)
            self._loop.add_reader(self._descriptor, self._notice)
        else:
            threading.Thread(target=self._wait, name=f"exit of {pid}", daemon=True).start()

    def send(self, number: int) -> None:
        """Signal the process; nothing happens when it has ended or may not be signalled."""
        try:
            if self._descriptor is not None:
                signal.pidfd_send_signal(self._descriptor, number)
            elif not self._closed:
                os.kill(self._pid, number)
        except (ProcessLookupError, PermissionError):
            pass

    def close(self) -> None:
        self._closed = True
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _notice(self) -> None:
        if not self._closed:
            self.close()
            self._ended()

    def _wait(self) -> None:
        try:
            os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            return
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._notice)
