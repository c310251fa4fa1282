"""What operators do with the repositories of projects.

Owns: one piece of work at a time for each repository, and errors as clients read them. Never: git itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from app.harness.git import branches, committing, staging
from app.harness.git.branches import Branch
from app.harness.git.committing import Committed, CommitWish
from app.harness.git.hook_places import hook_places
from app.harness.git.index_change import IndexChange, end_changes
from app.harness.git.line_counts import NO_COUNTS, FileCounts, line_counts_of
from app.harness.git.ref_change import end_ref_changes
from app.harness.git.refusals import as_error
from app.harness.git.repository import Repository
from app.harness.git.status import FileState, GitStatus, status_of
from app.harness.git_output.hunks import FileDiff
from app.keyed_locks import KeyedLocks
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import GitProblem

NOTES_FOLDER = "git"
"""Where the notes of changes under way are, below the data folder."""


class ProjectGit:
    """One per daemon. Every method is for the project at `root`, and raises `Conflict` with the
    reason."""

    def __init__(self, processes: CallProcesses, environment: Mapping[str, str], data_dir: Path) -> None:
        """`environment` is that of the daemon's children."""
        self._processes = processes
        self._environment = environment
        self._notes = data_dir / NOTES_FOLDER
        self._locks = KeyedLocks[Path]()

    async def start(self) -> None:
        """End what was cut off when an earlier daemon was killed."""
        await asyncio.to_thread(end_changes, self._notes)
        await asyncio.to_thread(end_ref_changes, self._notes)

    async def status(self, root: Path) -> GitStatus:
        async with self._repository(root) as repository:
            return await status_of(repository)

    async def line_counts(self, root: Path, files: Sequence[FileState]) -> FileCounts:
        """Count the lines of files of a status. What changes meanwhile, or is too much, has no counts."""
        try:
            repository = await Repository.open(self._processes, self._environment, root)
            return await line_counts_of(repository, files)
        except GitProblem:
            return NO_COUNTS

    async def diff(self, root: Path, name: bytes, *, staged: bool) -> FileDiff:
        async with self._repository(root) as repository:
            return await staging.diff_of(repository, name, staged=staged)

    async def stage(self, root: Path, names: Sequence[bytes], hunks: Sequence[str] | None) -> None:
        """Stage files, or of one file the hunks with these digests."""
        async with self._changing(root) as (repository, change):
            if hunks is None:
                await staging.stage(repository, change.copy, names)
            else:
                await staging.stage_hunks(repository, change.copy, names[0], hunks)

    async def unstage(self, root: Path, names: Sequence[bytes], hunks: Sequence[str] | None) -> None:
        """Unstage files, or of one file the hunks with these digests."""
        async with self._changing(root) as (repository, change):
            if hunks is None:
                await staging.unstage(repository, change.copy, names)
            else:
                await staging.unstage_hunks(repository, change.copy, names[0], hunks)

    async def make_commit(self, root: Path, wish: CommitWish) -> Committed:
        async with self._changing(root, moves_head=True) as (repository, change):
            return await committing.make_commit(repository, change, wish)

    async def hook_places(self, root: Path) -> set[bytes]:
        """Return the files and folders in the working tree that a commit with hooks would run."""
        async with self._repository(root) as repository:
            return await asyncio.to_thread(hook_places, repository.folders, repository.settings.values)

    async def branches(self, root: Path) -> list[Branch]:
        async with self._repository(root) as repository:
            return await branches.branches_of(repository)

    async def create_branch(self, root: Path, name: str, start: str | None, *, checked_out: bool) -> str:
        """Make a branch at `start` or the current commit, and check it out if asked; return its commit."""
        make = branches.create_and_switch if checked_out else branches.create_branch
        async with self._changing(root, moves_head=checked_out, ref=f"refs/heads/{name}") as working:
            return await make(*working, name, start)

    async def switch(self, root: Path, name: str) -> str:
        """Switch to a branch; return its commit."""
        async with self._changing(root, moves_head=True) as (repository, change):
            return await branches.switch(repository, change, name)

    @asynccontextmanager
    async def _repository(self, root: Path) -> AsyncIterator[Repository]:
        try:
            yield await Repository.open(self._processes, self._environment, root)
        except GitProblem as problem:
            raise as_error(problem) from None

    @asynccontextmanager
    async def _changing(
        self, root: Path, *, moves_head: bool = False, ref: str | None = None
    ) -> AsyncIterator[tuple[Repository, IndexChange]]:
        """Yield the repository and a change of its index, which is installed when nothing is raised."""
        async with self._repository(root) as repository:
            folders = repository.folders
            async with self._locks.holding(folders.own):
                change = IndexChange(folders, root, self._notes, moves_head=moves_head, ref=ref)
                beginning = asyncio.create_task(asyncio.to_thread(change.__enter__))
                try:
                    await asyncio.shield(beginning)
                    yield repository, change
                    await asyncio.shield(asyncio.to_thread(change.install))
                finally:
                    await asyncio.wait({beginning})  # its thread goes on when this is cancelled
                    await asyncio.shield(asyncio.to_thread(change.__exit__))
