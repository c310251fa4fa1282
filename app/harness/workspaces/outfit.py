"""Fits a new workspace out as the project file says: files, folders, ports, and the setup.

Owns: the order, and the words in which what went wrong is shown; the session may go on in any case. Never:
each of these things (`furnishing`, `setup`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.harness.dsl.spec_sections import WorkspaceSection
from app.harness.workspaces.copying import CopyBounds, stoppable
from app.harness.workspaces.furnishing import free_ports, furnish
from app.harness.workspaces.layout import Layout
from app.harness.workspaces.record import WorkspaceRecord
from app.harness.workspaces.running import Command, CommandPlace, CommandRun, run_in_workspace
from app.harness.workspaces.setup import MAX_LOG, packages_outside, setup_command
from app.storage.models import Workspace
from app.storage.unit_of_work import UnitOfWork
from app.tools.processes.call_processes import CallProcesses


@dataclass(frozen=True, slots=True)
class Fitting:
    """A workspace that is made, of the project at `project`: its `root`, what it borrows from, and the folder
    of which it is made."""

    layout: Layout
    project: Path
    root: Path
    borrowed: tuple[Path, ...]
    most_bytes: int
    source: Path


class Outfit:
    """Fits out the workspaces of all projects."""

    def __init__(
        self, record: WorkspaceRecord, processes: CallProcesses, environment: Mapping[str, str]
    ) -> None:
        self._record = record
        self._processes = processes
        self._environment = environment

    async def fit(
        self, row: Workspace, section: WorkspaceSection, fitting: Fitting
    ) -> tuple[Workspace, list[str], dict[str, Any]]:
        """Return the row with its ports, what is worth knowing, and the columns to store."""
        closed, room = self._processes.closed, fitting.most_bytes
        notes = await stoppable(
            lambda stop: furnish(
                section, fitting.source, fitting.root, CopyBounds(room, closed=closed, stop=stop)
            )
        )
        if section.ports:
            row = await self._with_ports(row, section.ports)
            if row.first_port is None:
                notes.append(f"There are no {section.ports} free ports.")
        if section.setup is None:
            return row, notes, {}
        await self._record.note(row, {}, "setup")
        done = await self.run(row.id, setup_command(section.setup), fitting)
        if done.problem is not None:
            notes.append(f"{done.problem}: see its log.")
        outside = await asyncio.to_thread(packages_outside, fitting.root, fitting.project)
        if outside:
            names = ", ".join(outside)
            notes.append(f"These packages run the files of the checkout, not those here: {names}.")
        return row, notes, {"setup_log": done.end(MAX_LOG)}

    async def run(self, workspace_id: str, command: Command, fitting: Fitting) -> CommandRun:
        """Run a command of the operator in a workspace."""
        variables = self._processes.variables(fitting.root)
        place = CommandPlace(workspace_id, fitting.root, fitting.layout.tree, fitting.borrowed, variables)
        return await run_in_workspace(self._processes, self._environment, command, place)

    async def _with_ports(self, row: Workspace, count: int) -> Workspace:
        def taken(uow: UnitOfWork) -> list[tuple[int, int]]:
            rows = uow.workspaces.with_folder()
            return [(one.first_port, one.ports) for one in rows if one.first_port is not None]

        used = await self._record.storage.read(taken)
        first = await asyncio.to_thread(free_ports, count, used)
        return await self._record.note(row, {"first_port": first, "ports": count if first is not None else 0})
