"""What the threads of a process wait for, as the kernel and the memory of the process tell it.

Owns: reading that without stopping anything: the state, the time used, and behind a futex the thread that
has the mutex or whose end is awaited, as glibc keeps it. Never: stacks, or what a language adds on top.
"""

from __future__ import annotations

import os
import platform
import struct
from dataclasses import dataclass

MAX_THREADS = 200
_FUTEX = {"x86_64": 202, "aarch64": 98}
_OWNER_AT = 8
"""Where in a mutex of glibc its owner is, after the lock and the count."""
_CALLS = {
    "x86_64": {0: "read", 7: "poll", 23: "select", 35: "sleep", 43: "accept", 45: "receive", 61: "process"}
    | {230: "sleep", 232: "epoll", 270: "select", 271: "poll", 281: "epoll", 288: "accept", 247: "process"},
    "aarch64": {63: "read", 72: "select", 73: "poll", 101: "sleep", 115: "sleep", 202: "accept"}
    | {207: "receive", 22: "epoll", 260: "process", 95: "process"},
}


@dataclass(frozen=True, slots=True)
class ThreadWait:
    """`state` is the kernel's letter, `ticks` the processor time that it has used. `kind` is what it waits
    in (`lock`, `thread`, `futex`, `read`, ...), None where it runs or nobody can tell; `on` is the thread
    that it waits for, where that is known."""

    thread: int
    name: str
    state: str
    ticks: int
    kind: str | None = None
    on: int | None = None


def waits_of(pid: int) -> list[ThreadWait]:
    """Return what each thread of a process does, nothing of a process that is gone."""
    try:
        threads = sorted(int(one) for one in os.listdir(f"/proc/{pid}/task"))[:MAX_THREADS]
    except OSError:
        return []
    numbers = {_inner(pid, one): one for one in threads}
    return [found for one in threads if (found := _wait(pid, one, numbers)) is not None]


def _wait(pid: int, thread: int, numbers: dict[int, int]) -> ThreadWait | None:
    """`numbers`: the threads by the numbers that they have in their own process namespace."""
    place = f"/proc/{pid}/task/{thread}"
    try:
        with open(f"{place}/stat", "rb", 0) as file:
            content = file.read(4096)
    except OSError:
        return None
    begin, end = content.find(b"(") + 1, content.rfind(b")")
    fields = content[end + 2 :].split()
    if len(fields) < 13:
        return None
    name, state = content[begin:end].decode(errors="replace"), fields[0].decode()
    kind, on = (None, None) if state in "RZX" else _awaited(pid, place, thread, numbers)
    return ThreadWait(thread, name, state, int(fields[11]) + int(fields[12]), kind, on)


def _awaited(pid: int, place: str, thread: int, numbers: dict[int, int]) -> tuple[str | None, int | None]:
    machine = platform.machine()
    try:
        with open(f"{place}/syscall", "rb", 0) as file:
            words = file.read(4096).split()
        call = int(words[0]) if len(words) > 2 else -1
    except (OSError, ValueError):
        return None, None
    if call != _FUTEX.get(machine):
        return _CALLS.get(machine, {}).get(call), None
    address = int(words[1], 16)
    value = _memory(pid, address, 4)
    if len(value) == 4 and (ended := numbers.get(struct.unpack("<I", value)[0])) not in (None, thread):
        return "thread", ended
    mutex = _memory(pid, address, _OWNER_AT + 4)
    if len(mutex) == _OWNER_AT + 4:
        lock, _, owner = struct.unpack("<III", mutex)
        if lock in (1, 2) and (holder := numbers.get(owner)) is not None:
            return "lock", holder
    return "futex", None


def _memory(pid: int, address: int, count: int) -> bytes:
    try:
        with open(f"/proc/{pid}/mem", "rb", 0) as file:
            return os.pread(file.fileno(), count, address)
    except (OSError, OverflowError):
        return b""


def _inner(pid: int, thread: int) -> int:
    """Return the number of a thread in its own process namespace."""
    try:
        with open(f"/proc/{pid}/task/{thread}/status", "rb", 0) as file:
            content = file.read(1 << 14)
    except OSError:
        return thread
    line = next((one for one in content.splitlines() if one.startswith(b"NSpid:")), b"")
    return int(line.split()[-1]) if line else thread
