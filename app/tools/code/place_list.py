"""Thousands of places of one answer: each once, by path and position, few of them ever shown.

Owns: taking an answer's locations apart, their order, the part that is asked for, the whole list as lines.
Never: how one place is shown, or whether it may be (`places`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import orjson

from app.tools.code.places import Files, Found, start_of
from app.tools.processes.foreign_text import MAX_NUMBER

MAX_LOCATIONS = 50_000
Point = tuple[int, int]
"""Line and column of a server, both from 0. Plain tuples: most are only sorted and counted."""


@dataclass(frozen=True, slots=True)
class _FilePlaces:
    found: Found
    points: list[Point]


class PlaceList:
    """The places that an answer names and its caller may hear of. No file is read for it."""

    def __init__(self, files: Files, answer: Any) -> None:
        merged: dict[str, _FilePlaces] = {}
        for uri, points in _by_uri(answer).items():
            found = files.of_uri(uri)
            if found is None:
                continue
            if found.verdict != "inside":
                # Of a file that may not be read only the line is shown: two places in one line are one.
                points = [(line, 0) for line, _ in points]
            merged.setdefault(found.shown, _FilePlaces(found, [])).points.extend(points)
        self._files = [merged[path] for path in sorted(merged)]
        for one in self._files:
            one.points.sort()
            if len(set(one.points)) != len(one.points):
                one.points[:] = dict.fromkeys(one.points)

    def __len__(self) -> int:
        return sum(len(one.points) for one in self._files)

    def part(self, offset: int, most: int) -> Iterator[tuple[Found, int, int]]:
        """Yield up to `most` places from `offset` on: the file, the server's line and column."""
        for one in self._files:
            if offset >= len(one.points):
                offset -= len(one.points)
                continue
            for line, column in islice(one.points, offset, offset + most):
                yield one.found, line, column
            most -= min(most, len(one.points) - offset)
            offset = 0

    def add_outside(self, other: PlaceList) -> None:
        """Add those places of `other` that lie in the project and outside of the caller's cage."""
        here = {one.found.shown for one in self._files}
        new = [
            one
            for one in other._files
            if one.found.verdict == "outside" and one.found.parts is not None and one.found.shown not in here
        ]
        self._files = sorted([*self._files, *new], key=lambda one: one.found.shown)

    def add(self, other: PlaceList) -> None:
        """Add the places of `other`, each once."""
        here = {one.found.shown: one for one in self._files}
        for one in other._files:
            mine = here.get(one.found.shown)
            if mine is None:
                self._files.append(one)
            else:
                mine.points[:] = sorted({*mine.points, *one.points})
        self._files.sort(key=lambda one: one.found.shown)

    def leave_out(self, other: PlaceList) -> None:
        """Leave out the one place of `other`, a declaration: where it begins before its name (`function f`),
        the first place in its line. Where `other` has several, one may be meant here: all stay."""
        if len(other) != 1:
            return
        ((found, line, column),) = other.part(0, 1)
        for one in self._files:
            if one.found.shown == found.shown:
                named = [point for point in one.points if point[0] == line and point[1] >= column]
                one.points[:] = [point for point in one.points if point not in named[:1]]

    def as_lines(self) -> bytes:
        """Return the lines of all, a line of JSON for each file."""
        every = ((one.found.shown, [line + 1 for line, _ in one.points]) for one in self._files)
        return b"".join(orjson.dumps({"path": path, "lines": lines}) + b"\n" for path, lines in every)


def _by_uri(answer: Any) -> dict[str, list[Point]]:
    """Take apart what definitions and references answer; what is no place is left out."""
    given = _listed(answer)
    by_uri: defaultdict[str, list[Point]] = defaultdict(list)
    try:  # the usual form, of which there may be thousands
        for one in given:
            start = one["range"]["start"]
            by_uri[one["uri"]].append((start["line"], start["character"]))
        if _are_points(by_uri):
            return by_uri
    except (KeyError, TypeError, IndexError):
        pass
    by_uri.clear()
    for uri, position in locations(given):
        if type(uri) is not str or type(position) is not dict:
            continue
        line, column = position.get("line"), position.get("character")
        if type(line) is int and 0 <= line <= MAX_NUMBER:
            by_uri[uri].append((line, column if type(column) is int else 0))
    return by_uri


def _are_points(by_uri: dict[str, list[Point]]) -> bool:
    every = [*chain.from_iterable(by_uri.values())]
    numbers = [*chain.from_iterable(every)]
    if not numbers:
        return True
    whole = set(map(type, by_uri)) == {str} and set(map(type, numbers)) == {int}
    return whole and min(numbers) >= 0 and max(numbers) <= MAX_NUMBER


def locations(answer: Any) -> list[tuple[Any, Any]]:
    """Take apart what definitions and references answer: URI and start, one after the other."""
    return [_location(one) for one in _listed(answer) if type(one) is dict]


def _listed(answer: Any) -> list[Any]:
    if isinstance(answer, dict):
        return [answer]
    return answer[:MAX_LOCATIONS] if isinstance(answer, list) else []


def _location(one: dict[str, Any]) -> tuple[Any, Any]:
    if "targetUri" in one:
        return one["targetUri"], start_of(one.get("targetSelectionRange") or one.get("targetRange"))
    return one.get("uri"), start_of(one.get("range"))
