"""One run of a server with all that belongs to it: connection, documents, diagnostics, readiness.

Owns: the listeners to the server, and its notifications of changes on disk. Never: the
decision to start or end a run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from app.bridges.lsp.companion import open_connection
from app.bridges.lsp.connection import Connection, Hooks, ServerEnded
from app.bridges.lsp.diagnostics import Diagnostics
from app.bridges.lsp.disk_news import DiskNews
from app.bridges.lsp.documents import Decode, OpenDocuments, OpenText
from app.bridges.lsp.file_uris import path_to_uri
from app.bridges.lsp.readiness import Bell, Readiness
from app.bridges.lsp.resolution import ResolvedServer
from app.bridges.lsp.server_places import ServerPlace
from app.bridges.lsp.server_sight import Sight
from app.bridges.lsp.watched import KINDS, WatchedGlobs
from app.bridges.lsp.whole_project import WholeProject
from app.bridges.rpc.peer import ResponseError
from app.workspace import RootFolder
from app.workspace.tree_watch import FileChange, TreeWatch

MAX_SHOWN = 50
MAX_UNSENT = 1_000
SCAN_SECONDS = 3.0
"""How long a server is given to look for new files; it does not where it does not take them for its own."""
_NOTHING = "$/nothing"
"""A method that no server knows: the refusal shows that it has taken all that was sent before."""
LATE_SECONDS = 0.5
MAX_EARLY = 1_000
MAX_EARLY_BYTES = 1024 * 1024


class ServerRun:
    """A started server. Made by `begin`; ended through its `connection`, then `forget`."""

    def __init__(self, server: ResolvedServer, project: RootFolder, watch: TreeWatch) -> None:
        self.server = server
        self.bell = Bell()
        self.readiness = Readiness(server.behaviour, self.bell)
        self.changes = 0
        self.connection: Connection
        self.documents: OpenDocuments
        self.diagnostics: Diagnostics
        self.whole: WholeProject
        self._project = project
        self._disk = DiskNews(project.path, watch)
        self._pending: list[FileChange] = []
        self._late = _Late()
        self._telling = asyncio.Lock()
        self._early: list[tuple[str, Any, int]] = []
        self.sight: Sight | None = None
        """What of the project its cage shows, None where that is all of it."""

    async def begin(
        self,
        place: ServerPlace,
        root: Path,
        decode: Decode,
        language_id: Callable[[str], str | None],
        spawned: Callable[[], None],
        seconds: float,
        contents: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        """Start the server; `spawned` is called when its process runs. `contents` stand in place of what
        files hold on disk. Raises ServerEnded."""
        self.sight = place.sight
        self._disk.subscribe()
        scanning = asyncio.create_task(asyncio.to_thread(self._disk.scan), name="files for a server")
        try:
            self.connection = await open_connection(
                place,
                self.server,
                root,
                Hooks(spawned, self._notified, self._refreshed),
                watches_files=self._disk.relies_on_watch,
                seconds=seconds,
            )
            self._take_up(decode, language_id, contents)
            await scanning
        except BaseException:
            self._disk.unsubscribe()
            scanning.cancel()
            raise

    def _take_up(
        self, decode: Decode, language_id: Callable[[str], str | None], contents: Mapping[str, bytes]
    ) -> None:
        self.documents = OpenDocuments(
            self._project, decode, language_id, self.connection, self.sight, contents
        )
        self.diagnostics = Diagnostics(
            self.connection, self.documents, self.server.behaviour, self.bell, self.readiness
        )
        self.whole = WholeProject(
            self.connection, self.documents, self.diagnostics, self.server.behaviour, self.bell
        )
        self.documents.opened = self._opened
        self.documents.saved = self._saved
        self.documents.previewed = self._previewed
        self.documents.closed = self.diagnostics.closed
        self.connection.capabilities.changed = self.bell.ring
        early, self._early = self._early, []
        for method, params, _ in early:
            self.diagnostics.notified(method, params)

    async def document(self, path: str) -> OpenText:
        await self._notify_of_files()
        return await self.documents.get(path)

    async def synchronise(self) -> None:
        """Tell the server whatever changed on disk."""
        await self._notify_of_files()
        await self.documents.synchronise()

    async def loaded(self, deadline: float, load_seconds: float) -> bool:
        """Wait until the project is loaded, and return whether it is. A first load may take longer than the
        `deadline`."""
        return await self.readiness.wait(max(deadline, self.readiness.begun_at + load_seconds))

    def load_seconds_left(self, load_seconds: float) -> float:
        return max(0.0, self.readiness.begun_at + load_seconds - time.monotonic())

    async def scanned(self, deadline: float) -> None:
        """Wait until the server has looked for the files announced since its last scan. A scan that
        it began before counts those for gone that it has not found."""
        if self.readiness.unscanned is None:
            return
        unscanned = self.readiness.unscanned
        await self._caught_up(deadline)
        count = self.readiness.scans
        until = min(deadline, time.monotonic() + SCAN_SECONDS)
        if not await self.bell.until(lambda: self.readiness.scans > count, until):
            await self._caught_up(deadline)  # a server without a processor looks when it gets one
        if self.readiness.unscanned == unscanned:
            self.readiness.unscanned = None

    async def _caught_up(self, deadline: float) -> None:
        """Wait until the server has taken all that was sent, and has done what was due by then."""
        with suppress(ResponseError, TimeoutError):
            async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
                await self.connection.request(_NOTHING, None)

    def forget(self, reason: ServerEnded) -> None:
        """End the run; every waiter gets the reason."""
        self._disk.unsubscribe()
        self.bell.end(reason)

    def _notified(self, method: str, params: Any, size: int) -> None:
        if hasattr(self, "whole") and self.whole.notified(method, params):
            return
        self.readiness.notified(method, params)
        if hasattr(self, "diagnostics"):
            self.diagnostics.notified(method, params)
        elif len(self._early) < MAX_EARLY and sum(early[2] for early in self._early) < MAX_EARLY_BYTES:
            self._early.append((method, params, size))

    def _refreshed(self) -> None:
        self.bell.ring()

    def _opened(self) -> None:
        self.changes += 1
        self.readiness.document_opened()

    def _saved(self, path: str) -> None:
        self.changes += 1
        self.diagnostics.something_changed((path,))

    def _previewed(self, paths: Iterable[str]) -> None:
        self.changes += 1
        self.diagnostics.something_changed(paths)

    async def _notify_of_files(self) -> None:
        # One at a time: who comes second must not overtake what the first is about to tell.
        async with self._telling:
            self._pending += await self._disk.taken(set(self.documents.paths()), self.sight)
            unsent = self._late.unsent
            late = unsent and self.connection.capabilities.watched() is not self._late.watched
            if self._pending or late:
                await self._notify([*unsent, *self._pending])
                self._pending.clear()

    async def _notify(self, changes: list[FileChange]) -> None:
        until = time.monotonic() + LATE_SECONDS
        capabilities = self.connection.capabilities
        while changes:
            watched = self._late.watched = capabilities.watched()
            news = await asyncio.to_thread(self._events, watched, changes)
            if news.events:
                self.connection.notify("workspace/didChangeWatchedFiles", {"changes": news.events})
            if self.server.behaviour.new_files.scans_late and any(
                one.kind == "created" for one in news.files
            ):
                self.readiness.unscanned = time.monotonic()
            if news.events or news.files:
                self.changes += 1
                self.diagnostics.something_changed([change.path for change in news.files])
            for uri in news.saved:
                self.connection.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
            if self.server.behaviour.new_files.shown:
                new = (change.path for change in news.files if change.kind == "created")
                for path in islice(new, MAX_SHOWN):
                    await self.documents.show(path)
            if not self.server.behaviour.new_files.watches_late:
                return
            # Files that it has read and does not watch yet.
            changes = news.unwanted
            self._late.unsent = changes[:MAX_UNSENT]
            if not changes or not await self.bell.until(lambda: capabilities.watched() is not watched, until):  # noqa: B023
                return

    def _events(self, watched: WatchedGlobs, changes: Sequence[FileChange]) -> _News:
        """Blocks."""
        news = _News([], [], [], [])
        for change in changes:
            absolute = self._project.path / change.path
            wanted = watched.wants(absolute, change.kind)
            if wanted:
                news.events.append({"uri": path_to_uri(absolute), "type": KINDS[change.kind]})
            if self.documents.knows(change.path) or absolute.suffix in self.server.behaviour.reads_too:
                news.files.append(change)
                if not wanted:
                    news.unwanted.append(change)
            if absolute.name in self.server.behaviour.config.saved:
                news.saved.append(path_to_uri(absolute))
        return news


@dataclass(slots=True)
class _Late:
    """Changes that a server did not want when it watched these files; it may want them later."""

    watched: WatchedGlobs | None = None
    unsent: list[FileChange] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _News:
    """Changes of files, sorted for one server.

    `events`: notifications that the server asked for. `files`: changes of files that the server reads.
    `unwanted`: those of `files` that it did not ask for. `saved`: URIs of changed configuration files, which
    get a save notification."""

    events: list[dict[str, Any]]
    files: list[FileChange]
    unwanted: list[FileChange]
    saved: list[str]
