"""The one ref that a workspace adds to the user's repository, so that what it borrows is not pruned there.

Owns: making and removing it. In cages with mounts the commands can write refs of that repository and
nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from app.harness.git.ref_change import RefChange
from app.harness.workspaces.layout import pin_of
from app.harness.workspaces.repository import Repository
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import GitCommands, GitProblem, lines_of
from app.tools.processes.project_cage import places_for_refs


class Pins:
    def __init__(self, processes: CallProcesses, environment: Mapping[str, str], notes: Path) -> None:
        """`notes` is the daemon's folder for changes of repositories that are under way."""
        self._processes = processes
        self._environment = environment
        self._notes = notes

    async def put(self, repository: Repository, workspace_id: str, commit: str) -> None:
        """Keep a commit for a workspace; done twice it is as once. Raises `GitProblem`."""
        git = await self.writing(repository)
        async with self.changing(repository, pin_of(workspace_id)):
            await git.run(["update-ref", "--no-deref", pin_of(workspace_id), commit])

    async def remove(self, repository: Repository, workspace_id: str) -> None:
        """Let go of what a workspace kept; done twice it is as once. Raises `GitProblem`."""
        git = await self.writing(repository)
        async with self.changing(repository, pin_of(workspace_id)):
            await git.run(["update-ref", "--no-deref", "-d", pin_of(workspace_id)])
        await asyncio.to_thread(_remove_empty, repository.common / pin_of(workspace_id))

    async def all(self, git: GitCommands) -> dict[str, str]:
        """Return the commits that are kept in a repository, by workspace."""
        try:
            said = await git.run(["for-each-ref", "--format=%(refname) %(objectname)", "refs/kaged/base"])
        except GitProblem as problem:
            if problem.expected:
                return {}
            raise
        lines = (line.split(" ") for line in lines_of(said))
        return {name.rpartition("/")[2]: commit for name, commit in lines}

    @asynccontextmanager
    async def changing(self, repository: Repository, *refs: str) -> AsyncIterator[str]:
        """Have it noted that these refs change, or packs come in, so that a kill leaves no lock or file. Give
        how the names of such packs begin."""
        change = RefChange(repository.git_dir, repository.common, refs, self._notes)
        await asyncio.to_thread(change.__enter__)
        try:
            yield change.packs
        finally:
            await asyncio.shield(asyncio.to_thread(change.__exit__))

    async def writing(self, repository: Repository) -> GitCommands:
        """Return git that writes refs of a repository."""
        places = await asyncio.to_thread(places_for_refs, repository.common)
        git = GitCommands(self._processes, self._environment, repository.top, places)
        await git.open()
        await git.turn_programs_off()
        return git


def _remove_empty(ref: Path) -> None:
    """Remove the folders that only pins were in; git leaves them."""
    for folder in (ref.parent, ref.parent.parent):
        try:
            folder.rmdir()
        except OSError:
            return
