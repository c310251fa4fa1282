"""A desk on a machine that can hold cages: what caged agents start runs in real ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from app.bridges.processes.process import ChildProcesses
from app.bridges.pty.manager import TerminalManager
from app.bridges.sandbox.egress import Outside
from app.bridges.sandbox.manager import Cages
from app.bridges.sandbox.tier import Tier
from app.config import child_environment
from app.tools.ast_grep.snapshot import empty_folder
from app.tools.catalog import build_registry
from app.tools.dispatch.service import ToolService
from app.tools.processes.call_processes import CallProcesses
from tests.driver.daemon_process import WAIT_SECONDS
from tests.driver.machine import need_tier

FULL = Tier("full", "as the tests need it")
LANDLOCK = Tier("landlock", "as the tests need it")


@dataclass(frozen=True)
class CagedMachine:
    """`desk` has all tools."""

    desk: Any
    processes: CallProcesses
    terminals: TerminalManager
    children: ChildProcesses
    cages: Cages


async def until(condition: Callable[[], bool], seconds: float = WAIT_SECONDS) -> None:
    """Wait for what nobody tells of."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@asynccontextmanager
async def caged_machine(
    desk: Any, tier: Tier = FULL, children: ChildProcesses | None = None, *, outside: Outside | None = None
) -> AsyncIterator[CagedMachine]:
    """Yield the machine; on leaving, nothing of it is left. Of `children` there should be one in a process:
    each takes what orphans it finds for its own."""
    need_tier(tier)
    data = desk.base / "data"
    children = children or ChildProcesses()
    cages = Cages(children, tier, outside=outside)
    snapshots = empty_folder(data / "snapshots")
    processes = CallProcesses(children, cages, data_dir=data, closed=(data,), snapshots=snapshots)
    terminals = TerminalManager(children, per_session=8)
    registry = build_registry(
        reads=desk.reads,
        processes=processes,
        terminals=terminals,
        environment={**child_environment(), "OF_THE_DAEMON": "canary"},
        data_dir=data,
    )
    served = replace(desk, service=ToolService(registry, settle=processes.settle))
    try:
        yield CagedMachine(served, processes, terminals, children, cages)
    finally:
        await terminals.aclose()
        await processes.aclose()
        await cages.aclose()
        await children.aclose()
