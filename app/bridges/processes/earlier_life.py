"""The children of an earlier life: a daemon that replaces its process by a new one keeps its number and them.

Owns: waiting until the guardian of that life has ended them, and reaping them. Never: killing, or children of
this life, of which there are none yet.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from contextlib import suppress

from app.bridges.processes import proc
from app.bridges.processes.guardian import MARKER, VARIABLE

log = logging.getLogger("kaged.processes")

WAIT_SECONDS = 30.0
_STEP_SECONDS = 0.02


async def await_earlier_life(seconds: float = WAIT_SECONDS) -> None:
    """Wait until nothing is left that this process has started before it was replaced, but not longer than
    `seconds`. Called before the first child is started."""
    until = time.monotonic() + seconds
    while left := [pid for pid in proc.children(os.getpid()) if _is_left(pid)]:
        for pid in left:
            _reap(pid)
        if time.monotonic() > until:
            log.error("%d processes of the daemon before this one have not ended: %s", len(left), left[:10])
            return
        await asyncio.sleep(_STEP_SECONDS)


def _reap(pid: int) -> None:
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _is_left(pid: int) -> bool:
    found = proc.process(pid)
    if found is None:
        return False
    names = (proc.variable(pid, MARKER), proc.variable(pid, VARIABLE))
    return found.ended or any(name is not None and name.startswith(f"{os.getpid()}-") for name in names)
