"""Packages that know a declaration through others: by what these export again, or return.

Owns: the walk from a package to those that name it, and on from these. Never: what code there means; a
package too many costs a question to a server, one that is missed would cost a reference.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from app.bridges.lsp.manager import LanguageServer
from app.tools.code.call import CodeCall
from app.tools.code.reach import MANIFESTS, imports, manifest_names, unit_names
from app.tools.code.word_hits import files_with

MAX_SEARCHES = 40
_ENDINGS = frozenset(name.rpartition(".")[2] for name in MANIFESTS if "." in name)
_VERSION = re.compile(r"v[0-9]+")


async def reached_through(
    call: CodeCall,
    server: LanguageServer,
    unit_of: Callable[[str], str],
    known: Collection[str],
    wanted: Collection[str],
) -> set[str]:
    """Return those of the `wanted` units that name one of the `known` ones, or one that names these, and so
    on. `unit_of` returns the folder of a file's unit and blocks. All of those left, when they are too many to
    tell."""
    extensions = call.project.table.extensions_of(server.language)
    endings = {*_ENDINGS, *(one.removeprefix(".") for one in extensions)}
    reached, left = set(known), set(wanted) - set(known)
    waiting = deque(sorted(reached))
    searches = 0
    while waiting and left:
        unit = waiting.popleft()
        names = await call.aside(unit_names, server.project_root, unit)
        for word in _words(names):
            searches += 1
            if searches > MAX_SEARCHES:
                return set(wanted)
            found = await files_with(call, server, word, endings)
            more = await call.aside(_naming, server.project_root, found.names, unit, names, unit_of)
            new = more - reached
            reached |= new
            left -= new
            waiting.extend(sorted(new))
            if not found.complete:
                return set(wanted)
    return set(wanted) & reached


def _words(names: Iterable[str]) -> list[str]:
    """Return the last word of each name: a text that has the name has that."""
    words: dict[str, None] = {}
    for name in names:
        parts = [part for part in name.split("/") if part and not _VERSION.fullmatch(part)]
        words |= dict.fromkeys(parts[-1:])
    return list(words)


def _naming(
    root: Path, files: Iterable[str], unit: str, names: tuple[str, ...], unit_of: Callable[[str], str]
) -> set[str]:
    """Return the units that have one of these files and name the `unit` in it. Blocks."""
    found: set[str] = set()
    sources: dict[str, list[str]] = {}
    for file in files:
        other = unit_of(file)
        if other == unit or other in found:
            continue
        if file.rpartition("/")[2] in MANIFESTS:
            if manifest_names(root, file, unit, names):
                found.add(other)
        else:
            sources.setdefault(other, []).append(file)
    return found | {
        other for other, own in sources.items() if other not in found and imports(root, own, names)
    }
