"""Real children and terminals, and what is left of them afterwards."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from app.bridges.processes.process import ChildProcesses


async def until(condition: Callable[[], bool], seconds: float = 45.0) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  (nothing tells of the kernel's doings)
            await asyncio.sleep(0.01)


def descriptors() -> dict[int, str]:
    """Return this process' open descriptors and what they are."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:
            continue  # the one that the listing itself used
    return found


def children_of(pid: int) -> dict[int, str]:
    """Return the children of a process and their states (`Z` for those nobody has reaped)."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            fields = Path(f"/proc/{name}/stat").read_bytes().rpartition(b")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid:
            found[int(name)] = fields[0].decode()
    return found


def started_from_here() -> set[int]:
    """Return the processes, wherever they are by now, that have the mark of this process' children."""
    mark = b"KAGED_COMMAND=%d-" % os.getpid()
    found = set()
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and mark in Path(f"/proc/{name}/environ").read_bytes():
                found.add(int(name))
        except OSError:
            continue
    return found


def alive(pid: int) -> bool:
    """Tell whether a process is there, a zombie counting as one."""
    return Path(f"/proc/{pid}").exists()


@pytest.fixture
async def children() -> AsyncIterator[ChildProcesses]:
    before = children_of(os.getpid())
    processes = ChildProcesses()
    yield processes
    await processes.aclose()
    await until(lambda: children_of(os.getpid()).keys() <= before.keys())


IN_CAGES = os.environ.get("TESTS_IN_CAGES") == "1"
"""Servers, plugins and adapters run in cages in all tests, and not only where a test asks for it."""
ENVIRONMENT = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}
