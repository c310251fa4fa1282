"""The one baseline that several workspaces begin with: what the checkout holds at one moment.

Owns: its folder, which lies beside those of the workspaces and lasts until all of them are made. Never:
making the workspaces (`making`), or what a baseline is (`creation`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from app.harness.workspaces.layout import Layout
from app.harness.workspaces.record import WorkspaceRecord
from app.harness.workspaces.tools import Tools
from app.harness.workspaces.walking import remove_tree
from app.ids import is_id
from app.states import WorkspaceState
from app.storage.models import Workspace
from app.workspace.own_places import WORKSPACES_FOLDER

SEED = "seed"
"""The entry of a journal that names what a workspace in the making begins with."""


class Seeds:
    """The baselines of all groups of workspaces that are being made."""

    def __init__(self, record: WorkspaceRecord, tools: Tools) -> None:
        self._record = record
        self._tools = tools
        self._planned: set[str] = set()

    def plan(self, project_id: str, group_id: str) -> Layout:
        """Return the folder of a new one; it stays at least until `planned`."""
        self._planned.add(group_id)
        return self._tools.layout(project_id, group_id)

    async def planned(self, project_id: str, group_id: str) -> None:
        """Keep one for as long as stored workspaces need it."""
        self._planned.discard(group_id)
        await self._settle(project_id, [group_id])

    def of(self, row: Workspace) -> Layout | None:
        """Return what a workspace in the making begins with; None when it begins with a commit alone."""
        name = seed_in(row.journal)
        return None if name is None else self._tools.layout(row.project_id, name)

    def bring(self, row: Workspace, folder: Path) -> bool:
        """Have here what a workspace in the making begins with, which is in another daemon's `folder` of the
        project; return whether it is here. Blocks."""
        place = self.of(row)
        if place is None or place.folder.is_dir():
            return True
        try:
            place.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.rename(folder / place.folder.name, place.folder)
        except OSError:
            return False
        return True

    async def used(self, row: Workspace) -> None:
        """Hear that a workspace is made, or will not be."""
        name = seed_in(row.journal)
        if name is not None:
            await self._settle(row.project_id, [name])

    async def tidy(self, project_id: str | None) -> None:
        """Remove those that no workspace needs, which a crash left; of one project when given."""
        found = await asyncio.to_thread(_folders, self._tools.data_dir / WORKSPACES_FOLDER, project_id)
        for folder in found:
            await self._settle(folder.parent.name, [folder.name])

    async def _settle(self, project_id: str, names: Iterable[str]) -> None:
        creating = [WorkspaceState.CREATING.value]
        rows = await self._record.storage.read(lambda uow: uow.workspaces.in_states(creating))
        needed = {seed_in(row.journal) for row in rows} | self._planned
        for name in set(names) - needed:
            await asyncio.to_thread(remove_tree, self._tools.layout(project_id, name).folder)


def seed_in(journal: Mapping[str, Any] | None) -> str | None:
    return (journal or {}).get(SEED)


def _folders(above: Path, project_id: str | None) -> list[Path]:
    found = above.glob(f"{project_id or '*'}/att_*") if above.is_dir() else ()
    return [one for one in found if is_id(one.name, "att") and not one.is_symlink()]
