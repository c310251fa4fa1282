"""The time until which this daemon's processes may run, where several daemons share a database.

Owns: the memory in which the guardian reads it, also while the daemon is stopped. Never: what moves it on
(`storage/leases`). Linux only.
"""

from __future__ import annotations

import os
import struct
import time

_FORMAT = struct.Struct("=d")


class Deadline:
    """Seconds of the clock that also goes on while the machine sleeps. Until it is set there is none."""

    def __init__(self) -> None:
        self.descriptor = os.memfd_create("kaged-deadline", os.MFD_CLOEXEC)

    def set(self, at: float) -> None:
        """Let processes run until then. May be called in any thread."""
        os.pwrite(self.descriptor, _FORMAT.pack(at), 0)

    @property
    def passed(self) -> bool:
        """Whether the processes are being ended, and none may be started."""
        found = os.pread(self.descriptor, _FORMAT.size, 0)
        return (
            len(found) == _FORMAT.size and time.clock_gettime(time.CLOCK_BOOTTIME) >= _FORMAT.unpack(found)[0]
        )
