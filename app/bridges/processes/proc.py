"""What the kernel says about processes (`/proc`).

Owns: reading it. Never: signalling. Where there is no `/proc`, nothing is known.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from app.process_stat import GROUP, PARENT, SESSION, STARTED, STATE, THREADS, process_stat

MAX_TREE = 1_000
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Process:
    """`started` is in clock ticks since the system started."""

    pid: int
    state: str
    parent: int
    group: int
    session: int
    started: int

    @property
    def ended(self) -> bool:
        return self.state in "ZX"


def ticks_now() -> int:
    """Return the present moment as `Process.started` counts."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return int(time.clock_gettime(clock) * _TICKS)


def process(pid: int) -> Process | None:
    """Return what is known about a process, None when there is none."""
    fields = process_stat(pid)
    if fields is None:
        return None
    parent, group, session = (int(fields[place]) for place in (PARENT, GROUP, SESSION))
    return Process(pid, fields[STATE].decode(), parent, group, session, int(fields[STARTED]))


def threads(pid: int) -> int | None:
    """Return how many threads a process has, None where that is not known."""
    fields = process_stat(pid)
    return None if fields is None else int(fields[THREADS])


def processes() -> Iterator[Process]:
    """Yield every process that can be seen. Takes some milliseconds for each hundred."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        found = process(int(name)) if name.isdigit() else None
        if found is not None:
            yield found


def variable(pid: int, name: str) -> str | None:
    """Return a variable of the environment that a process was started with, if it can be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            content = file.read()
    except OSError:
        return None
    wanted = os.fsencode(name) + b"="
    for entry in content.split(b"\0"):
        if entry.startswith(wanted):
            return os.fsdecode(entry.removeprefix(wanted))
    return None


def children(parent: int) -> list[int]:
    """Return the children of all threads of a process."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{parent}/task"):
            found += map(int, _content(f"/proc/{parent}/task/{thread}/children").split())
    except OSError:
        pass
    return found


def descendants(ancestor: int) -> set[int]:
    """Return the processes that descend from one; those whose parents ended belong to who adopted them."""
    found: set[int] = set()
    left = children(ancestor)
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            left += children(one)
    return found


def children_of_first_thread(parent: int) -> list[int]:
    """Return the children of a process' first thread, among which are all that it adopted."""
    try:
        content = _content(f"/proc/{parent}/task/{parent}/children")
    except OSError:
        return [found.pid for found in processes() if found.parent == parent]
    return [int(pid) for pid in content.split()]


def _content(path: str) -> bytes:
    """Return a whole file. It is mostly short: making room for a long one costs more than reading."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = [os.read(descriptor, _PAGE)]
        while parts[-1]:
            parts.append(os.read(descriptor, _PAGE))
        return b"".join(parts)
    finally:
        os.close(descriptor)


def inner_number(pid: int) -> int | None:
    """Return the number of a process in its own process namespace, None when it is gone."""
    found = _last_of(pid, b"NSpid:")
    return pid if found == -1 else found


def user(pid: int) -> int | None:
    """Return the number of the user that a process acts as on files, None when it is gone."""
    found = _last_of(pid, b"Uid:")
    return None if found == -1 else found


def _last_of(pid: int, name: bytes) -> int | None:
    """Return the last number in a line of a process' status; -1 without the line, None when it is gone."""
    try:
        with open(f"/proc/{pid}/status", "rb", 0) as file:
            content = file.read(1 << 14)
    except OSError:
        return None
    return next((int(line.split()[-1]) for line in content.splitlines() if line.startswith(name)), -1)


def memory_of_tree(*pids: int) -> int:
    """Return the resident memory of processes and all their descendants, in bytes; 0 when they are gone.
    Pages that several of them share count for each."""
    pages = 0
    left = list(pids)
    seen: set[int] = set()
    while left and len(seen) < MAX_TREE:
        one = left.pop()
        if one in seen:
            continue
        seen.add(one)
        try:
            with open(f"/proc/{one}/statm", "rb", 0) as file:
                pages += int(file.read(256).split()[1])
        except (OSError, IndexError, ValueError):
            continue
        left += children(one)
    return pages * _PAGE
