"""Places that a server names, as this caller may see them.

Owns: taking locations apart, judging their files by the caller's cage, columns in characters and
previews. Never: asking the server, or the order of many (`place_list`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.bridges.lsp.manager import Encoding, ForeignUri, LineIndex, OpenText, convert_line, uri_to_path
from app.tools.code.call import CodeCall, shown_path
from app.tools.code.file_lines import lines_or_none
from app.tools.code.results import Place
from app.tools.processes.foreign_text import one_line, whole_number
from app.tools.project_files.view import Verdict

MAX_PREVIEW = 300
MAX_PATH = 4_096


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

    def anywhere(self, uri: Any) -> tuple[str, ...] | None:
        """Return a file's parts below the root, whether or not it may be mentioned; None for one
        elsewhere."""
        try:
            return self._below(uri_to_path(uri)) if isinstance(uri, str) else None
        except ForeignUri:
            return None

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
        if found is None or line is None:
            return None
        column = position.get("character")
        return self.shown(found, line - 1, column if type(column) is int else 0)

    def shown(self, found: Found, line: int, column: int) -> Place:
        """Return a place as an answer shows it. `line` and `column` are the server's, from 0."""
        if found.verdict == "outside":
            marked = None if found.parts is None and not self._call.view.restricts else True
            beyond = True if found.parts is None else None
            return Place(path=found.shown, line=line + 1, outside_cage=marked, outside_project=beyond)
        lines = self.lines(found)
        if lines is None or line >= lines.line_count:
            return Place(path=found.shown, line=line + 1)
        text = lines.line(line)
        preview = one_line(text, MAX_PREVIEW)
        character = convert_line(text, column, self._encoding)
        return Place(path=found.shown, line=line + 1, character=character, preview=preview)

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


def start_of(span: Any) -> Any:
    return span.get("start") if isinstance(span, dict) else None


def end_of(span: Any) -> Any:
    return span.get("end") if isinstance(span, dict) else None
