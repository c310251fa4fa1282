"""A project's files as tools use them: within the cage, locked, and never overwritten unread.

Owns: workspaces, the order of locking, checking and writing, what was read. Never: parameters and results of
tools.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Generic, TypeVar

from app.errors import ToolError
from app.tools.authorisation.file_policy import fs_policy
from app.tools.contract.call import ToolCallContext
from app.tools.contract.ports import FileWrite, WriteObserver
from app.tools.project_files.file_locks import FileLocks, busy
from app.tools.project_files.file_operations import FileOperation, Move, Rewrite, arrange
from app.tools.project_files.file_scope import arrange_allowed, not_writable, plainly_named
from app.tools.project_files.file_transaction import (
    AppliedOperations,
    Deleted,
    Locked,
    MakeContent,
    Moved,
    Rewritten,
    Written,
    apply_together,
    identities,
    write_together,
)
from app.tools.project_files.read_tracker import Digest, ReadTracker, digest_of
from app.tools.project_files.threads import FileThreads, to_the_end
from app.workspace import Entry, Policy, RootFolder, Target, Workspace, changed_since_read

T = TypeVar("T")
MAX_MOVES = 3
MAX_SWEPT = 4096
MAX_ROOTS = 64


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """What a write did: the file's `key` and new `digest`, and the tool's own `value`."""

    key: str
    digest: Digest
    value: T


@dataclass(frozen=True, slots=True)
class _Moved:
    identity: Hashable


class ProjectFiles:
    """Shared by all tools that touch files. `closed` are the daemon's own files and folders."""

    def __init__(
        self, *, reads: ReadTracker, closed: tuple[Path, ...] = (), locks: FileLocks | None = None
    ) -> None:
        self.reads = reads
        self._closed = tuple(path.resolve() for path in closed)
        self.threads = FileThreads()
        self._locks = locks or FileLocks()
        self._swept: set[Hashable] = set()
        self._roots: OrderedDict[Path, RootFolder] = OrderedDict()
        self._opening = threading.Lock()

    def workspace(
        self, context: ToolCallContext, *, policy: Policy | None = None, all_scratch: bool = False
    ) -> Workspace:
        """Return the project's folder as this caller may use it, by its cage or by `policy`. In the scratch
        folder it sees its own files and those of agents below it, unless it is to see `all_scratch`."""
        return Workspace(
            self._root(context.project_root),
            policy=fs_policy(context) if policy is None else policy,
            scratch=context.scratch_dir,
            scratch_reader=None if all_scratch else context.agent_path,
            library=context.ports.skill_folders(),
            closed=self._closed,
        )

    def _root(self, path: Path) -> RootFolder:
        """Return the project's folder, which stays open while it is among those used last."""
        with self._opening:
            found = self._roots.setdefault(path, RootFolder(path))
            self._roots.move_to_end(path)
            while len(self._roots) > MAX_ROOTS:
                self._roots.popitem(last=False)
        return found

    def content_as_read(self, target: Target, context: ToolCallContext) -> bytes:
        """Return the content of an existing file that the caller has read. Blocks. Raises ToolError
        `file_not_read` or `file_changed_since_read`."""
        known = self.reads.known(context, target.key)
        if known is None:
            target.check_size()
            raise not_read(target.location.shown)
        content = target.read()
        if digest_of(content) != known:
            raise changed_since_read(target.location.shown)
        return content

    async def change(
        self,
        path: str,
        context: ToolCallContext,
        work: Callable[[Target], Change[T]],
        settle: Callable[[T], None],
    ) -> T:
        """Run `work` in a thread on the resolved file, under its lock. Afterwards its content counts as read
        and `settle` is called, also when the call is cancelled. Raises ToolError `file_busy` and whatever
        `work` raises."""
        workspace = self.workspace(context)

        def identify() -> tuple[Hashable, str, bool]:
            with workspace.target(path) as target:
                self._sweep(target)
                return target.identity, "/".join(target.parts), target.exists

        def attempt(identity: Hashable) -> Change[T] | _Moved:
            with workspace.target(path) as target:
                return work(target) if target.identity == identity else _Moved(target.identity)

        def settled(change: Change[T] | _Moved) -> None:
            if isinstance(change, Change):
                self.reads.record(context, change.key, change.digest)
                context.ports.wrote(FileWrite(relative, change.digest.hex()))
                if context.writes is not None:
                    context.writes.written(relative, created=not existed)
                settle(change.value)

        identity, relative, existed = await self.threads.run(context.session_id, identify)
        if context.writes is not None and existed:
            await context.writes.before([relative])
        for _ in range(MAX_MOVES):
            async with self._locks.holding(identity, path), self.threads.turn(context.session_id) as pool:
                outcome = await to_the_end(partial(attempt, identity), settled, pool)
            if isinstance(outcome, Change):
                return outcome.value
            identity = outcome.identity
        raise busy(path)

    async def change_together(
        self,
        paths: Sequence[str],
        context: ToolCallContext,
        make: MakeContent,
        settle: Callable[[], None],
    ) -> None:
        """Give all of the files new content, or none, under all their locks. `make` runs in a thread.
        Afterwards the contents count as read and `settle` is called, also when the call is cancelled. Raises
        ToolError `file_busy`, `file_changed_since_read` and whatever `make` raises."""
        workspace = self.workspace(context)
        real: dict[Hashable, str] = {}

        def identify() -> list[Locked]:
            known: dict[Hashable, Locked] = {}
            for path in paths:
                with workspace.target(path) as target:
                    self._sweep(target)
                    known.setdefault(target.identity, Locked(path, target.identity))
                    real[target.identity] = "/".join(target.parts)
            return sorted(known.values(), key=lambda one: repr(one.identity))

        def settled(written: list[Written]) -> None:
            for one in written:
                self.reads.record(context, one.key, one.digest)
                context.ports.wrote(FileWrite(below(context.project_root, one.key), one.digest.hex()))
            if context.writes is not None:
                for path in real.values():
                    context.writes.written(path, created=False)
            settle()

        files = await self.threads.run(context.session_id, identify)
        if context.writes is not None:
            await context.writes.before(list(real.values()))
        async with AsyncExitStack() as held:
            for one in files:
                await held.enter_async_context(self._locks.holding(one.identity, one.path))
            pool = await held.enter_async_context(self.threads.turn(context.session_id))
            await to_the_end(partial(write_together, workspace, files, make), settled, pool)

    def paths_not_writable(self, paths: Iterable[str], context: ToolCallContext) -> list[str]:
        """Return those of the paths that the caller may not write, once each, in order. Names that
        steer programs (`.git`, `.kaged` and their like) are among them for every caller. Blocks."""
        return not_writable(self.workspace(context), paths)

    async def apply_operations(
        self,
        operations: Sequence[FileOperation],
        context: ToolCallContext,
        settle: Callable[[AppliedOperations], None] = lambda _: None,
    ) -> AppliedOperations:
        """Apply the operations in order, or none, under the locks of all files that they name. Afterwards new
        contents count as read, what agents know of moved files follows them, and `settle` is called, also
        when the call is cancelled. Raises ToolError `rename_scope_exceeds_cage` with the `files` that the
        caller may not write, `file_changed_since_read`, `file_not_found`, `file_exists`, `is_directory`,
        `directory_not_empty`, `symbolic_link`, `too_many_files`, `file_busy`, `partly_applied`, and errors of
        the operating system."""
        workspace = self.workspace(context)

        def survey() -> tuple[list[FileOperation], dict[str, Hashable]]:
            plain = plainly_named(workspace, operations)
            arranged = arrange_allowed(workspace, plain)
            return plain, identities(workspace, arranged, self._sweep)

        plain, found = await self.threads.run(context.session_id, survey)

        def work() -> AppliedOperations:
            return apply_together(workspace, arrange(workspace.without_policy(), plain), found)

        def settled(applied: AppliedOperations) -> None:
            self._record(applied, context)
            if context.writes is not None:
                _notify(context.writes, applied)
            settle(applied)

        if context.writes is not None:
            await context.writes.before(_named_before(plain))
        paths = {identity: path for path, identity in found.items()}
        async with AsyncExitStack() as held:
            for identity in sorted(paths, key=repr):
                await held.enter_async_context(self._locks.holding(identity, paths[identity]))
            pool = await held.enter_async_context(self.threads.turn(context.session_id))
            return await to_the_end(work, settled, pool)

    def _record(self, applied: AppliedOperations, context: ToolCallContext) -> None:
        """A file of which the caller knows something else than what was changed stays unread."""
        for one in applied.known:
            context.ports.wrote(_as_write(context.project_root, one))
            if isinstance(one, Moved):
                self.reads.follow(context.session_id, one.old, one.new, is_folder=one.is_folder)
            elif isinstance(one, Deleted):
                self.reads.follow(context.session_id, one.key, None, is_folder=one.is_folder)
            elif isinstance(one, Written) or self.reads.known(context, one.key) in {None, one.before}:
                self.reads.record(context, one.key, one.digest)

    def _sweep(self, target: Target | Entry) -> None:
        """Remove what a killed daemon left, once in each directory that is written."""
        if target.directory_identity not in self._swept:
            if len(self._swept) >= MAX_SWEPT:
                self._swept.clear()
            self._swept.add(target.directory_identity)
            target.remove_leftovers()


def _named_before(operations: Iterable[FileOperation]) -> list[str]:
    """Return the files that are there before the operations and are changed or renamed by them."""
    rewritten = [one.path for one in operations if isinstance(one, Rewrite)]
    renamed = [one.old for one in operations if isinstance(one, Move)]
    return list(dict.fromkeys(rewritten + renamed))


def _notify(writes: WriteObserver, applied: AppliedOperations) -> None:
    """Report each file once, by the name that it has now."""
    before = {new: old for old, new in applied.moved}
    for path in dict.fromkeys((*applied.changed, *before)):
        writes.written(path, created=False, was=before.get(path))
    for path in applied.created:
        writes.written(path, created=True)


def below(root: Path, key: str) -> str:
    """Return a real absolute path as one below the project's root."""
    return os.path.relpath(key, _real(root))


@lru_cache(maxsize=256)
def _real(root: Path) -> str:
    return os.path.realpath(root)


def _as_write(root: Path, one: Rewritten | Written | Moved | Deleted) -> FileWrite:
    if isinstance(one, Moved):
        return FileWrite(below(root, one.new), was=below(root, one.old), folder=one.is_folder)
    if isinstance(one, Deleted):
        return FileWrite(below(root, one.key), folder=one.is_folder)
    return FileWrite(below(root, one.key), one.digest.hex())


def not_read(shown: str) -> ToolError:
    return ToolError("file_not_read", f"Read the file before overwriting it: {shown}", detail={"path": shown})
