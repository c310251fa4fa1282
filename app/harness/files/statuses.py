"""git's status of projects, kept for as long as nothing has changed.

Owns: when git is asked again, how long an answer is waited for, and the tasks that ask. Never: what the
answer means (`git_status`).
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.harness.files.git_status import ARGUMENTS, RepositoryStatus, parse_status
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import GitCommands, GitProblem, NoRepository
from app.workspace.own_places import own_names
from app.workspace.repository import first_line, own_and_common, repository_above
from app.workspace.tree_watch import TreeWatches

WAIT_SECONDS = 5.0
UNWATCHED_SECONDS = 2.0
"""How long an answer counts where changes are not seen."""
FAILED_SECONDS = 10.0
MAX_ROOTS = 64

_Key = tuple[int | None, tuple[object, ...]]


@dataclass(slots=True)
class _Known:
    """What was answered last, and for which state of the tree and the repository; the question that is
    open."""

    key: _Key | None = None
    status: RepositoryStatus | None = None
    at: float = float("-inf")
    asking: asyncio.Task[None] | None = None


class GitStatuses:
    """One per daemon. git runs in the daemon's read-only cage of the project."""

    def __init__(
        self, processes: CallProcesses, environment: Mapping[str, str], watches: TreeWatches
    ) -> None:
        self._processes = processes
        self._environment = environment
        self._watches = watches
        self._roots: OrderedDict[Path, _Known] = OrderedDict()
        self._opening: dict[Path, asyncio.Task[object]] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._unwatched: set[Path] = set()

    async def generation(self, root: Path) -> int | None:
        """Return the number of the present state of the tree at `root`, a real path; None where changes are
        not seen. A watch that is being opened is waited for, but not in a tree that takes long or cannot be
        watched."""
        if self._watches.known(root) is None:
            opening = self._open(root)
            if root not in self._unwatched:
                await asyncio.wait({opening}, timeout=WAIT_SECONDS)
        watch = self._watches.known(root)
        if watch is None:
            self._unwatched.add(root)
            return None
        self._unwatched.discard(root)
        watch.drain()
        return watch.generation if watch.exact else None

    def sees(self, root: Path, folders: Sequence[str]) -> bool:
        """Tell whether all changes directly in some folders are seen."""
        watch = self._watches.known(root)
        return watch is not None and all(map(watch.watches, folders))

    async def of(self, root: Path, generation: int | None) -> RepositoryStatus:
        """Return the status of the project at `root`, a real path, at this generation or later. Where git
        takes longer than `WAIT_SECONDS`, the answer is `pending`, and comes later."""
        repository = await asyncio.to_thread(repository_above, root)
        if repository is None:
            return RepositoryStatus("none")
        known = self._roots.setdefault(root, _Known())
        self._roots.move_to_end(root)
        self._forget_some()
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            key = (generation, await asyncio.to_thread(_signature, repository))
            if known.status is not None and _counts(known, key):
                return known.status
            if known.asking is None:
                known.asking = self._ask(root, repository, known, key)
            left = deadline - time.monotonic()
            if left <= 0 or not (await asyncio.wait({known.asking}, timeout=left))[0]:
                return RepositoryStatus("pending", "git has not answered yet; ask again in a moment")
            if known.key == key and known.status is not None:
                return known.status

    async def aclose(self) -> None:
        """End what is being asked; afterwards nothing is."""
        tasks = [*self._opening.values(), *self._asking]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _open(self, root: Path) -> asyncio.Task[object]:
        if root not in self._opening:
            task: asyncio.Task[object] = asyncio.create_task(
                self._watches.open(root), name=f"watch of {root.name}"
            )
            self._opening[root] = task
            task.add_done_callback(lambda _: self._opening.pop(root, None))
        return self._opening[root]

    def _ask(self, root: Path, repository: Path, known: _Known, key: _Key) -> asyncio.Task[None]:
        async def ask() -> None:
            try:
                known.status = await self._asked(root, repository)
                known.key, known.at = key, time.monotonic()
            finally:
                known.asking = None

        task = asyncio.create_task(ask(), name=f"git status of {root.name}")
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)
        return task

    async def _asked(self, root: Path, repository: Path) -> RepositoryStatus:
        git = GitCommands(self._processes, self._environment, root, None)
        prefix = "" if root == repository else f"{root.relative_to(repository)}/"
        # The configuration may name another working tree.
        here = {"GIT_WORK_TREE": str(repository)}
        try:
            await git.open()
            await git.turn_programs_off()
            try:
                output = await git.run([*ARGUMENTS, "--find-renames", "--", "."], environment=here)
            except GitProblem:  # of a partial clone the contents that are compared may be missing
                output = await git.run([*ARGUMENTS, "--no-renames", "--", "."], environment=here)
        except NoRepository as problem:
            return RepositoryStatus("none", str(problem))
        except GitProblem as problem:
            return RepositoryStatus("unavailable", str(problem))
        own = await asyncio.to_thread(own_names, repository, self._processes.closed)
        return await asyncio.to_thread(parse_status, output, prefix, own)

    def _forget_some(self) -> None:
        for root in [root for root, known in self._roots.items() if known.asking is None]:
            if len(self._roots) <= MAX_ROOTS:
                return
            del self._roots[root]


def _counts(known: _Known, key: _Key) -> bool:
    if known.key != key or known.status is None:
        return False
    age = time.monotonic() - known.at
    if known.status.state != "ok":
        return age < FAILED_SECONDS
    return key[0] is not None or age < UNWATCHED_SECONDS


def _signature(repository: Path) -> tuple[object, ...]:
    """Return what differs after git has changed its index, its branch or its rules. Blocks."""
    folder, common = own_and_common(repository)
    head = first_line(folder / "HEAD")
    places = [folder / "index", folder / "info" / "sparse-checkout", common / "info" / "exclude"]
    places += [folder / "config.worktree", common / "config", common / "packed-refs"]
    if head is not None and head.startswith("ref: refs/"):
        places.append(common / os.path.normpath(head.removeprefix("ref: ")))
    return (str(folder), head, *map(_state, places))


def _state(place: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(place)
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
