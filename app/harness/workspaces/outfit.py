"""Fits a new workspace out as the project file says: files, folders, ports, and the setup.

Owns: the order, and the words in which what went wrong is shown; the session may go on in any case. Never:
each of these things (`furnishing`, `setup`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

from app.cages.cage import Cage
from app.harness.dsl.spec_sections import WorkspaceSection
from app.harness.workspaces.copying import CopyBounds, stoppable
from app.harness.workspaces.furnishing import free_ports, furnish
from app.harness.workspaces.layout import Layout
from app.harness.workspaces.record import WorkspaceRecord
from app.harness.workspaces.running import Command, CommandPlace, CommandRun, run_in_workspace
from app.harness.workspaces.setup import MAX_LOG, packages_outside, setup_command
from app.harness.workspaces.sight import Sight
from app.observability import Redactor
from app.storage.models import Workspace
from app.storage.unit_of_work import UnitOfWork
from app.tools.processes.call_processes import CallProcesses


@dataclass(frozen=True, slots=True)
class Fitting:
    """A workspace that is made, of the project at `project`: its `root`, what it borrows from, and the folder
    of which it is made. `sight` bounds what it gets of that."""

    layout: Layout
    project: Path
    root: Path
    borrowed: tuple[Path, ...]
    most_bytes: int
    source: Path
    sight: Sight | None = None


@dataclass(frozen=True, slots=True)
class Hold:
    """The cage that an agent is held to which wrote what a command runs: it is held to that one, too."""

    cage: Mapping[str, Any]
    project_id: str
    agent_path: str


class Outfit:
    """Fits out the workspaces of all projects."""

    def __init__(
        self,
        record: WorkspaceRecord,
        processes: CallProcesses,
        environment: Mapping[str, str],
        redactor: Redactor,
    ) -> None:
        self._record = record
        self._processes = processes
        self._environment = environment
        self._redactor = redactor
        self._choosing = asyncio.Lock()
        """Held until the ports of a workspace are stored: those made at once share none."""

    async def fit(
        self, row: Workspace, section: WorkspaceSection, fitting: Fitting
    ) -> tuple[Workspace, list[str], dict[str, Any]]:
        """Return the row with its ports, what is worth knowing, and the columns to store."""
        closed, room = self._processes.closed, fitting.most_bytes

        def give(stop: Event) -> list[str]:
            bounds = CopyBounds(room, closed=closed, stop=stop)
            return furnish(section, fitting.source, fitting.root, bounds, fitting.sight)

        notes = await stoppable(give)
        if section.ports:
            row = await self._with_ports(row, section.ports)
            if row.first_port is None:
                notes.append(f"There are no {section.ports} free ports.")
        if section.setup is None:
            return row, notes, {}
        found, columns = await self.set_up(row, section.setup, fitting)
        return row, [*notes, *found], columns

    async def set_up(
        self, row: Workspace, words: str | Sequence[str], fitting: Fitting, hold: Hold | None = None
    ) -> tuple[list[str], dict[str, Any]]:
        """Run the setup; return what is worth knowing, and the columns to store."""
        await self._record.note(row, {}, "setup")
        notes = []
        done = await self._run(
            row.id, setup_command(words), fitting, fitting.root, await self._held(hold, fitting)
        )
        if done.problem is not None:
            notes.append(f"{done.problem}: see its log.")
        outside = await asyncio.to_thread(packages_outside, fitting.root, fitting.project)
        if outside:
            names = ", ".join(outside)
            notes.append(f"These packages run the files of the checkout, not those here: {names}.")
        return notes, {"setup_log": done.end(MAX_LOG, self._redactor)}

    async def check(
        self, workspace_id: str, command: Command, fitting: Fitting, hold: Hold | None
    ) -> CommandRun:
        """Run a command of the operator over what an agent wrote in a workspace. The project's own folder
        says which registries it reaches."""
        held = await self._held(hold, fitting)
        if held is not None:  # no home that agents write, and nothing that the setup's cage has not
            held = replace(held, state_folder=None, unix_sockets=False, seccomp="default")
        return await self._run(workspace_id, command, fitting, fitting.project, held)

    async def _held(self, hold: Hold | None, fitting: Fitting) -> Cage | None:
        if hold is None:
            return None
        of_agent, root = self._processes.of_agent, fitting.root
        return await asyncio.to_thread(of_agent, hold.cage, root, hold.project_id, hold.agent_path)

    async def _run(
        self, workspace_id: str, command: Command, fitting: Fitting, manifests: Path, held: Cage | None
    ) -> CommandRun:
        root, variables = fitting.root, self._processes.variables(fitting.root)
        place = CommandPlace(
            workspace_id, root, fitting.layout.tree, fitting.borrowed, variables, manifests, held
        )
        return await run_in_workspace(self._processes, self._environment, command, place)

    async def _with_ports(self, row: Workspace, count: int) -> Workspace:
        def taken(uow: UnitOfWork) -> list[tuple[int, int]]:
            rows = uow.workspaces.with_folder()
            return [(one.first_port, one.ports) for one in rows if one.first_port is not None]

        async with self._choosing:
            used = await self._record.storage.read(taken)
            first = await asyncio.to_thread(free_ports, count, used)
            columns = {"first_port": first, "ports": count if first is not None else 0}
            return await self._record.note(row, columns)
