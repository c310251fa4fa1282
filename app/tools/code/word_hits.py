"""Which files of a project hold a word, for questions whose answers must be whole.

Owns: the search and its bounds. Never: what is shown of it; the files are listed with the daemon's rights,
and callers name only what may be read.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from app.bridges.lsp.manager import EditPlan, LanguageServer
from app.tools.ast_grep.listing import Folder, Listing
from app.tools.code.call import CodeCall
from app.tools.project_files.threads import held_open
from app.workspace import Workspace

SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class WordHits:
    """`names` are the files in the server's language, relative to the project's root, that the server may
    read; `others` are files in other languages. `complete` is False when the time ran out."""

    names: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    complete: bool = True


async def word_hits(
    call: CodeCall, server: LanguageServer, word: str, *, in_all_languages: bool = False
) -> WordHits:
    """Return the files that hold `word`, as a word of its own; none for what is no word."""
    if not word.isidentifier():
        return WordHits()
    table = call.project.table
    languages = table.languages() if in_all_languages else (server.language,)
    endings = {one.removeprefix(".") for language in languages for one in table.extensions_of(language)}
    found = await files_with(call, server, word, endings)
    own, others = await asyncio.to_thread(_sorted_out, call, server, found.names)
    return WordHits(own, others, found.complete)


async def files_with(call: CodeCall, server: LanguageServer, word: str, endings: Iterable[str]) -> Listing:
    """Return the files of the project with one of these endings that hold `word`, as a word of its own."""
    root = server.project_root

    def open_root(held: ExitStack) -> Folder:
        opened = held.enter_context(Workspace(root).open("."))
        real = Path(os.path.realpath(root))
        return Folder(opened.descriptor, real, real)

    until = asyncio.get_running_loop().time() + SECONDS
    async with held_open(open_root) as folder:
        return await call.tooling.sources.below(
            folder, sorted(endings), literal=word, whole_word=True, deadline=until
        )


def _sorted_out(
    call: CodeCall, server: LanguageServer, names: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    own: list[str] = []
    others: list[str] = []
    for name in names:
        if server.reading.readable.allows(tuple(name.split("/"))):
            (own if call.project.language_of(name) == server.language else others).append(name)
    return tuple(own), tuple(others)


def mentions(call: CodeCall, hits: WordHits, plan: EditPlan) -> int:
    """Return how many files that the caller may read hold the word and are not changed by the plan.
    Blocking."""
    changed = {os.path.relpath(path, call.project.root) for path in plan.paths}
    left = (name for name in (*hits.names, *hits.others) if name not in changed)
    return sum(call.workspace.may_read(tuple(name.split("/"))) for name in left)
