"""The changes of sessions: which files differ from a baseline, by how much, and who changed them.

Owns: putting baseline, present files and edit records together, and remembering what did not change. Never:
writing files (`reverting`).
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Awaitable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import xxhash

from app.errors import Conflict, Forbidden, NotFound
from app.harness.changes.baselines import (
    Baseline,
    check_since,
    commit_of,
    files_of_commit,
    noted_baseline,
    unchanged_by_index,
)
from app.harness.changes.comparison import Changed, differences, exactly_renamed
from app.harness.changes.counting import Counting, Sides, pair_of
from app.harness.changes.edit_records import Edit, EditRecords, edit_records, is_explained
from app.harness.changes.line_diffs import Counts
from app.harness.changes.line_endings import LineEndings
from app.harness.changes.own_writes import OwnWrites
from app.harness.changes.present import Present, PresentFiles
from app.harness.checkpoints.git_objects import GitObjects
from app.harness.checkpoints.stored_objects import TreeEntry
from app.harness.checkpoints.worktree_notes import WorktreeNotes
from app.harness.git_output.hunks import Hunk
from app.harness.projects.projects import ProjectRegistry
from app.storage.models import Session as SessionRow
from app.storage.storage import Storage
from app.storage.unit_of_work import UnitOfWork
from app.tools.authorisation.danger_places import is_secret
from app.tools.processes.git_commands import GitProblem
from app.workspace.any_names import address_of
from app.workspace.tree_watch import TreeWatches

T = TypeVar("T")

MOST_TREES = 8
SETTLE_SECONDS = 15.0
"""How long a list waits for the files of a message that are being noted."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A change with what is known of it. `others` says that no record explains all of it."""

    change: Changed
    counts: Counts
    by: Sequence[Edit]
    others: bool


@dataclass(frozen=True, slots=True)
class ChangeList:
    """All changes by path. `incomplete` says what is missing in it, and why."""

    items: Sequence[Listed]
    incomplete: str | None = None

    @property
    def additions(self) -> int:
        return sum(one.counts.additions or 0 for one in self.items)

    @property
    def deletions(self) -> int:
        return sum(one.counts.deletions or 0 for one in self.items)


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The difference of one file. `hunks` is None when there are no lines to show: `problem` says why, or the
    file is binary."""

    listed: Listed
    sides: Sides
    hunks: Sequence[Hunk] | None
    context: int

    @property
    def digest(self) -> str:
        """What names this difference; another state of the file has another one."""
        return state_digest(self.listed.change)


@dataclass(frozen=True, slots=True)
class _Compared:
    """What the files of a baseline are, and what differs from them in one state of the files."""

    then: Mapping[bytes, TreeEntry]
    changes: list[Changed]


@dataclass(slots=True)
class _Root:
    present: PresentFiles
    counting: Counting
    writes: OwnWrites = field(default_factory=OwnWrites)
    trees: OrderedDict[str, dict[bytes, TreeEntry]] = field(default_factory=OrderedDict)
    compared: OrderedDict[tuple[object, ...], _Compared] = field(default_factory=OrderedDict)


class Changes:
    """The changes of all sessions. Nothing of a project is remembered that cannot be found again."""

    def __init__(
        self,
        storage: Storage,
        projects: ProjectRegistry,
        notes: WorktreeNotes,
        watches: TreeWatches,
        endings: LineEndings,
    ) -> None:
        self._storage, self._projects, self._notes, self._watches = storage, projects, notes, watches
        self._endings = endings
        self._roots: dict[Path, _Root] = {}

    def aclose(self) -> None:
        """Listen to no tree any more."""
        for root in self._roots.values():
            root.present.close()
        self._roots.clear()

    async def session(self, session_id: str) -> SessionRow:
        """Return a session whose project's files are here. Raises `NotFound`, `Unavailable`."""
        row = await self._storage.read(lambda uow: uow.sessions.get(session_id))
        if row is None:
            raise NotFound(f"There is no session {session_id}.")
        self._projects.require_here(row.project_id)
        return row

    def root_of(self, row: SessionRow) -> Path:
        """Return the folder in which a session works."""
        return self._projects.root_of_session(row).path

    def present(self, row: SessionRow) -> PresentFiles:
        """Return the files of a session's root, to listen to."""
        return self._root(self.root_of(row)).present

    def writing(self, row: SessionRow) -> AbstractAsyncContextManager[None]:
        """Hold back lists of a session's root while files are written and until that is stored."""
        return self._root(self.root_of(row)).writes.writing()

    async def list(self, row: SessionRow, since: str) -> ChangeList:
        """Return every change of a session. Raises `ValidationFailed`, `NotFound`, and `Conflict` when the
        files cannot be compared."""
        check_since(since)
        await self.settled(row.id)
        async with self._root(self.root_of(row)).writes.reading():
            return await _explained_problems(self._list(row, since))

    async def find(self, row: SessionRow, since: str, path: bytes) -> Listed | None:
        """Return the change of one file; None when it does not differ."""
        found = await self.list(row, since)
        return next((one for one in found.items if one.change.path == path), None)

    async def diff(
        self, row: SessionRow, since: str, path: bytes, context: int, *, secrets: bool = True
    ) -> FileDiff:
        """Return the difference of one file; without `secrets` only of one that seems to hold no credentials.
        Raises `NotFound` when it does not differ, and `Forbidden` (`secret_file`)."""
        listed = await self.find(row, since, path)
        if listed is None:
            raise NotFound(
                f"{address_of(path)} does not differ from the baseline {since}.", reason="not_changed"
            )
        names = (path, listed.change.old_path or path)
        if not secrets and any(is_secret(os.fsdecode(name)) for name in names):
            raise Forbidden(
                f"{address_of(path)} may hold credentials, which a read-only token does not get to read.",
                reason="secret_file",
            )
        return await _explained_problems(self._diff(row, listed, context))

    # -- inside -----------------------------------------------------------------------------

    async def _diff(self, row: SessionRow, listed: Listed, context: int) -> FileDiff:
        counting = self._root(self.root_of(row)).counting
        (sides,) = await counting.sides([listed.change])
        hunks: Sequence[Hunk] | None = None
        if listed.change.status == "mode":
            hunks = ()
        elif sides.problem is None:
            pair = await asyncio.to_thread(pair_of, sides)
            if pair is not None:
                hunks = await counting.diffs.hunks(pair, context)
        return FileDiff(listed, sides, hunks, context)

    async def _list(self, row: SessionRow, since: str) -> ChangeList:
        root = self._root(self.root_of(row))
        baseline, records = await self._storage.read(lambda uow: _stored(uow, row.id, since))
        if not baseline.in_git and baseline.tree is None:
            if baseline.problem is None:
                return ChangeList(())
            return await self._recorded_alone(root, records, baseline.problem)
        try:
            present = await root.present.look()
        except GitProblem as problem:
            if not problem.expected:
                raise
            return await self._recorded_alone(root, records, str(problem))
        compared = await self._compared(row, root, since, baseline, present, records)
        left = await root.counting.count(compared.changes)
        expected = await asyncio.to_thread(records.expected, compared.then)

        def listed() -> list[Listed]:
            names = [
                name for one in compared.changes for name in (one.path, one.old_path) if name is not None
            ]
            by = records.by_path(names)
            return [
                Listed(
                    one,
                    root.counting.known(one),
                    _joined(by.get(one.path, ()), by.get(one.old_path or b"", ())),
                    not is_explained(one, expected, compared.then, root.counting.digests),
                )
                for one in compared.changes
            ]

        incomplete = f"the lines of {left} files are not counted yet: ask again" if left else None
        return ChangeList(await asyncio.to_thread(listed), incomplete)

    async def _compared(
        self,
        row: SessionRow,
        root: _Root,
        since: str,
        baseline: Baseline,
        present: Present,
        records: EditRecords,
    ) -> _Compared:
        repository: GitObjects | None = None
        commit: str | None = None
        if baseline.in_git:
            repository = await self._notes.worktrees.repository(self.root_of(row))
            if repository is None:
                raise Conflict(
                    f"The project has no git repository, so there is no {since}. Compare with `since=start`.",
                    reason="no_repository",
                )
            commit = await commit_of(repository, since)
            key: tuple[object, ...] = (commit, present.version, len(records.writes))
        else:
            key = (baseline.tree, present.version, len(records.writes))
        known = root.compared.get(key)
        if known is not None:
            root.compared.move_to_end(key)
            return known
        if repository is not None:
            then = await files_of_commit(repository, commit)
        else:
            then = await self._tree(row, root, baseline.tree or "")
        left_out, also = present.left_out, records.touched()
        changes = await asyncio.to_thread(differences, then, present.entries, left_out, also)
        if repository is not None:
            suspects = {one.path for one in changes if one.then is not None}
            same = await unchanged_by_index(repository, suspects, then)
            changes = [one for one in changes if one.path not in same]
            then, changes = await self._endings.as_checked_out(repository, then, changes)
        changes = await asyncio.to_thread(exactly_renamed, changes, records.moves())
        changes = await root.counting.renamed(changes)
        changes = await asyncio.to_thread(sorted, changes, key=lambda one: one.path)
        found = _Compared(then, changes)
        root.compared[key] = found
        while len(root.compared) > MOST_TREES:
            root.compared.popitem(last=False)
        return found

    async def _tree(self, row: SessionRow, root: _Root, tree: str) -> dict[bytes, TreeEntry]:
        known = root.trees.get(tree)
        if known is None:
            objects = await self._notes.worktrees.objects(self.root_of(row))
            root.trees[tree] = known = await objects.read_tree(tree)
            while len(root.trees) > MOST_TREES:
                root.trees.popitem(last=False)
        return known

    async def _recorded_alone(self, root: _Root, records: EditRecords, why: str) -> ChangeList:
        """Return what the records of edits name, where no files were noted."""
        expected = records.expected({})
        by = records.by_path(os.fsencode(path) for path in expected)
        present = await self._notes.worktrees.read(root.present.root, list(map(os.fsencode, expected)))
        items = []
        for path in sorted(map(os.fsencode, expected)):
            entry = present.get(path, (None, b""))[0]
            # What it held before is not known.
            change = Changed(path, TreeEntry("" if entry is None else entry.mode, ""), entry)
            if by.get(path):
                unknown = Counts(None, None, binary=False)
                items.append(Listed(change, unknown, by[path], others=False))
        return ChangeList(items, f"only files that agents wrote with file tools are listed: {why}")

    async def settled(self, session_id: str) -> None:
        """Wait until the files of a session's message are noted. Raises `Conflict` when that takes long."""
        try:
            async with asyncio.timeout(SETTLE_SECONDS):
                await self._notes.settled(session_id)
        except TimeoutError:
            raise Conflict(
                "A snapshot of the files is being taken; try again in a moment.", reason="being_noted"
            ) from None

    def _root(self, root: Path) -> _Root:
        if root not in self._roots:
            worktrees = self._notes.worktrees
            present = PresentFiles(root, worktrees, self._watches, lambda: self._roots.pop(root, None))
            self._roots[root] = _Root(present, Counting(root, worktrees))
        return self._roots[root]


def _stored(uow: UnitOfWork, session_id: str, since: str) -> tuple[Baseline, EditRecords]:
    if since in ("head", "base"):
        return Baseline(None, in_git=True), edit_records(uow, session_id, 0)
    baseline = noted_baseline(uow, session_id, since)
    return baseline, edit_records(uow, session_id, baseline.at)


def _joined(edits: Collection[Edit], before: Collection[Edit]) -> list[Edit]:
    return list(dict.fromkeys((*before, *edits)))


def state_digest(change: Changed) -> str:
    """Return what names a change: another state of the file has another one."""
    return xxhash.xxh3_128_hexdigest(change.state.encode("utf-8", "surrogateescape"))


async def _explained_problems(work: Awaitable[T]) -> T:
    """Let the reason why files cannot be compared be a `Conflict`."""
    try:
        return await work
    except GitProblem as problem:
        why = str(problem)
    except OSError as problem:
        why = problem.strerror or "the files cannot be read"
    raise Conflict(f"The files cannot be compared: {why}.", reason="changes_unavailable")
