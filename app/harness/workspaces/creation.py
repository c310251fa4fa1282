"""Making a workspace: the clone of a repository, or the copy of a folder that has none.

Owns: the order of the steps. Each is as done once when it is done twice, and `abandon` leaves nothing behind.
Never: the states and rows of workspaces (`service`), or what a project does in a new one (`setup`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from app.errors import Conflict
from app.harness.workspaces.clone import Begun, check_out, give_repository, make_folder, prepare, take_packs
from app.harness.workspaces.copying import CopyBounds, copy_tree, stoppable, to_its_end
from app.harness.workspaces.git_folder import GitFolder
from app.harness.workspaces.identity import as_user_sees
from app.harness.workspaces.layout import Layout
from app.harness.workspaces.pins import Pins
from app.harness.workspaces.repository import Repository, refs_within, refuse_foreign, repository_of
from app.harness.workspaces.sight import Sight
from app.harness.workspaces.snapshots import MAX_CONTENT_BYTES, SECONDS, Snapshots
from app.harness.workspaces.sources import Source, state_of, take_over
from app.harness.workspaces.trees import commit_tree
from app.harness.workspaces.walking import remove_tree
from app.tools.processes.call_processes import CallProcesses
from app.tools.processes.git_commands import GitCommands, GitProblem
from app.tools.processes.project_cage import GitPlaces

HEAD, WORKING = "head", "working"
WHAT_CAME_ALONG = "Uncommitted changes of the checkout"
WITHOUT_REPOSITORY = "The files of the project"
_SUBMODULE_MODE = bytes.fromhex("0000e000")


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be made: from `base` (`head`, `working` or a ref), which is `commit` where it is one. `seed`
    holds what several begin with: that commit, or the files of a project without a repository. A workspace of
    a subagent may be made of another one, the `source`. `sight` bounds what it has that is not
    committed. `noted` is set as soon as what it is made of may change again."""

    workspace_id: str
    root: Path
    base: str
    commit: str | None
    branch: str | None
    most_bytes: int
    seed: Layout | None = None
    source: Source | None = None
    sight: Sight | None = None
    noted: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class Made:
    """What was made: the folder that stands for the project's root, the commit that it began with, the
    folders that it borrows objects from, and what is worth knowing."""

    root: Path
    base_commit: str
    borrowed: tuple[Path, ...] = ()
    note: str | None = None


class Creation:
    """Makes the workspaces of all projects. `identity` returns who commits, by git's settings."""

    def __init__(self, processes: CallProcesses, environment: Mapping[str, str], pins: Pins) -> None:
        self._processes = processes
        self._environment = environment
        self._pins = pins

    def reading(self, root: Path) -> GitCommands:
        """Return git that reads the repository of a project, and writes nowhere."""
        return GitCommands(self._processes, self._environment, root, None)

    def folder(
        self,
        root: Path,
        layout: Layout,
        repository: Repository | None,
        *,
        making: bool = False,
        also: Layout | None = None,
    ) -> GitFolder:
        """Return git with the daemon's repository of a workspace; while it is `making` it writes the tree. It
        reads `also` another workspace."""
        objects = () if repository is None else (repository.objects,)
        top = root if repository is None else repository.top
        others = () if also is None else (also.git, also.tree)
        places = GitPlaces((layout.git,), shown=(layout.tree, *objects, *others))
        if making:
            places = GitPlaces((layout.git, layout.tree), shown=(*objects, *others))
        return GitFolder(self._processes, self._environment, layout.git, top, places)

    async def make(self, wish: Wish, layout: Layout, identity: Mapping[str, str]) -> Made:
        """Make a workspace; raises `GitProblem`, `Conflict` and errors of the operating system."""
        await make_folder(layout)
        if wish.branch is not None:
            await refuse_foreign(wish.root)
        git = self.reading(wish.root)
        repository = None if wish.branch is None else await self._repository(git, wish.root)
        await prepare(layout, repository)
        if repository is None:
            return await self._copy(wish, layout)
        source = None if wish.source is None else wish.source.layout
        folder = self.folder(wish.root, layout, repository, making=True, also=source)
        if wish.source is not None:
            pinned = (await self._pins.all(git)).get(wish.source.workspace_id)
            shows = None if wish.sight is None else wish.sight.in_repository(repository.prefix)
            commit = await state_of(folder, wish.source, pinned, shows)
        else:
            commit = await self._base(wish, layout, repository, folder)
            pinned = await self._pinned(wish, repository, folder)
        wish.noted.set()
        if pinned is not None:
            await self._pins.put(repository, wish.workspace_id, pinned)
        await check_out(folder, layout, commit)
        note = await _note(folder, layout, commit, repository)
        await self._processes.leave_repository(layout.git)
        root = layout.root(repository.prefix)
        if not await asyncio.to_thread(root.is_dir):
            raise without_project(repository.prefix, commit)
        assert wish.branch is not None
        refs = await refs_within(git, pinned) if pinned is not None else ()
        await give_repository(layout, repository, Begun(commit, wish.branch, refs, identity))
        return Made(root, commit, (repository.objects,), note)

    async def _repository(self, git: GitCommands, root: Path) -> Repository:
        repository = await repository_of(git, root)
        if repository is None:
            raise Conflict("The project no longer has a git repository.", reason="no_repository")
        return await as_user_sees(repository, self._processes, self._environment, root)

    async def _base(self, wish: Wish, layout: Layout, repository: Repository, folder: GitFolder) -> str:
        if wish.base == WORKING and wish.seed is None:
            return await self._working(layout, repository, folder, wish.sight)
        assert wish.commit is not None
        if wish.seed is not None:
            await to_its_end(take_packs, wish.seed, layout)
        return wish.commit

    async def _pinned(self, wish: Wish, repository: Repository, folder: GitFolder) -> str | None:
        """Return the commit of the user's repository that must stay."""
        if wish.base != WORKING:
            return wish.commit
        if wish.seed is None:
            return repository.head
        try:  # the checkout may be elsewhere by now
            return (
                (await folder.run(["rev-parse", "--verify", "--quiet", f"{wish.commit}^"])).decode().strip()
            )
        except GitProblem as problem:
            if problem.exit_code == 1:
                return None
            raise

    async def seed(
        self, root: Path, layout: Layout, sight: Sight | None, *, is_copy: bool, most_bytes: int
    ) -> str | None:
        """Keep what the checkout holds now, for several workspaces to begin with, as far as the `sight` goes.
        Return it as a commit; None for copies, of which the files are kept. Raises as `make` does."""
        await make_folder(layout)
        if is_copy:
            await self._copy_files(root, layout, most_bytes)
            return None
        repository = await self._repository(self.reading(root), root)
        await prepare(layout, repository)
        folder = self.folder(root, layout, repository, making=True)
        commit = await self._working(layout, repository, folder, sight)
        await self._processes.leave_repository(layout.git)
        return commit

    async def _working(
        self, layout: Layout, repository: Repository, folder: GitFolder, sight: Sight | None
    ) -> str:
        """Return the uncommitted changes of the checkout as a commit that the workspace has by itself."""
        shows = None if sight is None else sight.in_repository(repository.prefix)
        index = repository.git_dir / "index"
        tree = await Snapshots(folder).whole(
            repository.top, index, repository.head, self._processes.closed, shows, staged=True
        )
        above = [] if repository.head is None else [repository.head]
        commit = await commit_tree(folder, tree, above, WHAT_CAME_ALONG)
        # What is only staged can be pruned in the user's repository: the workspace has it by itself.
        await take_over(folder, commit, repository.head)
        return commit

    async def _copy(self, wish: Wish, layout: Layout) -> Made:
        source = wish.root if wish.seed is None else wish.seed.tree
        source = source if wish.source is None else wish.source.layout.tree
        await self._copy_files(source, layout, wish.most_bytes)
        wish.noted.set()
        folder = self.folder(wish.root, layout, None, making=True)
        tree = await Snapshots(folder).whole(layout.tree, layout.index, None)
        commit = await commit_tree(folder, tree, [], WITHOUT_REPOSITORY)
        await folder.run(["read-tree", commit], index=layout.index, tree=layout.tree, seconds=SECONDS)
        return Made(layout.tree, commit)

    async def _copy_files(self, source: Path, layout: Layout, most_bytes: int) -> None:
        def copy(stop: Event) -> int:
            bounds = CopyBounds(most_bytes, closed=self._processes.closed, stop=stop)
            return copy_tree(source, layout.tree, bounds)

        await stoppable(copy)

    async def abandon(self, root: Path, layout: Layout, workspace_id: str) -> None:
        """Leave nothing of a workspace behind, neither its folder nor its pin."""
        await self._processes.leave_repository(layout.git)
        try:
            git = self.reading(root)
            repository = await repository_of(git, root) if await asyncio.to_thread(root.is_dir) else None
            if repository is not None and workspace_id in await self._pins.all(git):
                await self._pins.remove(repository, workspace_id)
        finally:
            await to_its_end(_remove, layout)


def without_project(prefix: str, commit: str) -> Conflict:
    return Conflict(
        f"The project's folder {prefix} is not in the commit {commit[:12]}: commit it, or start the "
        "workspace from the uncommitted changes (`base: working`).",
        reason="base_without_project",
    )


def _remove(layout: Layout) -> None:
    remove_tree(layout.folder)


def _may_have_submodules(index: Path) -> bool:
    """Tell whether an index has the mode of a submodule anywhere: most have none, and no list is needed."""
    return _SUBMODULE_MODE in index.read_bytes()


def _submodules(listed: bytes) -> list[bytes]:
    return [line.partition(b"\t")[2] for line in listed.split(b"\0") if line.startswith(b"160000 ")]


async def _note(folder: GitFolder, layout: Layout, commit: str, repository: Repository) -> str | None:
    """Return what is worth knowing about a new workspace."""
    notes = []
    if await asyncio.to_thread(_may_have_submodules, layout.index):
        listed = await folder.run(["ls-tree", "-r", "-z", "--full-tree", commit], most=MAX_CONTENT_BYTES)
        links = await asyncio.to_thread(_submodules, listed)
        if links:
            names = ", ".join(one.decode("utf-8", "replace") for one in links[:5])
            notes.append(f"Submodules are empty folders here: {names}.")
    if repository.operation is not None:
        notes.append(f"In the checkout a {repository.operation.replace('_', ' ')} is in progress.")
    if repository.head is None:
        notes.append("The repository has no commit yet: the workspace started from its files.")
    return " ".join(notes) or None
