"""Where a word is a name in source files, by syntax tree: not in comments, not in strings.

Owns: the copies that are parsed. Never: what a name means.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from app.errors import ToolError
from app.tools.ast_grep.engine import AstGrep, Query, identifiers
from app.tools.ast_grep.found import Found
from app.tools.ast_grep.languages import LanguageName, extension_of, language_of
from app.tools.ast_grep.snapshot import Snapshot, parsed_text, snapshot
from app.tools.code.call import CodeCall
from app.tools.project_files.threads import to_the_end

SECONDS = 5.0
MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, order=True)
class NameNode:
    """A name in a file, by its path from the root; the line counts from 1, the column in characters from
    0."""

    path: str
    line: int
    column: int


async def name_nodes(
    call: CodeCall, word: str, names: Sequence[str], kinds: Sequence[str] = ()
) -> tuple[list[NameNode], list[str]]:
    """Return where the word is a name in these files, of these `kinds` of nodes or any, and the files that
    cannot be parsed or read."""
    by_language: dict[LanguageName, list[str]] = {}
    unread: list[str] = []
    for name in names:
        language = language_of(name)
        if language is None or identifiers(word, language, kinds) is None:
            unread.append(name)
        else:
            by_language.setdefault(language, []).append(name)
    engine = call.tooling.syntax.started_by(await call.tooling.processes.for_reading(call.context))
    nodes: list[NameNode] = []
    for language, files in by_language.items():
        query = identifiers(word, language, kinds)
        assert query is not None
        found, failed = await _parsed(call, engine, query, files)
        nodes += found
        unread += failed
    return sorted(set(nodes)), unread


async def _parsed(
    call: CodeCall, engine: AstGrep, query: Query, names: Sequence[str]
) -> tuple[list[NameNode], list[str]]:
    nodes: list[NameNode] = []
    copies: dict[str, str] = {}

    def take(matches: list[Found]) -> bool:
        nodes.extend(
            NameNode(copies[one.file.removeprefix("./")], one.line, one.column - 1) for one in matches
        )
        return True

    until = asyncio.get_running_loop().time() + SECONDS
    async with snapshot(call.tooling.processes.snapshots) as folder:
        await to_the_end(partial(_copy, call, names, folder), copies.update)
        outcome = await engine.search(folder.folder, list(copies), query, deadline=until, take=take)
    failed = list(copies) if outcome.ending == "timed_out" else outcome.failed
    copied = set(copies.values())
    lost = [name for name in names if name not in copied]
    return nodes, [*(copies[one.removeprefix("./")] for one in failed), *lost]


def _copy(call: CodeCall, names: Sequence[str], folder: Snapshot) -> dict[str, str]:
    """Return the names of the copies, each with the file's own. Blocking."""
    copies: dict[str, str] = {}
    for name in names:
        try:
            with (
                call.workspace.open(f"./{name}") as opened,
                os.fdopen(os.dup(opened.descriptor), "rb") as file,
            ):
                content = parsed_text(file.read(MAX_BYTES))
        except (ToolError, OSError):
            continue  # it went away, or is no file any more
        if content is not None:
            copies[folder.add(content[0], extension_of(name))] = name
    return copies
