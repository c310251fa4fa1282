"""The files in which a rename can leave errors, and the servers that know them.

Owns: finding these, the most likely ones first. Never: looking for errors in them.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from app.bridges.lsp.manager import LanguageServer, LineIndex
from app.errors import ToolError
from app.tools.code.call import CodeCall
from app.tools.code.crossed import Crossed, Declaration
from app.tools.code.crossing import declared_at
from app.tools.code.importers import BY_FOLDER, importers
from app.tools.code.position import Position
from app.tools.code.word_hits import WordHits, word_hits

SEARCH_SECONDS = 1.0
_OF_MODULE = re.compile(
    r"(?:async\s+)?def\s+|class\s+|(?:func|type|var|const)\s+"
    r"|(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+|async\s+|const\s+)?"
    r"(?:function\b[\s*]*|(?:class|interface|type|enum|const|let|var|namespace)\s+)"
)
"""What stands before a name that a line without indentation declares."""
MAX_IMPORTERS = 200


@dataclass(frozen=True, slots=True)
class Renaming:
    """A rename of the word at a position, which the files of `hits` hold, and the servers asked about it."""

    call: CodeCall
    server: LanguageServer
    position: Position
    new_name: str
    hits: WordHits
    beside: Crossed


async def concerned(renaming: Renaming, contents: Mapping[str, bytes]) -> tuple[list[str], bool]:
    """Return the files that the rename changes, then others that hold the old or the new name or import a
    changed one; and whether these are all, as far as is known. Files that no server has looked at are left
    out: the caller has confirmed those that matter."""
    call, server = renaming.call, renaming.server
    declared = renaming.beside.declaration
    if declared is None:
        with suppress(ToolError):
            declared = await declared_at(call, server, renaming.position)
    first = renaming.position.text.path if declared is None else declared.path
    changed = sorted(contents, key=lambda name: (name != first, name))
    holding = dict.fromkeys(renaming.hits.names)
    importing: dict[str, None] = {}
    complete = False
    with suppress(TimeoutError):
        async with asyncio.timeout(SEARCH_SECONDS):
            holding |= dict.fromkeys((await word_hits(call, server, renaming.new_name)).names)
            if declared is None or not _is_of_module(server, declared):
                importing |= dict.fromkeys(await _importing(renaming, changed))
            complete = True
    both = [name for name in holding if name in importing]
    in_turn = zip_longest(importing, holding)
    found = dict.fromkeys([*changed, *both, *(name for pair in in_turn for name in pair if name)])
    apart = {name for one in renaming.beside.not_asked for name in one.files}
    return [name for name in found if name in contents or name not in apart], complete


def _is_of_module(server: LanguageServer, declared: Declaration) -> bool:
    """Tell whether a declaration is one of a module. Only one of a type can be missing where nobody names
    it."""
    lines = LineIndex(declared.text)
    line, column = lines.from_server(declared.position, server.encoding)
    return _OF_MODULE.fullmatch(lines.line(line)[:column]) is not None


async def _importing(renaming: Renaming, changed: Sequence[str]) -> list[str]:
    call, server = renaming.call, renaming.server
    beside = await call.aside(_beside, renaming, changed) if server.language in BY_FOLDER else []
    return [*beside, *await importers(call, server, changed, MAX_IMPORTERS)]


def _beside(renaming: Renaming, changed: Sequence[str]) -> list[str]:
    """Return the files of the language in the folders of the changed ones. Blocking."""
    project = renaming.call.project
    folders = dict.fromkeys(os.path.dirname(name) for name in changed)
    names = [os.path.join(folder, one) for folder in folders for one in _listed(project.root / folder)]
    return [name for name in names if project.language_of(name) == renaming.server.language]


def _listed(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def by_server(
    renaming: Renaming, changed: Collection[str], files: Iterable[str]
) -> dict[LanguageServer, list[str]]:
    """Return the files by the server of their unit, as far as that is one of those that were asked; changed
    files of others are the first server's. Blocking."""
    server = renaming.server
    servers = {one.root: one for one, _ in renaming.beside.servers} | {server.root: server}
    found: dict[LanguageServer, list[str]] = {}
    for name in files:
        one = servers.get(server.project_root / renaming.call.project.root_of(name))
        if one is None and (name in changed or server.behaviour.across.takes_any_folder):
            one = server
        if one is not None:
            found.setdefault(one, []).append(name)
    return found
