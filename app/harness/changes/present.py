"""The files of a root as they are now, kept up to date by the watch of its tree.

Owns: what has to be looked at again. Never: comparing, or which files count (`checkpoints`). Where the watch
is not exact, everything is looked at each time.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.harness.checkpoints.file_survey import Surveyed
from app.harness.checkpoints.stored_objects import TreeEntry
from app.harness.checkpoints.worktrees import Worktrees
from app.tools.processes.git_commands import GitProblem
from app.workspace.tree_watch import FileChange, TreeWatch, TreeWatches

log = logging.getLogger("kaged.changes")

MAX_AGAIN = 2_000
"""Where more has changed, everything is looked at."""

IDLE_SECONDS = 900.0

Marks = tuple[tuple[int, ...] | None, ...]


@dataclass(frozen=True, slots=True)
class Present:
    """The files at a moment. `version` is another one when anything has changed."""

    version: int
    entries: Mapping[bytes, TreeEntry]
    left_out: Mapping[bytes, str]


@dataclass(slots=True)
class _Noticed:
    """What the watch has told since the last look: files, deleted folders, or that everything may differ."""

    again: set[bytes] = field(default_factory=set)
    folders: set[bytes] = field(default_factory=set)
    everything: bool = False


class PresentFiles:
    """The files of one root, shared by all sessions there. `rested` is called when nobody has looked or
    listened for a while: nothing is known of the files from then on."""

    def __init__(
        self, root: Path, worktrees: Worktrees, watches: TreeWatches, rested: Callable[[], object]
    ) -> None:
        self.root, self._rested = root, rested
        self._worktrees, self._watches = worktrees, watches
        self._lock = asyncio.Lock()
        self._watch: TreeWatch | None = None
        self._leave: Callable[[], None] = lambda: None
        self._noticed = _Noticed(everything=True)
        self._unwatched: frozenset[bytes] = frozenset()
        self._marks: Marks = ()
        self._known: Present | None = None
        self._listeners: list[Callable[[], None]] = []
        self._looked_at = 0.0
        self._resting: asyncio.TimerHandle | None = None

    @property
    def is_watched(self) -> bool:
        """Whether the watch reports every change."""
        return self._watch is not None and self._watch.exact

    def listen(self, notify: Callable[[], None]) -> Callable[[], None]:
        """Call `notify` when files may have changed; return a function that ends this."""
        self._listeners.append(notify)
        return lambda: self._listeners.remove(notify)

    def close(self) -> None:
        """Close the watch. The next look reads all files."""
        self._leave()
        self._leave, self._watch = (lambda: None), None
        self._noticed.everything = True
        if self._resting is not None:
            self._resting.cancel()
            self._resting = None

    async def look(self) -> Present:
        """Return the files as they are now. Raises `GitProblem`, or `OSError` when the root is gone."""
        async with self._lock:
            await self._open_watch()
            self._rest_later()
            marks = await asyncio.to_thread(_marks, self._worktrees.rule_files(self.root))
            below: set[bytes] = set()
            folders: set[bytes] = set()
            while folders != self._noticed.folders:  # some may be added meanwhile
                folders = set(self._noticed.folders)
                below = await asyncio.to_thread(_below, self._known, folders)
            everything = (
                self._noticed.everything or not self.is_watched or self._known is None or marks != self._marks
            )
            again = self._unwatched | self._noticed.again | below
            if everything or len(again) > MAX_AGAIN:
                return await self._look_at_all(marks)
            assert self._known is not None
            if not again:
                return self._known
            try:
                return await self._look_again(self._known, again)
            except GitProblem as problem:
                log.info("all files are looked at: %s", problem)
                return await self._look_at_all(marks)

    # -- inside -----------------------------------------------------------------------------

    def _rest_later(self) -> None:
        """Let go of the watch when nobody has looked or listened for a while."""
        loop = asyncio.get_running_loop()
        self._looked_at = loop.time()
        if self._resting is None:
            self._resting = loop.call_later(IDLE_SECONDS, self._rest)

    def _rest(self) -> None:
        self._resting = None
        loop = asyncio.get_running_loop()
        used = self._listeners or self._lock.locked()
        if used or loop.time() - self._looked_at < IDLE_SECONDS:
            self._resting = loop.call_later(IDLE_SECONDS, self._rest)
            return
        self.close()
        self._known = None
        self._rested()

    async def _open_watch(self) -> None:
        watch = await self._watches.open(self.root)
        if watch is not self._watch:
            self._leave()
            self._watch, self._noticed.everything = watch, True
            self._leave = watch.subscribe(self._notice)
        watch.drain()

    def _notice(self, changes: Sequence[FileChange] | None) -> None:
        for change in changes or ():
            name = os.fsencode(change.path)
            if not change.is_folder:
                self._noticed.again.add(name)
            elif change.kind == "deleted":
                self._noticed.folders.add(name)
            elif change.kind == "changed":
                self._noticed.everything = True  # its permissions: what is in it may have become readable
        if changes is None or len(self._noticed.again) > MAX_AGAIN:
            self._noticed.everything = True
        for notify in list(self._listeners):
            notify()

    async def _look_at_all(self, marks: Marks) -> Present:
        self._begin()
        try:
            surveyed = await self._worktrees.survey(self.root)
            # The files with git's rules are known only now, at the first look.
            self._marks = marks or await asyncio.to_thread(_marks, self._worktrees.rule_files(self.root))
            self._unwatched = await asyncio.to_thread(self._not_watched, surveyed.entries)
            return await self._keep(surveyed.entries, surveyed.left_out)
        except BaseException:
            self._noticed.everything = True
            raise

    async def _look_again(self, known: Present, again: Collection[bytes]) -> Present:
        self._begin()
        try:
            old = [name for name in again if name in known.entries or name in known.left_out]
            new = [name for name in again if name not in known.entries and name not in known.left_out]
            surveyed = await self._worktrees.survey_again(self.root, old, new)
            joined = await asyncio.to_thread(_joined, known, again, surveyed)
            return await self._keep(*joined)
        except BaseException:
            self._noticed.everything = True
            raise

    def _begin(self) -> None:
        """What changes from now on is looked at the next time."""
        self._noticed = _Noticed()

    async def _keep(self, entries: dict[bytes, TreeEntry], left_out: dict[bytes, str]) -> Present:
        known = self._known
        if known is None or not await asyncio.to_thread(_is_same, known, entries, left_out):
            self._known = known = Present(0 if known is None else known.version + 1, entries, left_out)
        return known

    def _not_watched(self, names: Collection[bytes]) -> frozenset[bytes]:
        """Return the files whose folder is not watched, such as tracked ones in an ignored folder."""
        watch = self._watch
        if watch is None or not watch.exact:
            return frozenset()
        folders = {name.rpartition(b"/")[0] for name in names}
        blind = {folder for folder in folders if not watch.watches(os.fsdecode(folder))}
        return (
            frozenset(name for name in names if name.rpartition(b"/")[0] in blind) if blind else frozenset()
        )


def _below(known: Present | None, folders: Collection[bytes]) -> set[bytes]:
    if not folders or known is None:
        return set()
    starts = tuple(folder + b"/" for folder in folders)
    return {name for name in (*known.entries, *known.left_out) if name.startswith(starts)}


def _joined(
    known: Present, again: Collection[bytes], surveyed: Surveyed
) -> tuple[dict[bytes, TreeEntry], dict[bytes, str]]:
    """Return what is known now that some files were looked at again."""
    entries = {name: entry for name, entry in known.entries.items() if name not in again}
    left_out = {name: why for name, why in known.left_out.items() if name not in again}
    return entries | surveyed.entries, left_out | surveyed.left_out


def _is_same(known: Present, entries: Mapping[bytes, TreeEntry], left_out: Mapping[bytes, str]) -> bool:
    return known.entries == entries and known.left_out == left_out


def _marks(files: Sequence[Path]) -> Marks:
    """Return the states of files outside of the tree that decide which files count."""
    found: list[tuple[int, ...] | None] = []
    for file in files:
        try:
            status = os.stat(file)
            found.append((status.st_ino, status.st_size, status.st_mtime_ns))
        except OSError:
            found.append(None)
    return tuple(found)
