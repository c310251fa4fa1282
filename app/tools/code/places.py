"""Places that a server names, as this caller may see them.

Owns: taking locations apart, judging their files by the caller's cage, columns in characters and
previews, their order. Never: asking the server.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import orjson

from app.bridges.lsp.manager import Encoding, ForeignUri, LineIndex, OpenText, uri_to_path
from app.tools.code.call import CodeCall, shown_path
from app.tools.code.file_lines import lines_or_none
from app.tools.code.results import Place
from app.tools.code.texts import MAX_NUMBER, one_line, whole_number
from app.tools.view import Verdict

MAX_LOCATIONS = 50_000
MAX_PREVIEW = 300
MAX_PATH = 4_096
_IN_FILE = itemgetter(1, 2)


@dataclass(frozen=True, slots=True)
class Found:
    """A file that a server named. `parts` are below the root, None for a file elsewhere; `shown` is
    its path in answers."""

    shown: str
    parts: tuple[str, ...] | None
    verdict: Verdict


class Files:
    """The files that one answer names; each is judged and read once. Blocking."""

    def __init__(self, call: CodeCall, encoding: Encoding, *texts: OpenText) -> None:
        self._call = call
        self._workspace = call.workspace
        self._encoding = encoding
        root = call.context.project_root
        roots = (os.fspath(one) for one in (call.project.root, os.path.realpath(root), root))
        self._roots = tuple(dict.fromkeys(one.rstrip("/") for one in roots))
        self._found: dict[str, Found | None] = {}
        self._lines: dict[str, LineIndex | None] = {f"./{one.path}": one.lines for one in texts}

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the project's root open, for an answer that names many files."""
        with self._call.workspace.held() as self._workspace:
            try:
                yield
            finally:
                self._workspace = self._call.workspace

    def of_uri(self, uri: Any) -> Found | None:
        """Judge the file of a URI; None when it is none, or may not be mentioned."""
        if not isinstance(uri, str) or not uri:
            return None
        if uri not in self._found:
            self._found[uri] = self._judge(uri)
        return self._found[uri]

    def of_path(self, path: Path) -> Found:
        """Judge a path, also one that may not be mentioned."""
        parts = self._below(path)
        if parts is None:
            return Found(one_line(str(path), MAX_PATH), None, self._call.view.verdict_elsewhere())
        return Found(one_line(shown_path(parts), MAX_PATH), parts, self._call.view.verdict(parts))

    def lines(self, found: Found) -> LineIndex | None:
        """Return the lines of a file that the caller may read, None where that is not so."""
        if found.parts is None or found.verdict != "inside":
            return None
        if found.shown not in self._lines:
            path = "./" + "/".join(found.parts)
            self._lines[found.shown] = lines_or_none(self._call.tooling.lines, self._workspace, path)
        return self._lines[found.shown]

    def point(self, found: Found, position: Any) -> tuple[int, int] | None:
        """Return a position in a readable file as line from 1 and column; None where that is unknown."""
        line = line_of(position)
        if line is None:
            return None
        lines = self.lines(found)
        if lines is None or line > lines.line_count:
            return None
        at, column = lines.from_server(position, self._encoding)
        return at + 1, column

    def place(self, uri: Any, position: Any) -> Place | None:
        """Return a place as an answer shows it; None for what is none or is not mentioned."""
        found, line = self.of_uri(uri), line_of(position)
        return None if found is None or line is None else self.shown((found.shown, line, 0, found, position))

    def shown(self, location: Location) -> Place:
        """Return a place as an answer shows it."""
        path, line, _, found, position = location
        if found.verdict == "outside":
            marked = None if found.parts is None and not self._call.view.restricts else True
            beyond = True if found.parts is None else None
            return Place(path=path, line=line, outside_cage=marked, outside_project=beyond)
        lines = self.lines(found)
        if lines is None or line > lines.line_count:
            return Place(path=path, line=line)
        at, column = lines.from_server(position, self._encoding)
        preview = one_line(lines.line(at), MAX_PREVIEW)
        return Place(path=path, line=at + 1, character=column, preview=preview)

    def _judge(self, uri: str) -> Found | None:
        try:
            path = uri_to_path(uri)
        except ForeignUri:
            # A library in an archive (jar:, jdt:): it can be named, and not opened.
            found = Found(one_line(uri, MAX_PATH), None, self._call.view.verdict_elsewhere())
        else:
            found = self.of_path(path)
        return None if found.verdict == "hidden" else found

    def _below(self, path: Path) -> tuple[str, ...] | None:
        name = os.path.normpath(path)
        for root in self._roots:
            if name == root:
                return ()
            if name.startswith(root + "/"):
                return tuple(name[len(root) + 1 :].split("/"))
        return None


def line_of(position: Any) -> int | None:
    """Return the line from 1 of a position, None for what is none."""
    line = whole_number(position.get("line")) if isinstance(position, dict) else None
    return None if line is None else line + 1


def locations(answer: Any) -> list[tuple[Any, Any]]:
    """Take apart what definitions and references answer: URI and start, one after the other."""
    if isinstance(answer, dict):
        answer = [answer]
    given = answer[:MAX_LOCATIONS] if isinstance(answer, list) else []
    try:  # the usual form, of which there may be thousands
        return [(one["uri"], one["range"]["start"]) for one in given]
    except (KeyError, TypeError, IndexError):
        return [_location(one) for one in given if type(one) is dict]


def _location(one: dict[str, Any]) -> tuple[Any, Any]:
    if "targetUri" in one:
        return one["targetUri"], start_of(one.get("targetSelectionRange") or one.get("targetRange"))
    return one.get("uri"), start_of(one.get("range"))


def start_of(span: Any) -> Any:
    return span.get("start") if isinstance(span, dict) else None


def end_of(span: Any) -> Any:
    return span.get("end") if isinstance(span, dict) else None


Location = tuple[str, int, int, Found, dict[str, Any]]
"""A place before anything of its file is read: the path as shown, the line from 1, the server's column,
the file, the server's position. Plain tuples: there may be thousands, of which few are shown."""


def spots(files: Files, answer: Any) -> list[Location]:
    """Return the places of an answer, each once, by path and position; no file is read for it."""
    by_uri: dict[str, list[tuple[int, Any, dict[str, Any]]]] = {}
    for uri, position in locations(answer):
        if type(uri) is not str or type(position) is not dict:
            continue
        line = position.get("line")
        if type(line) is int and 0 <= line <= MAX_NUMBER:
            by_uri.setdefault(uri, []).append((line, position.get("character"), position))
    by_file: dict[str, list[Location]] = {}
    for uri, positions in by_uri.items():
        found = files.of_uri(uri)
        if found is None:
            continue
        # Of a file that may not be read only the line is told, so two places in one line are one.
        inside, shown = found.verdict == "inside", found.shown
        by_file.setdefault(shown, []).extend(
            [
                (shown, line + 1, column if inside and type(column) is int else 0, found, position)
                for line, column, position in positions
            ]
        )
    return [one for path in sorted(by_file) for one in _each_once(by_file[path])]


def _each_once(places: list[Location]) -> list[Location]:
    """Return the places of one file in their order."""
    places.sort(key=_IN_FILE)
    if len(places) == len({one[1:3] for one in places}):
        return places
    return [one for at, one in enumerate(places) if not at or _IN_FILE(places[at - 1]) != _IN_FILE(one)]


def listed(every: Sequence[Location]) -> bytes:
    """Return path and line of all, a line of JSON each, as the file for what is not shown has them."""
    paths = {one[0] for one in every}
    beginnings = {path: orjson.dumps({"path": path})[:-1].decode() + ',"line":' for path in paths}
    return "".join([f"{beginnings[one[0]]}{one[1]}}}\n" for one in every]).encode()
