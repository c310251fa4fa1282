"""Workspaces in the data folder of another daemon, which owned the project before.

Owns: what becomes of one that it has not finished. Never: workspaces that are ready, which stay where they
are.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from app.harness.projects.projects import ProjectRegistry
from app.harness.workspaces.record import WorkspaceRecord
from app.harness.workspaces.seeds import Seeds
from app.harness.workspaces.tools import Tools
from app.ids import now_ms
from app.states import WorkspaceState
from app.storage.models import Workspace

S = WorkspaceState
_BASELINE_ELSEWHERE = (
    "The uncommitted changes that it was to start from are in the data folder of another daemon."
)


class Elsewhere:
    """Those of all projects that this daemon owns."""

    def __init__(
        self, record: WorkspaceRecord, projects: ProjectRegistry, tools: Tools, seeds: Seeds
    ) -> None:
        self._record = record
        self._projects = projects
        self._tools = tools
        self._seeds = seeds

    async def bring(self, row: Workspace) -> Workspace:
        """Let a workspace in the making be made here, and return its row; it is broken when what it was to
        begin with is not here. Raises `GitProblem` and errors of the operating system."""
        if self._tools.holds(row):
            return row
        above = self._tools.layout_of(row).folder.parent
        has_all = await asyncio.to_thread(self._seeds.bring, row, above)
        place = await self.give_up_place(row)
        if has_all:
            return await self._record.note(row, {"root": place})
        gone = {"detail": _BASELINE_ELSEWHERE, "journal": None, "removed_at": now_ms(), "size_bytes": 0}
        return await self._record.move(row, S.BROKEN, gone, only_from=S.CREATING)

    async def give_up_place(self, row: Workspace) -> str:
        """Remove a workspace that is created anew, in whichever data folder it is. Return its new root,
        in this daemon's data folder. Raises `GitProblem` and errors of the operating system."""
        before = self._tools.layout_of(row)
        await self._tools.creation.abandon(self._projects.root_of(row.project_id), before, row.id)
        within = Path(row.root).relative_to(before.tree)
        return str(self._tools.layout(row.project_id, row.id).tree / within)

    async def say_unfinished(self, row: Workspace) -> None:
        """Note why a merge or a branch waits for the daemon that has the files."""
        step = "merge" if row.state == S.MERGING.value else "keep"
        where = f"{row.root}, in the data folder of another daemon"
        detail = (
            f"A {step} is not finished: it needs {where}. It is finished when that daemon owns the project."
        )
        await self._record.note(row, {"detail": detail})
