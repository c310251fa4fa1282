"""The names of a project whose file list cannot be kept, from a walk of a moment ago.

Owns: how long such a walk counts, so that each letter that a person types does not cost one. Never: walking.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from app.tools.project_files.threads import to_the_end
from app.tools.search.kept_list import TimesOfFiles
from app.tools.search.name_index import NameHit, NameIndex, NameQuery
from app.workspace.folder_rules import ProjectRules

SHORTEST, LONGEST = 0.5, 10.0
PER_SECOND = 5.0
"""How many seconds a walk counts, for each that it took."""
MAX_ROOTS = 4

Walk = Callable[[Path, ProjectRules], Awaitable[tuple[list[bytes], bool]]]


@dataclass(frozen=True, slots=True)
class NamesFound:
    """The best hits first, the number of files that were searched, and whether these are all that there
    are."""

    hits: list[NameHit]
    searched: int
    is_whole: bool


@dataclass(slots=True)
class _Root:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    index: NameIndex | None = None
    size: int = 0
    is_whole: bool = False
    counts_until: float = float("-inf")


class WalkedNames:
    """`walk` returns the files below a root and whether these are all."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._roots: OrderedDict[Path, _Root] = OrderedDict()

    async def find_names(
        self, root: Path, query: NameQuery, most: int, accepts: Callable[[str], bool]
    ) -> NamesFound:
        """Return the names that fit best. Raises what the walk raises."""
        time_of = _times_below(root)
        async with self._walked(root) as (known, index):
            hits = await to_the_end(lambda: index.find(query, most, time_of, accepts), lambda _: None)
            return NamesFound(hits, known.size, known.is_whole)

    async def files(self, root: Path, wanted: Callable[[str], bool]) -> TimesOfFiles:
        """Return the wanted files with their times. Raises what the walk raises."""
        time_of = _times_below(root)
        async with self._walked(root) as (known, index):
            times = await to_the_end(lambda: index.times(wanted, time_of), lambda _: None)
            return TimesOfFiles(times, None, known.is_whole)

    @asynccontextmanager
    async def _walked(self, root: Path) -> AsyncIterator[tuple[_Root, NameIndex]]:
        known = self._roots.setdefault(root, _Root())
        self._roots.move_to_end(root)
        while len(self._roots) > MAX_ROOTS:
            self._roots.popitem(last=False)
        async with known.lock:
            if known.index is None or time.monotonic() > known.counts_until:
                began = time.monotonic()
                rules = await asyncio.to_thread(ProjectRules, root)
                paths, known.is_whole = await self._walk(root, rules)
                names = [path.decode("utf-8", "surrogateescape") for path in paths]
                known.index = await asyncio.to_thread(NameIndex, names)
                known.size, now = len(names), time.monotonic()
                known.counts_until = now + min(max(PER_SECOND * (now - began), SHORTEST), LONGEST)
            yield known, known.index


def _times_below(root: Path) -> Callable[[str], int]:
    base = f"{root}/"

    def time_of(path: str) -> int:
        try:
            return os.lstat(base + path).st_mtime_ns
        except OSError:
            return 0

    return time_of
