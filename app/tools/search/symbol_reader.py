"""Reads what source files declare, by their syntax trees: no language server, nothing of the project runs.

Owns: which files are read, after the path check, and the bounds of one batch. Never: what is kept of it
(`symbol_index`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from sys import intern

from app.errors import ToolError
from app.tools.ast_grep.declarations import declarations
from app.tools.ast_grep.engine import AstGrep
from app.tools.ast_grep.found import Found
from app.tools.ast_grep.languages import LanguageName, extension_of, language_of
from app.tools.ast_grep.outline import Declared, outline
from app.tools.ast_grep.snapshot import Snapshot, parsed_text, snapshot
from app.tools.authorisation.danger_places import is_secret
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.text_format import is_utf8
from app.tools.project_files.threads import held_open, to_the_end
from app.tools.search.symbol_index import FileSymbols
from app.workspace import Workspace

BATCH_FILES = 250
BATCH_SECONDS = 10.0
MAX_FILE_BYTES = 512 * 1024
MAX_LINE_BYTES = 10_000
"""A file with a longer line was written by a program: the names in it are nobody's."""
MAX_SYMBOLS = 2_000
"""Declarations of one file."""
MAX_OUTPUT = 64 * 1024 * 1024
"""Characters that ast-grep may print of one batch."""


def has_symbols(path: str) -> bool:
    """Tell by its name whether a file may declare something that can be known."""
    language = language_of(path)
    return language is not None and declarations(language) is not None and not is_secret(path)


class SymbolReader:
    """`closed` are the daemon's own places, which are not read."""

    def __init__(self, processes: CallProcesses, engine: AstGrep) -> None:
        self._processes = processes
        self._engine = engine

    async def read(self, root: Path, paths: Sequence[str]) -> dict[str, FileSymbols]:
        """Return what these files below `root`, a real path, declare; a batch at most. Raises ToolError
        `engine_unavailable` and `cage_unavailable`."""
        engine = self._engine.started_by(await self._processes.of_project(root, caged=False))
        workspace = Workspace(root, closed=self._processes.closed, any_name=True)
        async with (
            held_open(lambda held: held.enter_context(workspace.open("."))) as opened,
            snapshot(self._processes.snapshots) as folder,
        ):
            sorted_out = await to_the_end(partial(_sorted_out, workspace, paths, folder), lambda _: None)
            until = asyncio.get_running_loop().time() + BATCH_SECONDS
            read = sorted_out.without
            for place, names in ((opened.descriptor, sorted_out.plain), (folder.folder, sorted_out.copies)):
                for language, of_language in _by_language(names).items():
                    harvest = await _searched(engine, place, language, of_language, until)
                    read |= await asyncio.to_thread(harvest.symbols, names)
        return read


@dataclass(slots=True)
class _SortedOut:
    """The files of a batch: by the names under which ast-grep reads them, in place and as copies, and those
    without declarations."""

    plain: dict[str, str] = field(default_factory=dict)
    copies: dict[str, str] = field(default_factory=dict)
    without: dict[str, FileSymbols] = field(default_factory=dict)


def _sorted_out(workspace: Workspace, paths: Sequence[str], folder: Snapshot) -> _SortedOut:
    """Look at each file: ast-grep passes over what is not UTF-8, and cannot say such a name. Blocking."""
    found = _SortedOut()
    with workspace.held() as held:
        for path in paths:
            try:
                content = _content(held, path)
            except (ToolError, OSError):
                content = None  # it went away, is no file any more, or is nobody's to read
            if content is not None and path.isprintable() and is_utf8(content) and b"\0" not in content:
                found.plain[path] = path
            elif content is not None and (parsed := parsed_text(content)) is not None:
                found.copies[folder.add(parsed[0], extension_of(path))] = path
            else:
                found.without[path] = FileSymbols(is_whole=content is not None)
    return found


def _content(workspace: Workspace, path: str) -> bytes | None:
    """Return the content of a file that people have written, None of others."""
    with workspace.open(f"./{path}") as opened:
        if opened.is_directory or opened.status.st_size > MAX_FILE_BYTES:
            return None
        content = os.pread(opened.descriptor, MAX_FILE_BYTES + 1, 0)
    if len(content) > MAX_FILE_BYTES:
        return None
    if len(content) > MAX_LINE_BYTES and max(map(len, content.split(b"\n"))) > MAX_LINE_BYTES:
        return None
    return content


def _by_language(names: Iterable[str]) -> dict[LanguageName, list[str]]:
    by_language: dict[LanguageName, list[str]] = {}
    for name in names:
        language = language_of(name)
        if language is not None:
            by_language.setdefault(language, []).append(name)
    return by_language


class _Harvest:
    """What was found in the copies of one language; `failed` are those of which something may be missing."""

    def __init__(self, names: Sequence[str]) -> None:
        self._found: dict[str, list[Found]] = {name: [] for name in names}
        self._size = 0
        self.failed: set[str] = set()

    def take(self, matches: list[Found]) -> bool:
        for one in matches:
            self._size += 2 * len(one.text)
            known = self._found[one.file.removeprefix("./")]
            if len(known) <= MAX_SYMBOLS:
                known.append(one)
        return self._size <= MAX_OUTPUT

    def symbols(self, paths: Mapping[str, str]) -> dict[str, FileSymbols]:
        """Blocking."""
        symbols = {}
        for name, found in self._found.items():
            declared = tuple(map(_shared, outline(found[:MAX_SYMBOLS])))
            is_whole = name not in self.failed and len(found) <= MAX_SYMBOLS
            symbols[paths[name]] = FileSymbols(declared, is_whole)
        return symbols


async def _searched(
    engine: AstGrep, folder: int | Path, language: LanguageName, names: Sequence[str], until: float
) -> _Harvest:
    query = declarations(language)
    assert query is not None
    harvest = _Harvest(names)
    outcome = await engine.search(folder, names, query, deadline=until, take=harvest.take)
    failed = names if outcome.ending != "complete" else outcome.failed
    harvest.failed = {name.removeprefix("./") for name in failed}
    return harvest


def _shared(one: Declared) -> Declared:
    """Return the same with texts that are kept once: most names stand in several files."""
    container = None if one.container is None else intern(one.container)
    return Declared(intern(one.name), intern(one.kind), one.line, one.column, one.end_line, container)
