"""The declarations of projects that people search in.

Owns: when files are read, how long a search waits for it, and when an index is given up. Never: reading
(`symbol_reader`), or which declarations fit (`symbol_index`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from app.errors import ToolError
from app.tools.search.kept_lists import KeptLists
from app.tools.search.symbol_index import FileSymbols, SymbolHit, SymbolIndex, SymbolQuery
from app.tools.search.symbol_reader import BATCH_FILES, SymbolReader, has_symbols

log = logging.getLogger("kaged.search")

WAIT_SECONDS = 1.5
"""How long a search waits for files that have to be read first."""
UNASKED_SECONDS = 30.0
"""After how long without a search files are not read any more."""
IDLE_SECONDS = 900.0
MAX_FILES = 20_000
MAX_SYMBOLS = 400_000
"""Declarations in all indexes; the index of one project is kept in any case."""

State = Literal["ok", "pending", "none", "unavailable"]


@dataclass(frozen=True, slots=True)
class SymbolsFound:
    """The best hits first, and of how many files they are. `pending`: files are still being read; `none`: no
    file is in a language whose declarations are known; `unavailable`: files cannot be read, for `reason`."""

    hits: list[SymbolHit]
    state: State
    reason: str | None
    searched: int
    is_whole: bool


@dataclass(slots=True)
class _Root:
    """One root. Its refreshes are numbered: `ended` is the last one that has. `mark` is that of the files as
    they were read, when all were."""

    path: Path
    index: SymbolIndex = field(default_factory=SymbolIndex)
    begun: int = 0
    ended: int = 0
    refreshing: asyncio.Task[None] | None = None
    asked: float = 0.0
    listed: int = 0
    is_whole: bool = False
    mark: object = None
    problem: ToolError | OSError | None = None
    unreadable: str | None = None
    idle: asyncio.TimerHandle | None = None


class SymbolIndexes:
    """One per daemon. `kept` has the lists of files."""

    def __init__(self, kept: KeptLists, reader: SymbolReader, wait_seconds: float = WAIT_SECONDS) -> None:
        self._kept = kept
        self._reader = reader
        self._wait_seconds = wait_seconds
        self._roots: dict[Path, _Root] = {}
        self._one_batch = asyncio.Semaphore()

    async def find(
        self, root: Path, query: SymbolQuery | None, most: int, accepts: Callable[[str], bool]
    ) -> SymbolsFound:
        """Return the declarations below `root`, a real path, that fit best; none without a query, which only
        lets the files be read. `accepts` is asked in a thread.
        Files that are new or have changed are read first, as far as there is time.

        Raises ToolError and OSError when the files cannot be listed."""
        known = self._known(root)
        is_fresh = await self._refreshed(known)
        if known.problem is not None:
            raise known.problem
        index = known.index
        hits = [] if query is None else await asyncio.to_thread(index.find, query, most, accepts)
        is_whole = is_fresh and known.is_whole and await asyncio.to_thread(index.is_whole)
        state: State = "ok" if is_fresh else "pending"
        if known.unreadable is not None:
            state, is_whole = "unavailable", False
        elif is_fresh and not known.listed:
            state = "none"
        return SymbolsFound(hits, state, known.unreadable, index.files, is_whole)

    def forget(self, root: Path) -> None:
        """Give up the index of a folder that goes."""
        known = self._roots.pop(root, None)
        if known is None:
            return
        if known.idle is not None:
            known.idle.cancel()
        if known.refreshing is not None:
            known.refreshing.cancel()

    async def aclose(self) -> None:
        """Give up all; afterwards nothing is being read."""
        tasks = [one.refreshing for one in self._roots.values() if one.refreshing is not None]
        for root in list(self._roots):
            self.forget(root)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _known(self, root: Path) -> _Root:
        known = self._roots.pop(root, None) or _Root(root)
        self._roots[root] = known  # the last one asked for is the last of all
        known.asked = time.monotonic()
        if known.idle is not None:
            known.idle.cancel()
        known.idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self.forget, root)
        return known

    async def _refreshed(self, known: _Root) -> bool:
        """Wait for a refresh that begins now or later, and return whether it has ended in time."""
        wanted = known.begun + 1
        until = time.monotonic() + self._wait_seconds
        while known.ended < wanted:
            if known.refreshing is None:
                known.begun += 1
                known.refreshing = asyncio.create_task(
                    self._refresh(known, known.begun), name=f"symbols of {known.path.name}"
                )
                known.refreshing.add_done_callback(partial(_refreshing_ended, known))
            refreshing, left = known.refreshing, until - time.monotonic()
            if left <= 0 or not (await asyncio.wait({refreshing}, timeout=left))[0]:
                return False
            if not refreshing.cancelled():
                refreshing.result()
        return True

    async def _refresh(self, known: _Root, number: int) -> None:
        known.problem = None
        try:
            listed = await self._kept.files(known.path, has_symbols, known.mark)
            if listed.times is None:
                return
            known.mark, times = None, _newest(listed.times)
            known.listed, known.is_whole = len(times), listed.is_whole and len(times) == len(listed.times)
            stale = await asyncio.to_thread(known.index.stale, times)
            known.unreadable = None
            for at in range(0, len(stale), BATCH_FILES):
                async with self._one_batch:
                    read = await self._read(known, stale[at : at + BATCH_FILES])
                if read is None:
                    return
                await asyncio.to_thread(known.index.put, read, times)
            if known.index.is_settled:
                known.mark = listed.mark
            self._make_room(known)
        except (ToolError, OSError) as problem:
            known.problem = problem
        finally:
            known.ended = number

    async def _read(self, known: _Root, paths: list[str]) -> dict[str, FileSymbols] | None:
        """Return what these files declare; None when nobody asks any more, or files cannot be read."""
        if time.monotonic() - known.asked > UNASKED_SECONDS:
            return None
        try:
            return await self._reader.read(known.path, paths)
        except ToolError as problem:
            known.unreadable = problem.message
            return None

    def _make_room(self, newest: _Root) -> None:
        """Give up the indexes that were asked least lately while there is too much in all of them."""
        size = sum(len(one.index) for one in self._roots.values())
        for one in list(self._roots.values()):
            if size <= MAX_SYMBOLS:
                return
            if one is not newest and one.refreshing is None:
                size -= len(one.index)
                self.forget(one.path)


def _newest(times: dict[str, int]) -> dict[str, int]:
    if len(times) <= MAX_FILES:
        return times
    return {path: times[path] for path in sorted(times, key=lambda path: -times[path])[:MAX_FILES]}


def _refreshing_ended(known: _Root, task: asyncio.Task[None]) -> None:
    known.refreshing = None
    if not task.cancelled() and (problem := task.exception()) is not None:
        log.error("reading what files declare failed", exc_info=problem)
