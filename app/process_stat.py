"""What Linux says of a process in `/proc/PID/stat`.

Owns: reading that line. Never: which processes are looked at.
"""

from __future__ import annotations

STATE, PARENT, GROUP, SESSION, FLAGS, THREADS, STARTED = 0, 1, 2, 3, 6, 17, 19
"""Places among the fields; THREADS counts them, the start is in clock ticks since the system started."""
FORKED_ONLY = 0x40
"""The flag of a process that was forked and has not begun a program of its own (`PF_FORKNOEXEC`)."""


def process_stat(pid: int) -> list[bytes] | None:
    """Return the fields after the name of a process. None when there is no such process, or the system does
    not say."""
    try:
        with open(f"/proc/{pid}/stat", "rb", 0) as file:
            content = file.read(4096)
    except OSError:
        return None
    # The name comes in parentheses and may contain anything, parentheses too.
    fields = content[content.rfind(b")") + 2 :].split()
    return fields if len(fields) > STARTED else None
