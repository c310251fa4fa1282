"""What is left of workspaces that the database does not know, as after a restored backup.

Owns: finding it, and removing it when an operator says so. Never: what a workspace of the database holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.harness.git.service import NOTES_FOLDER
from app.harness.workspaces.pins import Pins
from app.harness.workspaces.repository import repository_of
from app.harness.workspaces.walking import remove_tree
from app.ids import is_id
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import GitCommands, GitProblem
from app.workspace.own_places import WORKSPACES_FOLDER


@dataclass(frozen=True, slots=True)
class Leftovers:
    """The folders of workspaces, and refs in the repositories of projects: by the project's root, the ids of
    workspaces."""

    folders: tuple[Path, ...]
    pins: Mapping[Path, tuple[str, ...]]

    def without(self, held: Collection[str]) -> Leftovers:
        """Return what belongs to none of the workspaces that are `held`."""
        pins = {root: tuple(one for one in ids if one not in held) for root, ids in self.pins.items()}
        return Leftovers(
            tuple(one for one in self.folders if one.name not in held),
            {root: ids for root, ids in pins.items() if ids},
        )


class LeftoverSearch:
    """Looks below the data folder and in the repositories of all projects."""

    def __init__(self, processes: CallProcesses, environment: Mapping[str, str], data_dir: Path) -> None:
        self._processes = processes
        self._environment = environment
        self._folder = data_dir / WORKSPACES_FOLDER
        self._pins = Pins(processes, environment, data_dir / NOTES_FOLDER)

    async def find(self, roots: Iterable[Path]) -> Leftovers:
        """Return what there is of workspaces. What the database says of them is to be read afterwards: a
        workspace is stored before anything of it is made."""
        folders = await asyncio.to_thread(self._folders)
        pins = {}
        for root in roots:
            git = self._git(root)
            try:
                await git.open()
                kept = await self._pins.all(git)
            except GitProblem:
                continue  # there is no repository, or none that can be read
            pins[root] = tuple(sorted(kept))
        return Leftovers(tuple(folders), pins)

    async def remove(self, found: Leftovers) -> None:
        """Remove what was found. Raises `GitProblem` and errors of the operating system."""
        for folder in found.folders:
            await asyncio.to_thread(remove_tree, folder)
        for root, ids in found.pins.items():
            repository = await repository_of(self._git(root), root)
            for workspace_id in ids if repository is not None else ():
                assert repository is not None
                await self._pins.remove(repository, workspace_id)

    def _git(self, root: Path) -> GitCommands:
        return GitCommands(self._processes, self._environment, root, None)

    def _folders(self) -> list[Path]:
        found = self._folder.glob("*/*") if self._folder.is_dir() else ()
        return sorted(one for one in found if is_id(one.name, "wks") and not one.is_symlink())
