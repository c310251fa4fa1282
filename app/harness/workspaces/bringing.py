"""Brings the changes of a workspace into the user's working tree, as edits that are not committed.

Owns: what would be written, why it is refused, and writing it. What a kill has left half done is finished by
doing the same again. Never: refs and the index of the user's repository, or the states of workspaces.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.errors import Conflict, ToolError
from app.harness.checkpoints.stored_objects import TreeEntry
from app.harness.sessions.restoring import FileChange, FilePlan, apply_plan
from app.harness.workspaces.git_folder import GitFolder
from app.harness.workspaces.snapshots import Snapshots
from app.harness.workspaces.trees import Difference, Side, differences, join
from app.workspace import Workspace
from app.workspace.any_names import address_of, shown
from app.workspace.own_places import is_own, own_names

UNCOMMITTED = "it has uncommitted changes"
TAKEN = "it is not a file in the checkout"
FOLDER_TAKEN = "a folder above it is not a folder in the checkout"
MAX_ABOVE = 1000
"""So many commits of others are looked through for one of ours."""
MOVABLE = frozenset({UNCOMMITTED, TAKEN, FOLDER_TAKEN})
"""Why a file is blocked that a user can move out of the way; the other reasons stay."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """The working tree that changes are brought into: its folder `top`, the project at `prefix` in it, the
    folder of its repository, the commit that it is at, and what is closed to everybody."""

    top: Path
    prefix: str
    git_dir: Path | None
    head: str | None
    closed: tuple[Path, ...]

    @property
    def index(self) -> Path | None:
        """It says which files are as in the commit."""
        return None if self.git_dir is None else self.git_dir / "index"

    @property
    def project(self) -> Path:
        return self.top / self.prefix


@dataclass(frozen=True, slots=True)
class Bringing:
    """What would be written: the trees before and after, the files that differ, what contradicts, and the
    files that hinder it, by the reason."""

    before: str
    after: str
    changes: Sequence[Difference]
    conflicts: Sequence[bytes] = ()
    blocked: Mapping[bytes, str] | None = None


class Bringer:
    """Writes into one checkout, by git in the daemon's repository of one workspace."""

    def __init__(self, git: GitFolder, checkout: Checkout) -> None:
        self._git = git
        self._checkout = checkout
        self._snapshots = Snapshots(git)

    async def plan(self, base: str, theirs: str, known: Collection[str]) -> Bringing:
        """Join what has changed from `base` to `theirs` with what the checkout holds. A file whose content is
        that of one of the `known` trees has no changes of its own."""
        touched = {one.path for one in await differences(self._git, base, theirs)}
        if not touched:
            return Bringing(theirs, theirs, ())
        start = self._checkout.head or base
        while True:
            ours, occupied = await self._present(start, sorted(touched))
            joined = await join(self._git, base, ours, theirs)
            changes = await differences(self._git, ours, joined.tree)
            more = {one.path for one in changes} - touched  # what the user renamed has another name
            if not more or joined.conflicts:
                break
            touched |= more
        blocked = dict(occupied)
        blocked |= await self._uncommitted(start, ours, changes, (base, *known))
        blocked |= {one.path: reason for one in changes if (reason := self._unwritable(one)) is not None}
        return Bringing(ours, joined.tree, changes, joined.conflicts, blocked)

    async def plan_commit(self, base: str, theirs: str) -> Bringing:
        """Join what has changed from `base` to `theirs` with the commit that is checked out. A file that
        would change has to be as in that commit."""
        head = self._checkout.head
        assert head is not None
        joined = await join(self._git, base, head, theirs)
        changes = await differences(self._git, head, joined.tree)
        present, occupied = await self._present(head, [one.path for one in changes])
        blocked = occupied | await self._uncommitted(head, present, changes, ())
        blocked |= {one.path: reason for one in changes if (reason := self._unwritable(one)) is not None}
        return Bringing(head, joined.tree, changes, joined.conflicts, blocked)

    async def write(self, bringing: Bringing) -> None:
        """Write what is not written yet, all of it or nothing. Raises `Conflict` when a file is neither as it
        was nor as it shall be."""
        workspace = Workspace(self._checkout.project, closed=self._checkout.closed, any_name=True)
        paths = [one.path for one in bringing.changes]
        present, occupied = await self._present(bringing.before, paths)
        left = {one.path: one for one in await differences(self._git, present, bringing.after)}
        others = [*occupied] + [
            one.path for one in bringing.changes if one.path in left and left[one.path].old != one.old
        ]
        if others:
            raise changed_meanwhile(others)
        written = [one for one in bringing.changes if one.path in left]
        try:
            plan, texts = await self._plan_of(bringing.after, written, workspace)
            again, _ = await self._present(bringing.before, paths)
            if again != present:
                raise changed_meanwhile(paths)
            await asyncio.to_thread(apply_plan, workspace, plan, texts)
        except ToolError as problem:
            raise Conflict(
                f"The merge failed, and nothing was changed: {shown(problem.message)}",
                reason=problem.code,
            ) from None

    async def take_back(self, bringing: Bringing, commit: str) -> list[bytes]:
        """Write files that were brought as `commit` has them, where they are as they were written. Return
        the others, which stay: somebody changed them. Raises as `write` does."""
        paths = [one.path for one in bringing.changes]
        present, occupied = await self._present(bringing.after, paths)
        other = {*occupied, *(one.path for one in await self.between(bringing.after, present))}
        wanted = {path for path in paths if path not in other}
        going = [one for one in await self.between(bringing.after, commit) if one.path in wanted]
        if going:
            await self.write(Bringing(bringing.after, commit, going))
        back = {one.path for one in await self.between(commit, present)}
        return [path for path in paths if path in other and path in back]

    async def between(self, old: str, new: str) -> Sequence[Difference]:
        """Return what differs between two commits or trees. Raises `GitProblem`."""
        return await differences(self._git, old, new)

    async def commit_above(self, commit: str, tip: str) -> str | None:
        """Return the commit right above `commit` on the way of first parents to `tip`; None when it is not on
        that way. Raises `GitProblem`."""
        arguments = ["--first-parent", "--parents", f"--max-count={MAX_ABOVE}", tip, f"^{commit}"]
        said = await self._git.run(["rev-list", *arguments])
        *_, last = said.decode().splitlines() or [""]
        made, *parents = last.split(" ")
        return made if parents[:1] == [commit] else None

    async def _present(self, commit: str | None, paths: Sequence[bytes]) -> tuple[str, dict[bytes, str]]:
        """Return a tree with these files as they lie in the checkout now, and those that are no files."""
        occupied = await asyncio.to_thread(no_files, self._checkout, paths)
        plain = [path for path in paths if path not in occupied]
        top, index = self._checkout.top, self._checkout.index
        return await self._snapshots.of_paths(top, index, commit, plain), occupied

    async def _uncommitted(
        self, start: str, ours: str, changes: Sequence[Difference], known: Collection[str]
    ) -> dict[bytes, str]:
        """Return the files among the changes that have changes of the user: they are neither as in the last
        commit nor as in a known tree."""
        wanted = {one.path for one in changes}
        own = {one.path for one in await differences(self._git, start, ours)} & wanted
        for tree in known:
            if own:
                own &= {one.path for one in await differences(self._git, tree, ours)}
        staged = await self._staged(start, wanted, known)
        return dict.fromkeys((*own, *staged), UNCOMMITTED)

    async def _staged(self, start: str, wanted: set[bytes], known: Collection[str]) -> set[bytes]:
        git_dir = self._checkout.git_dir
        if self._checkout.head is None or git_dir is None or not wanted:
            return set()
        staged, unmerged = await self._snapshots.staged(git_dir, start, wanted)
        found = {one.path for one in await differences(self._git, start, staged)}
        for tree in known:
            if found:
                found &= {one.path for one in await differences(self._git, tree, staged)}
        return found | unmerged

    def _unwritable(self, one: Difference) -> str | None:
        prefix = os.fsencode(self._checkout.prefix)
        if prefix and not one.path.startswith(prefix + b"/"):
            return "it lies outside the project's folder"
        return "it is a submodule" if one.is_submodule else None

    async def _plan_of(
        self, after: str, changes: Sequence[Difference], workspace: Workspace
    ) -> tuple[FilePlan, dict[str, bytes]]:
        top, prefix = self._checkout.top, len(os.fsencode(self._checkout.prefix))
        new = [one.path for one in changes if one.new is not None]
        written = await self._snapshots.contents(after, new, top)
        texts: dict[str, bytes] = {}

        def entry(side: Side | None, content: bytes | None) -> TreeEntry | None:
            if side is None or content is None:
                return None
            name = hashlib.sha256(content).hexdigest()
            texts[name] = content
            return TreeEntry(side.mode, name)

        def read() -> list[FileChange]:
            found = []
            for one in changes:
                path = os.fsdecode(one.path)[prefix + 1 if prefix else 0 :]
                now = None if one.old is None else _content(workspace, path)
                found.append(FileChange(path, entry(one.old, now), entry(one.new, written.get(one.path))))
            return found

        found = await asyncio.to_thread(read)
        return FilePlan("", "", tuple(found), ()), texts


def _content(workspace: Workspace, path: str) -> bytes:
    with workspace.entry(f"./{path}", links=True) as entry:
        link = entry.link_target()
    if link is not None:
        return link
    with workspace.target(f"./{path}") as target:
        return target.read()


def no_files(checkout: Checkout, paths: Sequence[bytes]) -> dict[bytes, str]:
    """Return which of the paths have something that is no file or link in their place or above it, or what
    is the daemon's."""
    found = {}
    own = own_names(checkout.top, checkout.closed)
    for path in paths:
        if is_own(path, own):
            found[path] = "it is a file of kaged's daemon"
            continue
        above, at = os.fsencode(checkout.top), b""
        *folders, name = path.split(b"/")
        for part in folders:
            at = os.path.join(above, part)
            status = _status(at)
            if status is None:
                break
            if not stat.S_ISDIR(status.st_mode):
                found[path] = FOLDER_TAKEN
                break
            above = at
        else:
            status = _status(os.path.join(above, name))
            if status is not None and not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
                found[path] = TAKEN
    return found


def _status(path: bytes) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def changed_meanwhile(paths: Sequence[bytes]) -> Conflict:
    names = [address_of(path) for path in paths]
    return Conflict(
        f"Files of the checkout changed during the merge, and nothing was written: {', '.join(names[:10])}.",
        reason="changed_since",
        details={"paths": names[:100]},
    )
