"""What starts the daemon's child processes: with its rights, or in cages.

Owns: making both, and ending them after everything that they started. Never: who runs where.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from app.bridges.processes.audit import Record
from app.bridges.processes.deadline import Deadline
from app.bridges.processes.earlier_life import await_earlier_life
from app.bridges.processes.process import ChildProcesses
from app.config import Settings, child_environment, default_config_file
from app.daemon.cage_setup import make_cages
from app.tools.ast_grep.snapshot import empty_folder
from app.tools.processes.call_processes import CallProcesses


@asynccontextmanager
async def open_processes(
    settings: Settings,
    *,
    record: Record,
    deadline: Deadline | None = None,
    first_port: Callable[[Path], int | None] = lambda _: None,
) -> AsyncIterator[CallProcesses]:
    """Find out which cages there can be; on leaving, no process is left. `record` stores the audit rows
    of cages; after the `deadline` nothing is started. `first_port` is that of a workspace."""
    if deadline is not None:
        await await_earlier_life()
    children = ChildProcesses(deadline)
    try:
        cages = await make_cages(children, settings, record=record)
        data_dir = settings.daemon.data_dir
        processes = CallProcesses(
            children,
            cages,
            data_dir=data_dir,
            closed=(data_dir, settings.config_file or default_config_file()),
            environment=child_environment(),
            snapshots=await asyncio.to_thread(empty_folder, data_dir / "snapshots"),
            first_port=first_port,
        )
        try:
            yield processes
        finally:
            await processes.aclose()
            await cages.aclose()
    finally:
        await children.aclose()
