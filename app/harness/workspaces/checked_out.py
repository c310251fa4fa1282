"""Committing onto the branch that is checked out: its files, its index and its ref move together.

Owns: what stands against it, and the entries of the user's index. The order is objects, files, index, ref;
each is as done once when it is done twice, so that a start after a kill goes on. Never: files (`bringing`)
and refs (`branches`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from app.errors import Conflict
from app.harness.git.index_change import IndexChange
from app.harness.git.refusals import in_progress, locked
from app.harness.workspaces.branches import Branches, Target
from app.harness.workspaces.bringing import Bringer, Bringing
from app.harness.workspaces.git_folder import GitFolder
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

    @asynccontextmanager
    async def changing(
        self, repository: Repository, changes: Sequence[Difference]
    ) -> AsyncIterator[Callable[[], Awaitable[None]]]:
        """Hold the index, so that nobody commits meanwhile. What is given lets it hold the new sides of these
        files. Raises `GitProblem`, and `Conflict` when it is locked."""
        folders = RepositoryFolders(repository.top, repository.git_dir, repository.common)
        change = IndexChange(folders, repository.top / repository.prefix, self._notes)
        await asyncio.to_thread(change.__enter__)

        async def install() -> None:
            await asyncio.shield(asyncio.to_thread(change.install))

        try:
            await self._set_copy(repository, change.copy, changes)
            yield install
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
        lines.sort()  # what goes makes room for what comes
        given, index = b"".join(lines), {"GIT_INDEX_FILE": str(copy)}
        await git.run(["update-index", "-z", "--index-info"], given, environment=index)


class CheckedOutBranch:
    """Moves the branch that is checked out, with its files and the index: all of it or nothing."""

    def __init__(self, branches: Branches, index: UserIndex) -> None:
        self._branches = branches
        self._index = index

    async def move(
        self,
        git: GitFolder,
        bringer: Bringer,
        bringing: Bringing,
        repository: Repository,
        journal: Mapping[str, Any],
        identity: Mapping[str, str],
        *,
        again: bool,
    ) -> None:
        """Write the files, move the branch, then let the index follow. When that cannot be, the files are
        taken back. `again`: a kill has cut it off. Raises `GitProblem`, and `Conflict` when somebody else has
        moved the branch or changed the files, and when the index is locked."""
        name, commit, before = journal["into"], journal["commit"], journal["from"]
        is_here = repository.branch == f"refs/heads/{name}"
        await self._branches.bring_objects(git, repository, commit, before)
        async with self._index.changing(repository, bringing.changes) as install:
            if await self._branches.tip(repository, name) == commit:
                if is_here:
                    await install()
                return
            written = again
            try:
                await self._branches.require(repository, name, before)
                if not is_here:
                    raise _not_here(name)
                await bringer.write(bringing)
                written = True
                await self._branches.set(git, repository, name, commit, before, identity)
            except Conflict:
                if written:
                    await bringer.take_back(bringing, repository.head or before)
                raise
            await install()


def _not_here(name: str) -> Conflict:
    return Conflict(
        f"The branch {name} is not checked out any more: check what is, then merge again.",
        reason="changed_since",
    )
