"""What the source files of a project declare, to be searched by what a person types.

Owns: which files have changed since they were read, which declarations may fit, and the best of them in
order. Never: reading files (`symbol_reader`).
"""

from __future__ import annotations

import re
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from app.tools.ast_grep.outline import Declared
from app.tools.search.fuzzy import MAX_QUERY, Fit, fit, fold
from app.tools.search.names_text import NamesText

MAX_FITTED = 500
"""Declarations whose score is computed, at most: first those that are called so, then those that begin so."""
MAX_LOOKED = 20_000
MAX_DECLARED = 200_000
"""Declarations in one index: of further files none are kept."""
MAX_TERMS = 8
SETTLED_NS = 2_000_000_000
"""A younger change might be followed by one that the file's time does not show."""
_BETWEEN = re.compile(r"[\s.:#/\\()]+|->")


@dataclass(frozen=True, slots=True)
class SymbolQuery:
    """What a person types: parts of a name, and before it of what is around it: `Basket.total`, `basket
    total`, `money.py format`. An `@` at the start, as of a mention, does not count."""

    name: str
    around: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> SymbolQuery | None:
        """Return None when there is no name in the text."""
        plain = fold(text[:MAX_QUERY].strip().removeprefix("@").replace("\0", ""))
        terms = [term for term in _BETWEEN.split(plain) if term][-MAX_TERMS:]
        return cls(terms[-1], tuple(terms[:-1])) if terms else None


@dataclass(frozen=True, slots=True)
class FileSymbols:
    """What one file declares; `is_whole`: nothing of it is left out."""

    declared: tuple[Declared, ...] = ()
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class SymbolHit:
    """A declaration; the positions of its fit are those in its name."""

    path: str
    declared: Declared
    fit: Fit


class SymbolIndex:
    """The declarations below one root. Blocking; for any thread."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[int, FileSymbols]] = {}
        self._unsettled: set[str] = set()
        self._made: _Made | None = None
        self._size = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many declarations there are."""
        return self._size

    @property
    def files(self) -> int:
        return len(self._files)

    def stale(self, times: Mapping[str, int]) -> list[str]:
        """Forget the files that are not there any more; return those that are to be read, the newest
        first."""
        with self._lock:
            for path in [path for path in self._files if path not in times]:
                self._drop(path)
            known = self._files
            stale = [path for path, time in times.items() if path not in known or known[path][0] != time]
        stale.sort(key=lambda path: -times[path])
        return stale

    @property
    def is_settled(self) -> bool:
        """Whether the times of all files show whether they have changed."""
        return not self._unsettled

    def put(self, read: Mapping[str, FileSymbols], times: Mapping[str, int]) -> None:
        now = time.time_ns()
        with self._lock:
            for path, symbols in read.items():
                self._drop(path)
                if self._size + len(symbols.declared) > MAX_DECLARED:
                    symbols = FileSymbols(is_whole=False)
                changed = times[path]
                if abs(now - changed) < SETTLED_NS:
                    changed = -1
                    self._unsettled.add(path)
                self._files[path] = (changed, symbols)
                self._size += len(symbols.declared)
            self._made = None

    def is_whole(self) -> bool:
        """Tell whether nothing is left out of the files that were read."""
        with self._lock:
            return all(symbols.is_whole for _, symbols in self._files.values())

    def find(self, query: SymbolQuery, most: int, accepts: Callable[[str], bool]) -> list[SymbolHit]:
        """Return the best `most` in files that `accepts` accepts. Of equals the shorter name is first."""
        with self._lock:
            if self._made is None:
                self._made = _Made({path: symbols for path, (_, symbols) in self._files.items()})
            made = self._made
        accepted: dict[str, bool] = {}

        def is_accepted(hit: SymbolHit) -> bool:
            if hit.path not in accepted:
                accepted[hit.path] = accepts(hit.path)
            return accepted[hit.path]

        return list(islice(filter(is_accepted, made.find(query, most)), most))

    def _drop(self, path: str) -> None:
        before = self._files.pop(path, None)
        self._unsettled.discard(path)
        if before is not None:
            self._size -= len(before[1].declared)
            self._made = None


class _Made:
    """All declarations in a row, with their names as one text. It never changes."""

    def __init__(self, files: Mapping[str, FileSymbols]) -> None:
        self._paths = [path for path, symbols in files.items() if symbols.declared]
        self._declared: list[Declared] = []
        self._starts: list[int] = []
        for path in self._paths:
            self._starts.append(len(self._declared))
            self._declared += files[path].declared
        self._names = NamesText([one.name for one in self._declared])

    def find(self, query: SymbolQuery, most: int) -> list[SymbolHit]:
        found: list[tuple[tuple[int, int, str, int], SymbolHit]] = []
        for place in self._possible(query.name, most):
            path, one = self._paths[bisect_right(self._starts, place) - 1], self._declared[place]
            fitted = _fit(path, one, query)
            if fitted is not None:
                key = (-fitted.score, len(one.name), path, one.line)
                found.append((key, SymbolHit(path, one, fitted)))
                if len(found) >= MAX_FITTED:
                    break
        found.sort(key=lambda one: one[0])
        return [hit for _, hit in found]

    def _possible(self, name: str, most: int) -> Iterator[int]:
        """Yield what may fit, each once, the likely ones first. Letters are looked for between others only
        while few names have them in a row."""
        seen: set[int] = set()
        row = re.escape(name)
        for expression in (rf"\x00{row}(?=\x00)", rf"\x00{row}", row, self._names.scattered(name)):
            for place in self._names.find(expression):
                if place not in seen:
                    seen.add(place)
                    yield place
                    if len(seen) >= MAX_LOOKED:
                        return
            if expression is row and len(seen) >= most:
                return


def _fit(path: str, one: Declared, query: SymbolQuery) -> Fit | None:
    own = fit(one.name, fold(one.name), (query.name,))
    if own is None or not query.around:
        return own
    around = f"{path}/{one.container or ''}"
    others = fit(around, fold(around), query.around)
    return None if others is None else Fit(own.score + others.score, own.positions)
