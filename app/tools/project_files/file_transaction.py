"""Applies a list of changes whole, or not at all.

Owns: the order of staging, putting, moving and undoing. Never: locks, permissions, new contents. Blocks.

If the daemon is killed half-way, some changes are done and others not. Each file stays whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from app.errors import ToolError
from app.tools.project_files.file_locks import busy
from app.tools.project_files.file_operations import (
    Arranged,
    Create,
    Delete,
    Move,
    Rewrite,
    exists_already,
    missing,
    within,
)
from app.tools.project_files.file_scope import exceeds_scope
from app.tools.project_files.read_tracker import Digest, digest_of
from app.workspace import Entry, Staged, Target, Workspace, changed_since_read

MakeContent = Callable[[Target], bytes]
"""Reads the file (`target.read`) and returns its new content, or raises ToolError."""


@dataclass(frozen=True, slots=True)
class Locked:
    """A file whose lock is held: its path, and the identity behind it."""

    path: str
    identity: Hashable


@dataclass(frozen=True, slots=True)
class Written:
    """A file's `key`, and the digest of what it holds now."""

    key: str
    digest: Digest


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A file by its `key`, and the digests of what it held and holds."""

    key: str
    before: Digest
    digest: Digest


@dataclass(frozen=True, slots=True)
class Moved:
    """The keys before and after."""

    old: str
    new: str
    is_folder: bool


@dataclass(frozen=True, slots=True)
class Deleted:
    key: str
    is_folder: bool


@dataclass(slots=True)
class AppliedOperations:
    """What was done, as real paths below the root: changed and new files by their present names, moved (old,
    new) and deleted. `known` lists the same in the order of work, for the record of reads."""

    changed: list[str] = field(default_factory=list)
    created: list[str] = field(default_factory=list)
    moved: list[tuple[str, str]] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    known: list[Rewritten | Written | Moved | Deleted] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Aside:
    """What lies under a temporary name in a folder, whose path was this after `moves` moves."""

    folder: str
    name: str
    moves: int


def identities(
    workspace: Workspace,
    arranged: Arranged,
    seen: Callable[[Target | Entry], None] = lambda _: None,
) -> dict[str, Hashable]:
    """Return what each path of the changes turns out to be now, for its lock. `seen` is called with
    each of them while it is open."""
    found: dict[str, Hashable] = {}
    for rewrite in arranged.rewrites:
        with workspace.target(rewrite.path) as target:
            seen(target)
            found[rewrite.path] = target.identity
    for one in arranged.names:
        for path in (one.old, one.new) if isinstance(one, Move) else (one.path,):
            with workspace.entry(path) as entry:
                seen(entry)
                found[path] = entry.identity
    return found


def apply_together(
    workspace: Workspace,
    arranged: Arranged,
    locked: Mapping[str, Hashable],
    also: Callable[[], None] = lambda: None,
) -> AppliedOperations:
    """Apply all changes, or none. `locked` are the identities whose locks are held. `also` is done last; when
    it raises, after undoing its own work, the changes are taken back. Raises ToolError `file_busy`,
    `file_changed_since_read`, `file_not_found`, `file_exists`, `directory_not_empty`, `partly_applied` when
    something could not be undone, and errors of the operating system."""
    if identities(workspace, arranged) != dict(locked):
        raise busy(next(iter(locked)))
    transaction = _Transaction(workspace)
    try:
        transaction.run(arranged)
        also()
    except BaseException:
        transaction.take_back()
        raise
    transaction.finish()
    return transaction.applied


def write_together(workspace: Workspace, files: Sequence[Locked], make: MakeContent) -> list[Written]:
    """Give every file its new content, or none of them. Raises whatever `make` raises, `file_busy` and
    `file_changed_since_read`, and `partly_applied`."""
    transaction = _Transaction(workspace)
    try:
        written = transaction.rewrite_all(files, make)
    except BaseException:
        transaction.take_back()
        raise
    transaction.finish()
    return written


class _Transaction:
    def __init__(self, workspace: Workspace) -> None:
        self.applied = AppliedOperations()
        self._workspace = workspace
        self._freely = workspace.without_policy()
        self._undo: list[tuple[str, Callable[[], None]]] = []
        self._in_place: set[int] = set()
        self._moves: list[tuple[str, str]] = []
        self._left: list[_Aside] = []
        self._changed: list[tuple[str, int]] = []
        self._created: list[tuple[str, int]] = []

    def run(self, arranged: Arranged) -> None:
        staged = [(one.path, self._stage(one)) for one in arranged.rewrites]
        for path, content in staged:
            if content is not None:
                self._put(path, content)
        for change in arranged.names:
            if isinstance(change, Create):
                self._create(change)
            elif isinstance(change, Move):
                self._move(change)
            else:
                self._delete(change)

    def rewrite_all(self, files: Sequence[Locked], make: MakeContent) -> list[Written]:
        written: list[Written] = []
        staged: list[tuple[str, Staged]] = []
        for file in files:
            with self._workspace.target(file.path) as target:
                if target.identity != file.identity:
                    raise busy(file.path)
                content = make(target)
                written.append(Written(target.key, digest_of(content)))
                staged.append((file.path, self._staged(target, file.path, content)))
        for path, one in staged:
            self._put(path, one)
        return written

    def take_back(self) -> None:
        """Undo the changes, the last first. Later changes of others stay."""
        left: list[str] = []
        for path, undo in reversed(self._undo):
            try:
                undo()
            except (ToolError, OSError):
                left.append(path)
        if left:
            names = ", ".join(left[:20])
            raise ToolError(
                "partly_applied",
                f"{len(left)} changes could not be taken back after a failure: {names}; look at them "
                "before going on",
                detail={"paths": left},
            )

    def finish(self) -> None:
        """Remove what was put aside. What cannot be is swept later."""
        for aside in self._left:
            folder = self._now_at(aside.folder, aside.moves)
            with suppress(ToolError), self._freely.entry(f"./{folder}/{aside.name}") as entry:
                if entry.status is not None:
                    entry.remove()
        for found, applied in ((self._changed, self.applied.changed), (self._created, self.applied.created)):
            applied += [self._now_at(path, moves) for path, moves in found]

    def _now_at(self, path: str, moves: int) -> str:
        for old, new in self._moves[moves:]:
            if within(path, old):
                path = new + path[len(old) :]
        return path

    def _stage(self, one: Rewrite) -> Staged | None:
        """None for a file that already holds what is wanted."""
        with self._workspace.target(one.path) as target:
            before = digest_of(target.read())
            if before != one.expected:
                raise changed_since_read(one.path)
            after = digest_of(one.content)
            self.applied.known.append(Rewritten(target.key, before, after))
            return None if after == before else self._staged(target, one.path, one.content)

    def _staged(self, target: Target, path: str, content: bytes) -> Staged:
        staged = target.stage(content)
        self._undo.append((path, partial(self._discard, path, staged)))
        return staged

    def _put(self, path: str, staged: Staged) -> None:
        with self._workspace.target(path) as target:
            target.put(staged)
            real = target.parts
        self._in_place.add(id(staged))
        self._undo.append((path, partial(self._take_back_content, path, staged)))
        self._left.append(_Aside("/".join(real[:-1]), staged.temporary, len(self._moves)))
        self._changed.append(("/".join(real), len(self._moves)))

    def _create(self, one: Create) -> None:
        with self._workspace.entry(one.path) as entry:
            exists = entry.status is not None
            self._make_parents(entry)
        staged: Staged | None = None
        with self._workspace.target(one.path) as target:
            self.applied.known.append(Written(target.key, digest_of(one.content)))
            if exists and one.overwrite:
                target.read()
                staged = self._staged(target, one.path, one.content)
            else:
                target.create(one.content)
                self._created.append(("/".join(target.parts), len(self._moves)))
        if staged is not None:
            self._put(one.path, staged)
            return
        with self._freely.entry(one.path) as made:
            self._undo.append((one.path, partial(self._remove_created, one.path, made.status)))

    def _move(self, one: Move) -> None:
        with self._workspace.entry(one.new) as new:
            self._make_parents(new)
        with self._workspace.entry(one.old) as old, self._workspace.entry(one.new) as new:
            if old.status is None:
                raise missing(one.old)
            self._check_inside(old, new.parts)
            kept: str | None = None
            if new.status is None:
                old.move_to(new)
            elif one.overwrite and not old.is_folder and not new.is_folder:
                kept = old.move_over(new)
                self._left.append(_Aside("/".join(new.parts[:-1]), kept, len(self._moves)))
            else:
                raise exists_already(one.new)
            self._undo.append((one.new, partial(self._move_back, one, old.status, kept)))
            before, after = "/".join(old.parts), "/".join(new.parts)
            self._moves.append((before, after))
            self.applied.moved.append((before, after))
            self.applied.known.append(Moved(old.key, new.key, old.is_folder))

    def _delete(self, one: Delete) -> None:
        if one.expected is not None:
            with self._workspace.target(one.path) as target:
                if not target.exists or digest_of(target.read()) != one.expected:
                    raise changed_since_read(one.path)
        with self._workspace.entry(one.path) as entry:
            if entry.status is None:
                raise missing(one.path)
            if entry.is_folder and not one.recursive and entry.holds_something():
                message = f"{one.path} is not empty; nothing was changed"
                raise ToolError("directory_not_empty", message, detail={"path": one.path})
            self._check_inside(entry, None)
            name = entry.put_aside()
            self._undo.append((one.path, partial(self._bring_back, one.path, name)))
            self._left.append(_Aside("/".join(entry.parts[:-1]), name, len(self._moves)))
            self.applied.deleted.append("/".join(entry.parts))
            self.applied.known.append(Deleted(entry.key, entry.is_folder))

    def _check_inside(self, entry: Entry, elsewhere: tuple[str, ...] | None) -> None:
        """Once more, by the real paths: links and earlier changes may have led elsewhere."""
        if entry.is_folder:
            closed = self._workspace.closed_within(entry, elsewhere)
            if closed:
                raise exceeds_scope(self._workspace, closed)

    def _make_parents(self, entry: Entry) -> None:
        there = len(entry.parts) - 1 - entry.missing_parents
        for depth in range(there + 1, len(entry.parts)):
            path = "./" + "/".join(entry.parts[:depth])
            with self._freely.entry(path) as folder:
                if folder.status is None:
                    folder.make_folder()
                    self._undo.append((path, partial(self._remove_folder, path)))

    def _discard(self, path: str, staged: Staged) -> None:
        if id(staged) not in self._in_place:
            with suppress(ToolError), self._freely.target(path) as target:
                target.discard(staged)

    def _take_back_content(self, path: str, staged: Staged) -> None:
        with self._freely.target(path) as target:
            target.take_back(staged)

    def _remove_created(self, path: str, made: os.stat_result | None) -> None:
        with self._freely.entry(path) as entry:
            if made is not None and entry.is_the_same(made):
                entry.remove()

    def _remove_folder(self, path: str) -> None:
        with self._freely.entry(path) as entry:
            entry.remove_empty_folder()

    def _move_back(self, one: Move, moved: os.stat_result, kept: str | None) -> None:
        with self._freely.entry(one.new) as now, self._freely.entry(one.old) as before:
            if not now.is_the_same(moved):
                raise changed_since_read(one.new)
            now.move_to(before)
        if kept is not None:
            self._bring_back(one.new, kept)

    def _bring_back(self, path: str, name: str) -> None:
        with self._freely.entry(path) as entry:
            entry.bring_back(name)
