"""The files of projects for clients: a folder's entries, a file's content, names that fit.

Owns: which root, which workspace, what is kept between two requests, and errors as clients see them. Never:
writing; what agents may read (`app.tools`).
"""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from app.errors import BadRequest, Conflict, Forbidden, KagedError, NotFound, ToolError
from app.harness.files.contents import OpenFile, open_file
from app.harness.files.entry_details import DetailedEntry, detailed, modified_at
from app.harness.files.git_status import RepositoryStatus
from app.harness.files.listing import Entry, Lister, Listing, ListingStopped
from app.harness.files.roots import WorkingRoots
from app.harness.files.statuses import GitStatuses
from app.tools.authorisation.danger_places import is_secret
from app.tools.file.text_index import TextIndex
from app.tools.file.text_scan import ScannedText, scan_text
from app.tools.project_files.threads import FileThreads
from app.tools.search.kept_lists import KeptLists
from app.tools.search.name_index import NameHit, NameQuery
from app.workspace import Opened, Workspace
from app.workspace.any_names import address_of, shown
from app.workspace.ignore_rules import VERSION_CONTROL
from app.workspace.tree_rules import TreeRules

T = TypeVar("T")
MAX_LISTINGS = 16
MAX_LISTED = 600_000
"""Entries in all listings that are kept."""


@dataclass(frozen=True, slots=True)
class FileAddress:
    """A place in a project: below the folder of the project, or of the session that is named."""

    project_id: str
    path: str = "."
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Tree:
    """A page of a folder. `more`: there are further entries; `is_whole`: `total` counts all of them."""

    folder: str
    entries: list[Entry]
    details: list[DetailedEntry]
    total: int
    more: bool
    is_whole: bool
    status: RepositoryStatus


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of a text file; `file` is what they are of."""

    file: Opened
    scanned: ScannedText


@dataclass(frozen=True, slots=True)
class FoundName:
    """`path` is an address; `positions` are those in it that fit, none where it is not the path itself."""

    path: str
    name: str
    hit: NameHit
    modified_at: int | None

    @property
    def positions(self) -> list[int]:
        return list(self.hit.fit.positions) if self.path == self.hit.path else []

    @classmethod
    def of(cls, hit: NameHit, modified_at: int | None) -> FoundName:
        name = hit.path.rpartition("/")[2]
        return cls(address_of(hit.path), shown(name), hit, modified_at)


@dataclass(frozen=True, slots=True)
class FoundNames:
    names: list[FoundName]
    searched: int
    is_whole: bool


@dataclass(frozen=True, slots=True)
class _Kept:
    generation: int
    rules: TreeRules
    listing: Listing
    status: RepositoryStatus


class ProjectFileViews:
    """One per daemon. `closed` are the daemon's own places, which are neither shown nor read."""

    def __init__(
        self, roots: WorkingRoots, statuses: GitStatuses, kept: KeptLists, closed: tuple[Path, ...]
    ) -> None:
        self._roots = roots
        self._statuses = statuses
        self._names = kept
        self._closed = tuple(path.resolve() for path in closed)
        self._threads = FileThreads()
        self._index = TextIndex()
        self._listings: OrderedDict[tuple[Path, str, int, bool], _Kept] = OrderedDict()

    async def tree(
        self,
        address: FileAddress,
        *,
        depth: int,
        everything: bool,
        after: tuple[tuple[bool, str], ...] | None,
        limit: int,
    ) -> Tree:
        """Return entries of a folder and, with `depth`, of those below it. Raises `KagedError`."""
        root = await self._roots.root_of(address.project_id, address.session_id)
        generation = await self._statuses.generation(root)
        status = await self._statuses.of(root, generation)
        workspace = self._workspace(root)
        key = (root, address.path, depth, everything)
        kept = self._listings.get(key)
        counts = kept is not None and kept.generation == generation and kept.status is status
        stop = threading.Event()

        def work() -> tuple[TreeRules, Listing, list[Entry], list[DetailedEntry]]:
            with workspace.held() as held:
                if kept is not None and counts and kept.rules.still_hold():
                    rules, listing = kept.rules, kept.listing
                else:
                    rules = TreeRules(root)
                    lister = Lister(held, rules, depth=depth, everything=everything, stop=stop)
                    listing = _listed(held, address.path, lister).with_deleted(status)
                entries = listing.after(after, limit + 1)
                return rules, listing, entries, detailed(entries[:limit], held, status, listing.unreadable)

        rules, listing, entries, details = await self._run(address, work, stop)
        if generation is not None:
            self._keep(key, _Kept(generation, rules, listing, status))
        return Tree(
            listing.folder,
            entries[:limit],
            details,
            len(listing.entries),
            len(entries) > limit,
            listing.is_whole,
            status,
        )

    async def open(self, address: FileAddress, *, secrets: bool) -> OpenFile:
        """Return a file, open; without `secrets` only one that seems to hold no credentials. Raises
        `KagedError`."""
        workspace = self._workspace(await self._roots.root_of(address.project_id, address.session_id))

        def work() -> OpenFile:
            with workspace.open(address.path) as opened:
                _check_file(opened, secrets=secrets)
                return open_file(opened)

        return await self._run(address, work)

    async def located(self, address: FileAddress, *, secrets: bool) -> str:
        """Return the path of a file from the root, links followed. Raises `KagedError`, as `open` does."""
        workspace = self._workspace(await self._roots.root_of(address.project_id, address.session_id))

        def work() -> str:
            with workspace.open(address.path) as opened:
                _check_file(opened, secrets=secrets)
                return "/".join(opened.parts)

        return await self._run(address, work)

    async def text(self, address: FileAddress, *, offset: int, limit: int, secrets: bool) -> Text:
        """Return up to `limit` lines of a text file from line `offset` on, counted from 1. Raises
        `KagedError`."""
        workspace = self._workspace(await self._roots.root_of(address.project_id, address.session_id))
        stop = threading.Event()

        def work() -> Text:
            with workspace.open(address.path) as opened:
                _check_file(opened, secrets=secrets)
                return Text(opened, scan_text(opened, self._index, stop, offset=offset, limit=limit))

        found = await self._run(address, work, stop)
        if found.scanned.text_format is None:
            raise Conflict(
                f"{shown(address.path)} is no text. GET .../files/content returns its bytes.",
                reason="binary_file",
            )
        return found

    async def search(self, address: FileAddress, query: NameQuery, limit: int) -> FoundNames:
        """Return the files and folders whose names fit best. Raises `KagedError`."""
        root = await self._roots.root_of(address.project_id, address.session_id)
        workspace = self._workspace(root)
        times: dict[str, int | None] = {}

        def accepts(path: str) -> bool:
            status = status_if_shown(workspace, root, path)
            if status is not None:
                times[path] = modified_at(status)
            return status is not None

        try:
            found = await self._names.find_names(root, query, limit, accepts)
        except (ToolError, OSError) as problem:
            raise not_searched(problem) from None
        names = [FoundName.of(hit, times[hit.path]) for hit in found.hits]
        return FoundNames(names, found.searched, found.is_whole)

    async def aclose(self) -> None:
        """End what is under way; afterwards nothing is."""
        await self._statuses.aclose()

    def _workspace(self, root: Path) -> Workspace:
        return Workspace(root, closed=self._closed, any_name=True)

    async def _run(
        self, address: FileAddress, work: Callable[[], T], stop: threading.Event | None = None
    ) -> T:
        """Run `work` in a thread; each project has a few at a time. `stop` is set when nobody waits."""
        try:
            return await self._threads.run(address.project_id, work)
        except asyncio.CancelledError:
            if stop is not None:
                stop.set()
            raise
        except ToolError as problem:
            raise as_client_sees(problem) from None

    def _keep(self, key: tuple[Path, str, int, bool], kept: _Kept) -> None:
        """Keep a listing while all changes to it are seen."""
        before = self._listings.pop(key, None)
        is_known = before is not None and before.listing is kept.listing
        if not is_known and not self._statuses.sees(key[0], kept.listing.visited):
            return
        self._listings[key] = kept
        size = sum(len(one.listing.entries) for one in self._listings.values())
        while len(self._listings) > MAX_LISTINGS or size > MAX_LISTED:
            _, oldest = self._listings.popitem(last=False)
            size -= len(oldest.listing.entries)


def _listed(workspace: Workspace, path: str, lister: Lister) -> Listing:
    with workspace.open(path) as opened:
        if not opened.is_directory:
            message = f"{path} is a file; its content is at files/content"
            raise ToolError("not_a_folder", message, detail={"path": path})
        try:
            return lister.listing(opened)
        except ListingStopped:
            raise ToolError("stopped", "nobody waits for this any more") from None
        except OSError as problem:
            raise ToolError("access_denied", f"{path}: {problem.strerror}") from None


def _check_file(opened: Opened, *, secrets: bool) -> None:
    path = "/".join(opened.parts)
    if opened.is_directory:
        message = f"{path or '.'} is a folder; its entries are at files"
        raise ToolError("is_a_folder", message, detail={"path": path})
    if not secrets and (is_secret(path) or not set(VERSION_CONTROL).isdisjoint(opened.parts)):
        message = f"{path} may hold credentials, which a read-only token does not get to read"
        raise ToolError("secret_file", message, detail={"path": path})


def not_searched(problem: ToolError | OSError) -> KagedError:
    """Return the error of a list of files that cannot be made."""
    if isinstance(problem, ToolError):
        return as_client_sees(problem)
    return Conflict(f"The project cannot be searched: {problem.strerror}.", reason="io_error")


def status_if_shown(workspace: Workspace, root: Path, path: str) -> os.stat_result | None:
    """Look at what is to be shown once more; closed places are not shown. Blocks."""
    if not workspace.may_read(tuple(path.split("/"))):
        return None
    try:
        status = os.lstat(f"{root}/{path}")
    except OSError:
        return None
    linked = status.st_nlink > 1 and stat.S_ISREG(status.st_mode)
    if linked and (status.st_dev, status.st_ino) in workspace.closed_with_further_names():
        return None
    return status


_FORBIDDEN = frozenset({"capability_denied", "access_denied", "secret_file"})


def as_client_sees(problem: ToolError) -> KagedError:
    """Return the error of a file tool as one of the interface."""
    message = problem.message.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    # A path at the begin keeps its letters.
    begins = message.startswith(tuple(f"{problem.detail.get('path')}{end}" for end in (": ", " ")))
    message = f"{message}." if begins else f"{message[:1].upper()}{message[1:]}."
    if problem.code == "file_not_found":
        return NotFound(message, reason="file_not_found")
    if problem.code == "invalid_path":
        return BadRequest(message, reason=str(problem.detail.get("reason", "invalid_path")))
    if problem.code in _FORBIDDEN:
        return Forbidden(message, reason=problem.code)
    return Conflict(message, reason=problem.code)
