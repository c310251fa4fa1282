"""A number that a child of the daemon is born with, and that all its descendants inherit.

Owns: making these numbers, setting one for a start, reading that of a process. Never: conclusions from it.

The number is the soft limit RLIMIT_RTTIME. It has no effect on ordinary processes, everybody may read it, and
it survives a cleared environment, a new session and lost parents. Other systems have no birthmarks.
"""

from __future__ import annotations

import os
import resource
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

LIMIT = "RLIMIT_RTTIME"
_WHAT: int | None = getattr(resource, LIMIT, None)
_LINE = b"Max realtime timeout"
_OURS = 1 << 62
"""Set in every number, and in no limit that anybody would choose."""
_KEEPER_BITS, _FAMILY_BITS = 16, 24
_PROCESS_BITS = 62 - _KEEPER_BITS - _FAMILY_BITS


class Birthmarks:
    """The numbers of one keeper of processes: of this process, its own, and counted."""

    def __init__(self) -> None:
        process = os.getpid() % (1 << _PROCESS_BITS)
        keeper = process << _KEEPER_BITS | secrets.randbits(_KEEPER_BITS)
        self.first = _OURS | keeper << _FAMILY_BITS

    def number(self, count: int) -> int:
        """Return the number of the child that is started as the `count`-th."""
        return self.first | count % (1 << _FAMILY_BITS)

    def has(self, number: int) -> bool:
        return number >> _FAMILY_BITS == self.first >> _FAMILY_BITS

    def is_neighbour(self, number: int) -> bool:
        """Tell whether a number is that of another keeper in this process."""
        bits = _FAMILY_BITS + _KEEPER_BITS
        return number >> bits == self.first >> bits and not self.has(number)


@contextmanager
def given(number: int) -> Iterator[None]:
    """What this process starts meanwhile is born with the number, if the system lets it be."""
    if _WHAT is None:
        yield
        return
    soft, hard = resource.getrlimit(_WHAT)
    try:
        resource.setrlimit(_WHAT, (number, hard))
    except (ValueError, OSError):  # the operator has set a lower one
        yield
        return
    try:
        yield
    finally:
        resource.setrlimit(_WHAT, (soft, hard))


def birthmark(pid: int) -> int:
    """Return the number that a process was born with; 0 for those of others, and for what is gone."""
    try:
        with open(f"/proc/{pid}/limits", "rb", 0) as file:
            content = file.read(4096)
    except OSError:
        return 0
    for line in content.splitlines():
        if line.startswith(_LINE):
            value = line[len(_LINE) :].split()[0]
            number = int(value) if value.isdigit() else 0
            return number if number >> 62 == 1 else 0
    return 0
