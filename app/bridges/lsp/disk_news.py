"""The changes of a project's files on disk that a server has not been notified of.

Owns: taking them from the watch, and finding them by looking where the watch has missed some. Never: which of
them a server wants.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence, Set
from pathlib import Path

from app.bridges.lsp.known_files import KnownFiles
from app.bridges.lsp.server_sight import Sight
from app.workspace.tree_watch import FileChange, TreeWatch

MAX_NEWS = 20_000


class DiskNews:
    """Made for one run of a server; ended by `unsubscribe`."""

    def __init__(self, root: Path, watch: TreeWatch) -> None:
        self.relies_on_watch = False
        """Whether the watch sees everything, so that the server need not look by itself."""
        self._watch = watch
        self._files = KnownFiles(root)
        self._news: dict[str, FileChange] = {}
        self._missed = False
        self._known_at = time.time_ns()
        self.unsubscribe: Callable[[], None] = lambda: None

    def subscribe(self) -> None:
        self.unsubscribe = self._watch.subscribe(self._on_disk)
        self.relies_on_watch = self._watch.exact

    def scan(self) -> None:
        """Learn which files there are. Blocks."""
        self._files.scan()

    async def taken(self, opened: Set[str], sight: Sight | None) -> list[FileChange]:
        """Return what has changed since the last time and is in sight, but for the content of `opened`
        documents, which send their own changes: the server would else see these twice."""
        now = time.time_ns()
        self._watch.drain()
        missed = self._missed or (self.relies_on_watch and not self._watch.exact)
        if not (self._news or missed):
            self._known_at = now
            return []
        news, self._news, self._missed = self._news, {}, False
        since = self._known_at if missed else None
        try:
            changes = await asyncio.to_thread(self._changes, news, since, opened, sight)
        except BaseException:
            self._news, self._missed = {**news, **self._news}, self._missed or missed
            raise
        self._known_at = now
        return changes

    def _changes(
        self, news: Mapping[str, FileChange], since: int | None, opened: Set[str], sight: Sight | None
    ) -> list[FileChange]:
        """Blocks. Return what these news are; with `since` something was missed, and all that has changed
        since then is looked for."""
        changes = [change for change in self._files.taken(news.values()) if not _is_own(change, opened)]
        every = changes if since is None else changes + self._files.missed(since)
        if sight is None:
            return every
        return [change for change in every if sight.shown.allows(tuple(change.path.split("/")))]

    def _on_disk(self, changes: Sequence[FileChange] | None) -> None:
        if changes is None or len(self._news) + len(changes) > MAX_NEWS:
            self._missed = True
            self._news.clear()
            return
        for change in changes:
            before = self._news.get(change.path)
            if before is not None and before.kind == "created" and change.kind == "changed":
                continue
            if before is not None and before.kind == "deleted" and change.kind == "created":
                change = FileChange("changed", change.path, change.is_folder)
            self._news[change.path] = change


def _is_own(change: FileChange, opened: Set[str]) -> bool:
    return change.kind == "changed" and change.path in opened
