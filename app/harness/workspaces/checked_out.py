"""Committing onto the branch that is checked out: its files, its index and its ref move together.

Owns: what stands against it, and the entries of the user's index. The order is objects, files, index, ref;
each is as done once when it is done twice, so that a start after a kill goes on. Never: files (`bringing`)
and refs (`branches`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.harness.git.index_change import IndexChange
from app.harness.git.refusals import in_progress, locked
from app.harness.workspaces.branches import Target
from app.harness.workspaces.repository import Repository
from app.harness.workspaces.trees import Difference
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import GitCommands
from app.tools.processes.project_cage import places_within
from app.workspace.repository import RepositoryFolders


def is_here(target: Target, repository: Repository) -> bool:
    """Tell whether a branch is checked out in the working tree of the project."""
    here = target.checked_out is not None and os.path.realpath(target.checked_out) == str(repository.top)
    return here and repository.git_dir == repository.common


async def refuse_unfinished(repository: Repository) -> None:
    """Raise `Conflict` while something else is under way in the checkout."""
    if repository.operation is not None:
        raise in_progress(repository.operation, f"nothing is merged into {repository.branch or 'HEAD'}")
    if await asyncio.to_thread(os.path.lexists, repository.git_dir / "index.lock"):
        raise locked()


class UserIndex:
    """The index of the user's repository: of it only the entries of the files that were written."""

    def __init__(self, processes: CallProcesses, environment: Mapping[str, str], notes: Path) -> None:
        """`notes` is the daemon's folder for changes of repositories that are under way."""
        self._processes = processes
        self._environment = environment
        self._notes = notes

    async def set(self, repository: Repository, changes: Sequence[Difference]) -> None:
        """Have the index hold the new sides of these files. Raises `GitProblem`, and `Conflict` when it is
        locked."""
        folders = RepositoryFolders(repository.top, repository.git_dir, repository.common)
        change = IndexChange(folders, repository.top / repository.prefix, self._notes)
        await asyncio.to_thread(change.__enter__)
        try:
            await self._set_copy(repository, change.copy, changes)
            await asyncio.shield(asyncio.to_thread(change.install))
        finally:
            await asyncio.shield(asyncio.to_thread(change.__exit__))

    async def _set_copy(self, repository: Repository, copy: Path, changes: Sequence[Difference]) -> None:
        places = await asyncio.to_thread(places_within, repository.git_dir, (copy.name,))
        git = GitCommands(self._processes, self._environment, repository.top, places)
        await git.open()
        await git.turn_programs_off()
        lines, gone = [], b"0 " + b"0" * (40 if repository.hash == "sha1" else 64)
        for one in changes:
            side = gone if one.new is None else f"{one.new.mode} {one.new.oid}".encode()
            lines.append(side + b"\t" + one.path + b"\0")
        given, index = b"".join(lines), {"GIT_INDEX_FILE": str(copy)}
        await git.run(["update-index", "-z", "--index-info"], given, environment=index)
