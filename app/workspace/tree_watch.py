"""Watching a project's folder tree: what has changed on disk, without a delay and without a gap.

Owns: `TreeWatch`, whose `drain` delivers all that the kernel had queued before, and `TreeWatches`, the
watched roots of a daemon. Never: deciding what a change means, or which folders are ignored.

A watch is exact or it says that it is not. It is not where the system has no inotify or no watches
left, on file systems that do not tell every change, above a number of folders, and while a tree is
being scanned again because events were lost.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from app.workspace.tree_watch_folders import (
    Changes,
    FileChange,
    FolderRules,
    Missed,
    RootGone,
    Unwatchable,
    WatchedFolders,
)

__all__ = ["ChangeListener", "FileChange", "FolderRules", "TreeWatch", "TreeWatches"]

log = logging.getLogger("kaged.tree_watch")

ChangeListener = Callable[[Sequence[FileChange] | None], None]
"""Gets changes in their order; None: something may have been missed, look again."""

MAX_FOLDERS = 100_000
MAX_CHANGES = 5_000
DRAIN_SECONDS = 0.02
PAUSE_SECONDS = 0.05
SHORTEST_REPAIR, LONGEST_REPAIR = 0.1, 30.0
IDLE_SECONDS = 900.0
RETRY_SECONDS = 10.0
_generations = count(1)
"""No two states of any watch have one number."""


class _NoRules:
    """Every folder but git's own is watched."""

    def ignored(self, folder: str) -> bool:
        return folder.rpartition("/")[2] == ".git"

    def decided_by(self, change: FileChange) -> bool:
        return False


class TreeWatch:
    """One watched root, a real path. All methods on the event loop, except that `exact` may be asked
    anywhere. From `TreeWatches.open`. While `generation` is the same after a `drain`, nothing that is watched
    has changed."""

    def __init__(self, root: Path, rules_of: Callable[[Path], FolderRules], max_folders: int) -> None:
        self.root = root
        self.last_used = time.monotonic()
        self.generation = next(_generations)
        self._rules_of = rules_of
        self._max_folders = max_folders
        self._loop = asyncio.get_running_loop()
        self._folders: WatchedFolders | None = None
        self._subscribers: dict[object, ChangeListener] = {}
        self._stop = threading.Event()
        self._scanning: asyncio.Task[None] | None = None
        self._listening: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Future[None]] = set()
        self._draining = False
        self._repair_after = 0.0
        self._scanned_at = float("-inf")

    @property
    def exact(self) -> bool:
        """Whether `drain` delivers everything at this moment."""
        return self._folders is not None

    @property
    def _closed(self) -> bool:
        return self._stop.is_set()

    @property
    def has_subscribers(self) -> bool:
        return bool(self._subscribers)

    def watches(self, folder: str) -> bool:
        """Tell whether changes directly in a folder, relative to the root, are seen."""
        return self._folders is not None and folder in self._folders

    def subscribe(self, notify: ChangeListener) -> Callable[[], None]:
        """Call `notify`, on the loop, with changes from now on; return a function that ends this.

        It must be quick and must not raise; it may get a change that it has seen already.
        """
        key = object()
        self._subscribers[key] = notify
        return lambda: self._subscribers.pop(key, None) and None

    def drain(self) -> None:
        """Deliver to subscribers all that the kernel had queued before this call.

        Takes microseconds when that is nothing. When it is too much to be taken here, subscribers
        get None and the watch is not exact until the tree has been scanned again.
        """
        self.last_used = time.monotonic()
        folders = self._folders
        if folders is None or self._draining:
            return
        changes = Changes(MAX_CHANGES)
        try:
            folders.drain(changes, DRAIN_SECONDS)
            if not folders.is_in_place():
                raise RootGone("its root is another folder")
        except (Missed, RootGone) as problem:
            self._lose(str(problem))
            return
        if folders.rules_changed:
            self._lose("rules of what is ignored have changed")
        elif changes.found:
            self._notify(None if changes.too_many else changes.found)

    def look_anew(self) -> None:
        """Scan the tree again, as when rules have changed that lie outside of it."""
        if self._folders is not None:
            self._lose("rules outside of it may have changed")

    def close(self) -> None:
        """Stop watching; subscribers get None a last time."""
        if self._closed:
            return
        self._stop.set()
        if self._scanning is not None:
            self._scanning.cancel()
        self._let_go()
        self._notify(None)
        self._subscribers.clear()

    async def aclose(self) -> None:
        """Close, and wait until nothing is left of it."""
        self.close()
        if self._scanning is not None:
            with suppress(asyncio.CancelledError):
                await self._scanning
        while self._closing:
            await asyncio.wait(set(self._closing))

    async def scanned(self) -> None:
        """Begin to watch unless that is so, and wait until it is or is known to be impossible."""
        self.last_used = time.monotonic()
        idle = self._folders is None and self._scanning is None and not self._closed
        if idle and time.monotonic() - self._scanned_at > RETRY_SECONDS:
            self._scan_after(0.0)
        if self._scanning is not None and self._folders is None:
            await asyncio.wait({self._scanning})

    def _lose(self, reason: str) -> None:
        """Something was missed: say so, and scan the tree again; more slowly when that happens often."""
        log.info("a project is scanned again: %s", reason)
        self._let_go()
        calm = time.monotonic() - self._scanned_at > LONGEST_REPAIR
        self._repair_after = SHORTEST_REPAIR if calm else min(self._repair_after * 2, LONGEST_REPAIR)
        self._notify(None)
        if not self._closed and self._scanning is None:
            self._scan_after(max(self._repair_after, SHORTEST_REPAIR))

    def _scan_after(self, seconds: float) -> None:
        self._scanning = self._loop.create_task(self._scan(seconds), name=f"watch of {self.root.name}")
        self._scanning.add_done_callback(self._scan_ended)

    def _scan_ended(self, task: asyncio.Task[None]) -> None:
        self._scanning = None
        if not task.cancelled() and (problem := task.exception()) is not None:
            log.error("watching a project failed", exc_info=problem)

    async def _scan(self, delay: float) -> None:
        await asyncio.sleep(delay)
        future = self._loop.run_in_executor(None, self._scan_blocking)
        while not future.done():
            with suppress(asyncio.CancelledError):  # only `close` cancels, and it has stopped the thread
                await asyncio.wait({future})
        folders = future.result()
        self._scanned_at = time.monotonic()
        if folders is None:
            return
        if self._closed:
            self._close_in_thread(folders)
            return
        self._folders = folders
        self._listen()
        self._notify(None)

    def _scan_blocking(self) -> WatchedFolders | None:
        try:
            return WatchedFolders.scan(self.root, self._rules_of(self.root), self._max_folders, self._stop)
        except (OSError, Unwatchable, Missed) as problem:
            log.info("a project is not watched: %s", problem)
            return None

    def _listen(self) -> None:
        """Wait for events. After each the kernel keeps the next ones for a moment, so that a stream of
        writes does not wake the loop for each; `drain` does not wait for that."""
        self._listening = None
        if self._folders is not None:
            self._loop.add_reader(self._folders.inotify.descriptor, self._readable)

    def _readable(self) -> None:
        folders = self._folders
        if folders is None:
            return
        self._loop.remove_reader(folders.inotify.descriptor)
        used = self.last_used
        self._listening = self._loop.call_later(PAUSE_SECONDS, self._listen)
        self.drain()
        self.last_used = used

    def _notify(self, changes: Sequence[FileChange] | None) -> None:
        self.generation = next(_generations)
        self._draining = True
        try:
            for notify in list(self._subscribers.values()):
                try:
                    notify(changes)
                except Exception:  # one subscriber's defect is not another's
                    log.exception("a subscriber of a project's changes failed")
        finally:
            self._draining = False

    def _let_go(self) -> None:
        folders, self._folders = self._folders, None
        if self._listening is not None:
            self._listening.cancel()
            self._listening = None
        if folders is not None:
            self._loop.remove_reader(folders.inotify.descriptor)
            self._close_in_thread(folders)

    def _close_in_thread(self, folders: WatchedFolders) -> None:
        future = self._loop.run_in_executor(None, folders.close)
        self._closing.add(future)
        future.add_done_callback(self._closing.discard)


class TreeWatches:
    """The watched roots of a daemon. `rules_of` makes the rules of a root's ignored folders; it is
    called in a thread, for every scan. A root that nobody subscribes to or asks about for
    `idle_seconds` is let go. One that cannot be watched by these rules is opened by `instead`, whose
    rules leave out more; its owner closes it."""

    def __init__(
        self,
        rules_of: Callable[[Path], FolderRules] | None = None,
        *,
        max_folders: int = MAX_FOLDERS,
        idle_seconds: float = IDLE_SECONDS,
        instead: TreeWatches | None = None,
    ) -> None:
        self._instead = instead
        self._rules_of = rules_of or (lambda root: _NoRules())
        self._max_folders = max_folders
        self._idle_seconds = idle_seconds
        self._open: dict[str, TreeWatch] = {}
        self._leaving: set[asyncio.Task[None]] = set()
        self._closed = False

    async def open(self, root: Path) -> TreeWatch:
        """Return the watch of a root, links in its path followed; all callers share it.

        Never raises: where watching is not possible, `exact` is False. A watch that was let go
        stays so; who uses one now and then opens it each time, which costs nothing.
        """
        real = await asyncio.to_thread(os.path.realpath, root)
        watch = self._open.get(real)
        if watch is None:
            watch = TreeWatch(Path(real), self._rules_of, self._max_folders)
            if self._closed:
                watch.close()
                return watch
            self._open[real] = watch
            self._look_later(watch)
        await watch.scanned()
        if self._instead is not None and not watch.exact and not self._closed:
            return await self._instead.open(root)
        return watch

    def known(self, real_root: Path) -> TreeWatch | None:
        """Return the watch of a root, a real path, when there is one and it is exact."""
        watch = self._open.get(str(real_root))
        return watch if watch is not None and watch.exact else None

    async def aclose(self) -> None:
        """Close all; afterwards nothing is watched and no thread is busy."""
        self._closed = True
        watches = list(self._open.values())
        self._open.clear()
        await asyncio.gather(*(watch.aclose() for watch in watches), *self._leaving)

    def _look_later(self, watch: TreeWatch) -> None:
        asyncio.get_running_loop().call_later(self._idle_seconds, self._look, watch)

    def _look(self, watch: TreeWatch) -> None:
        if self._closed:
            return
        if watch.has_subscribers or time.monotonic() - watch.last_used < self._idle_seconds:
            self._look_later(watch)
            return
        self._open.pop(str(watch.root), None)
        leaving = asyncio.get_running_loop().create_task(watch.aclose())
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
