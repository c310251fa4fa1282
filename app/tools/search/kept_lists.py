"""The kept file lists of projects that are searched repeatedly.

Owns: when a list is made, may answer, and is given up. Never: its content (`kept_list`).

A list may answer when the watch of its project is exact and all queued events are processed. In doubt the
search walks.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from app.errors import ToolError
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.threads import to_the_end
from app.tools.search.engine import Ripgrep, Walk
from app.tools.search.found_lines import PathReader
from app.tools.search.glob_pattern import Glob
from app.tools.search.kept_list import MAX_KEPT, KeptList, OutOfStep, Pending, Timed, TimesOfFiles
from app.tools.search.name_index import NameQuery
from app.tools.search.running import EngineRun
from app.tools.search.scope import Scope
from app.tools.search.walked_names import NamesFound, WalkedNames
from app.workspace.folder_rules import ProjectRules
from app.workspace.ignore_rules import VERSION_CONTROL
from app.workspace.tree_watch import FileChange, TreeWatch, TreeWatches

log = logging.getLogger("kaged.search")

T = TypeVar("T")
MAX_KEPT_IN_ALL = 2 * MAX_KEPT
IDLE_SECONDS = 900.0
WALK_SECONDS = 60.0
SHORTEST_PAUSE, LONGEST_PAUSE = 0.5, 600.0
_AT_ONCE = 2_000


class KeptLists:
    """One per daemon. Lists are made by `engine`, started by `processes`."""

    def __init__(self, watches: TreeWatches, processes: CallProcesses, engine: Ripgrep) -> None:
        self._watches = watches
        self._processes = processes
        self._engine = engine
        self._projects: dict[Path, _Project] = {}
        self._walked = WalkedNames(self._walk)

    async def find(self, scope: Scope, glob: Glob, most: int) -> list[Timed] | None:
        """Return what a walk of `scope` would find, sorted, newest first; None where a walk is
        needed. The first `most` are checked at this moment."""
        project = self._projects.get(scope.root)
        if project is None or scope.only is not None or not scope.real.is_relative_to(scope.root):
            return None
        parts = scope.real.relative_to(scope.root).parts
        if any(part in VERSION_CONTROL for part in parts):
            return None
        kept = project.current("/".join(parts))
        if kept is None:
            return None

        def find() -> list[Timed] | None:
            if not kept.rules.still_hold(scope.root):
                raise OutOfStep
            if parts and not kept.rules.still_hold(scope.real):
                return None
            return kept.find(parts, scope.descriptor, glob.compiled(), most)

        try:
            return await to_the_end(find, lambda _: None)
        except OutOfStep:
            project.give_up()
            return None

    async def find_names(
        self, root: Path, query: NameQuery, most: int, accepts: Callable[[str], bool]
    ) -> NamesFound:
        """Return the names below `root`, a real path, that fit best. `accepts` is asked in a thread. A list
        is made where there is none; where that is impossible, a walk of a moment ago counts.

        Raises ToolError `search_failed` and `cage_unavailable`, and OSError."""
        found = await self._of_kept(root, lambda kept: (kept.find_names(query, most, accepts), len(kept)))
        if found is not None:
            return NamesFound(*found, is_whole=True)
        return await self._walked.find_names(root, query, most, accepts)

    async def files(self, root: Path, wanted: Callable[[str], bool], since: object = None) -> TimesOfFiles:
        """Return the files below `root`, a real path, that are wanted, with their times. `wanted` is asked in
        a thread. For lists and errors see `find_names`, for `since` `KeptList.times`."""
        found = await self._of_kept(root, lambda kept: kept.times(wanted, since))
        return found if found is not None else await self._walked.files(root, wanted)

    async def _of_kept(self, root: Path, work: Callable[[KeptList], T]) -> T | None:
        """Run `work` in a thread on the list of `root`, which is made where there is none; None where that is
        impossible."""
        self.want(root)
        await self.made(root)
        project = self._projects.get(root)
        kept = project.current("") if project is not None else None
        if project is None or kept is None:
            return None

        def look() -> T:
            if not kept.rules.still_hold(root):
                raise OutOfStep
            return work(kept)

        try:
            return await to_the_end(look, lambda _: None)
        except OutOfStep:
            project.give_up()
            return None

    def want(self, root: Path) -> None:
        """A search of `root`, a real path, had to walk: let the next one find a list."""
        project = self._projects.get(root)
        if project is None:
            project = self._projects[root] = _Project(root, self._fill, self._forget)
        project.make()

    async def made(self, root: Path) -> bool:
        """Wait until no list of `root` is being made; return whether there is one."""
        project = self._projects.get(root)
        return project is not None and await project.made()

    def forget(self, root: Path) -> None:
        """Give up the list of a folder that goes."""
        project = self._projects.get(root)
        if project is not None:
            project.close()

    async def aclose(self) -> None:
        """Give up all lists; afterwards nothing is being made."""
        projects = list(self._projects.values())
        for project in projects:
            project.close()
        await asyncio.gather(*(project.made() for project in projects))

    def _forget(self, project: _Project) -> None:
        if self._projects.get(project.root) is project:
            del self._projects[project.root]

    async def _fill(self, project: _Project) -> None:
        """Make a list by a walk, while what changes meanwhile is remembered."""
        watch = await self._watches.open(project.root)
        if not watch.exact:
            return
        pending = project.follow(watch)
        rules = await asyncio.to_thread(ProjectRules, project.root)
        kept = KeptList(project.root, rules, pending)
        paths, is_whole = await self._walk(project.root, rules)
        if not is_whole:
            raise OutOfStep
        folders: list[str] = []
        await to_the_end(partial(kept.fill, paths), folders.extend)
        unwatched: list[str] = []
        watch.drain()
        for at in range(0, len(folders), _AT_ONCE):
            unwatched += [folder for folder in folders[at : at + _AT_ONCE] if not watch.watches(folder)]
            await asyncio.sleep(0)
        unseen = await asyncio.to_thread(kept.any_exists, unwatched)
        if unseen:
            watch.look_anew()  # as when rules from above its root have changed
            raise OutOfStep
        await to_the_end(kept.settle, lambda _: None)
        project.kept = kept
        self._make_room(project)

    async def _walk(self, root: Path, rules: ProjectRules) -> tuple[list[bytes], bool]:
        """Return the files, no more than a list may have, and whether these are all."""
        above, reader, paths = rules.above, PathReader(), list[bytes]()

        def take(chunk: bytes) -> bool:
            paths.extend(reader.feed(chunk))
            return len(paths) > MAX_KEPT

        opened: list[int] = []
        try:
            await to_the_end(
                lambda: os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), opened.append
            )
            command = self._engine.files(Walk(levels=above.levels, repositories=above.repositories))
            children = await self._processes.of_project(root, caged=False)
            run = EngineRun(children, command, opened[0], f"list of {root.name}", WALK_SECONDS)
            ending = await run.read(take)
        finally:
            for descriptor in opened:
                os.close(descriptor)
        return paths[:MAX_KEPT], ending == "whole"

    def _make_room(self, newest: _Project) -> None:
        """Give up the lists that were used least lately while there is too much in all of them."""
        others = [one for one in self._projects.values() if one.kept is not None and one is not newest]
        others.sort(key=lambda one: one.last_used)
        sizes = sum(len(one.kept) for one in (newest, *others) if one.kept is not None)
        for one in others:
            if sizes <= MAX_KEPT_IN_ALL:
                return
            sizes -= len(one.kept) if one.kept is not None else 0
            one.close()


class _Project:
    """One root: its list, if there is one, and the making of it. All on the event loop."""

    def __init__(
        self,
        root: Path,
        fill: Callable[[_Project], Coroutine[Any, Any, None]],
        forget: Callable[[_Project], None],
    ) -> None:
        self.root = root
        self.kept: KeptList | None = None
        self.last_used = time.monotonic()
        self._fill = fill
        self._forget = forget
        self._watch: TreeWatch | None = None
        self._pending = Pending()
        self._unsubscribe: Callable[[], None] | None = None
        self._making: asyncio.Task[None] | None = None
        self._not_before = 0.0
        self._pause = SHORTEST_PAUSE
        self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._look)

    def current(self, folder: str) -> KeptList | None:
        """Return the list with all changes applied, if it surely knows the folder."""
        self.last_used = time.monotonic()
        watch = self._watch
        if self.kept is None or watch is None:
            return None
        watch.drain()  # it may end this list
        return self.kept if watch.watches(folder) else None

    def follow(self, watch: TreeWatch) -> Pending:
        """Begin to collect what changes, for a new list."""
        self.give_up()
        self._watch, self._pending = watch, Pending()
        self._unsubscribe = watch.subscribe(self._take_changes)
        return self._pending

    def give_up(self) -> None:
        """Discard the list, and one that is being made."""
        self.kept = self._watch = None
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
            if self._making is not None and self._making is not asyncio.current_task():
                self._making.cancel()

    def make(self) -> None:
        """Begin to make a list, unless there is one, or making one has failed a moment ago."""
        if self.kept is None and self._making is None and time.monotonic() >= self._not_before:
            task = asyncio.get_running_loop().create_task(self._make(), name=f"list of {self.root.name}")
            task.add_done_callback(self._ended)
            self._making = task

    async def made(self) -> bool:
        if self._making is not None:
            await asyncio.wait({self._making})
        return self.kept is not None

    def close(self) -> None:
        self._idle.cancel()
        self.give_up()
        if self._making is not None:
            self._making.cancel()
        self._forget(self)

    async def _make(self) -> None:
        try:
            await self._fill(self)
        except (OutOfStep, ToolError, OSError) as problem:
            log.debug("no list of files could be made: %r", problem)
        finally:
            if self.kept is None:
                self.give_up()
                self._not_before = time.monotonic() + self._pause
                self._pause = min(self._pause * 2, LONGEST_PAUSE)
            else:
                self._pause = SHORTEST_PAUSE

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._making = None
        if not task.cancelled() and (problem := task.exception()) is not None:
            log.error("making a list of files failed", exc_info=problem)

    def _take_changes(self, changes: Sequence[FileChange] | None) -> None:
        if changes is None or not self._pending.add(changes):
            self.give_up()

    def _look(self) -> None:
        left = self.last_used + IDLE_SECONDS - time.monotonic()
        if left <= 0:
            self.close()
        else:
            self._idle = asyncio.get_running_loop().call_later(left, self._look)
