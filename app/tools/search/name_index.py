"""The names of a project's files and folders, to be searched by what a person types.

Owns: which names may fit, quickly, and the best of them in order. Never: how well one fits (`fuzzy`), or
which files there are (`kept_list`).

All names are in one text, which regular expressions go through at once. Few changes are kept beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice

from app.tools.search.fuzzy import MAX_QUERY, Fit, fit, fold
from app.tools.search.names_text import NamesText

MAX_FITTED = 500
"""Names whose score is computed, at most: first those whose own name begins with what was typed."""
MAX_CHANGES = 1_000
MAX_TERMS = 8


@dataclass(frozen=True, slots=True)
class NameQuery:
    """What a person types: terms between blanks, all of which must fit. An `@` at the start, as of a mention,
    does not count. With one of `files` and `folders` the others are left out."""

    terms: tuple[str, ...]
    files: bool = True
    folders: bool = True

    @classmethod
    def parse(cls, text: str, *, files: bool = True, folders: bool = True) -> NameQuery:
        plain = fold(text[:MAX_QUERY].strip().removeprefix("@").replace("\0", ""))
        terms = [term.removeprefix("./") for term in plain.split()][:MAX_TERMS]
        return cls(tuple(term for term in terms if term), files, folders)

    def wants(self, entry: str) -> bool:
        return self.folders if entry.endswith("/") else self.files


@dataclass(frozen=True, slots=True)
class NameHit:
    """A file or folder; `positions` are the indexes of the letters that fit."""

    path: str
    is_folder: bool
    fit: Fit


class NameIndex:
    """Files by their paths below the root, and the folders above them. A folder that has lost its files may
    still be found. One thread at a time."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._removed: set[str] = set()
        self._added: dict[str, None] = {}
        self._fill(paths)

    def _fill(self, paths: Iterable[str]) -> None:
        files = list(paths)
        self._files = set(files)
        self._entries = [*_folders(files), *files]
        self._known = set(self._entries)
        self._paths = NamesText(self._entries)
        self._names = NamesText([entry.rstrip("/").rpartition("/")[2] for entry in self._entries])

    def add(self, path: str) -> None:
        self._files.add(path)
        for entry in (path, *_folders([path])):
            self._removed.discard(entry)
            if entry not in self._known:
                self._added[entry] = None

    def discard(self, path: str) -> None:
        self._files.discard(path)
        self._added.pop(path, None)
        if path in self._known:
            self._removed.add(path)

    def times(self, wanted: Callable[[str], bool], time_of: Callable[[str], int]) -> dict[str, int]:
        """Return the files that are wanted with their times."""
        return {path: time_of(path) for path in self._files if wanted(path)}

    def find(
        self,
        query: NameQuery,
        most: int,
        time_of: Callable[[str], int],
        accepts: Callable[[str], bool],
    ) -> list[NameHit]:
        """Return the best `most` that `accepts` accepts. Of equals the shorter name is first, then what was
        changed last by `time_of`. Without terms the files that were changed last."""
        if len(self._added) + len(self._removed) > MAX_CHANGES:
            self._added, self._removed = {}, set()
            self._fill(sorted(self._files))
        hits = self._newest(query, time_of) if not query.terms else self._fitting(query, most, time_of)
        return list(islice((hit for hit in hits if accepts(hit.path)), most))

    def _newest(self, query: NameQuery, time_of: Callable[[str], int]) -> Iterator[NameHit]:
        files = nlargest(MAX_FITTED, self._files, key=time_of) if query.files else []
        return (NameHit(path, False, Fit(0, ())) for path in files)

    def _fitting(self, query: NameQuery, most: int, time_of: Callable[[str], int]) -> Iterator[NameHit]:
        found: list[tuple[tuple[int, int, int, str], NameHit]] = []
        for entry in self._possible(query, most):
            if entry in self._removed or not query.wants(entry):
                continue
            fitted = fit(entry, fold(entry), query.terms)
            if fitted is not None:
                is_folder = entry.endswith("/")
                path = entry.rstrip("/")
                name = len(path) - path.rfind("/") - 1
                time = 0 if is_folder else time_of(path)
                score = fitted.score - is_folder
                found.append(((-score, name, -time, path), NameHit(path, is_folder, fitted)))
        found.sort(key=lambda one: one[0])
        return (hit for _, hit in found)

    def _possible(self, query: NameQuery, most: int) -> Iterator[str]:
        """Yield entries that may fit, each once, the likely ones first. Paths are gone through only while
        few fit by their own name: that counts more."""
        yield from list(self._added)
        seen: set[int] = set()
        for tier, enough in self._tiers(query.terms, most):
            if len(seen) >= enough:
                continue
            for place in tier:
                if place not in seen and query.wants(self._entries[place]):
                    seen.add(place)
                    yield self._entries[place]
                    if len(seen) >= MAX_FITTED:
                        return

    def _tiers(self, terms: tuple[str, ...], most: int) -> Iterator[tuple[Iterator[int], int]]:
        """Yield places that may fit, and from how many known ones on they are not needed."""
        first = max(terms, key=len)
        others = [term for term in terms if term is not first]
        if not others and "/" not in first:
            yield self._names.find("\0" + _in_a_row(first)), MAX_FITTED
            yield self._names.find(_in_a_row(first)), MAX_FITTED
            yield self._names.find(self._names.scattered(first)), MAX_FITTED
        paths, text = self._paths, self._paths.of
        in_a_row = paths.find(_in_a_row(first))
        yield (place for place in in_a_row if not others or _has_all(text(place), others)), most
        tests = [re.compile(paths.scattered(term)).search for term in others]
        scattered = paths.find(paths.scattered(first))
        # Whoever has typed a part of a name does not look for its letters elsewhere.
        yield (place for place in scattered if all(test("\0" + text(place)) for test in tests)), 1


def _has_all(text: str, terms: list[str]) -> bool:
    return all(term in text for term in terms)


def _in_a_row(term: str) -> str:
    return re.escape(term)


def _folders(paths: Iterable[str]) -> list[str]:
    """Return the folders above some files, each with a slash at its end."""
    found: dict[str, None] = {}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and f"{folder}/" not in found:
            found[f"{folder}/"] = None
            folder = folder.rpartition("/")[0]
    return list(found)
