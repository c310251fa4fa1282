"""The outline of a file that no language server answers for, by its syntax tree.

Owns: when that is so, and what such an outline has: names, kinds and what is within what. Never: types or
uses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from app.bridges.lsp.manager import LineIndex
from app.errors import ToolError
from app.tools.ast_grep.declarations import declarations
from app.tools.ast_grep.found import Found
from app.tools.ast_grep.languages import extension_of, language_of
from app.tools.ast_grep.snapshot import snapshot
from app.tools.code.call import CodeCall, Named
from app.tools.code.file_lines import lines_or_none
from app.tools.code.results import Symbol
from app.tools.processes.foreign_text import one_line
from app.tools.project_files.threads import to_the_end

SECONDS = 10.0
MAX_SYMBOLS = 10_000
MAX_NAME = 300
_WITHOUT_SERVER = frozenset(
    {"lsp_server_not_found", "language_not_supported", "action_not_supported", "lsp_server_unavailable"}
)


async def syntax_symbols(call: CodeCall, named: Named, error: ToolError) -> list[Symbol]:
    """Return what the file declares, by position. Raises `error`, which says why no server answers, where the
    syntax tree does not help."""
    language = language_of(named.relative)
    query = None if language is None else declarations(language)
    if error.code not in _WITHOUT_SERVER or query is None:
        raise error
    lines = await call.aside(lines_or_none, call.tooling.lines, call.workspace, f"./{named.relative}")
    if lines is None:
        raise error
    found: list[Found] = []

    def take(matches: list[Found]) -> bool:
        found.extend(matches)
        return len(found) < MAX_SYMBOLS

    engine = call.tooling.syntax.started_by(await call.tooling.processes.for_reading(call.context))
    until = asyncio.get_running_loop().time() + SECONDS
    text = lines.text.encode("utf-8", "surrogatepass")
    async with snapshot(call.tooling.processes.snapshots) as folder:
        names: list[str] = []
        await to_the_end(lambda: folder.add(text, extension_of(named.relative)), names.append)
        outcome = await engine.search(folder.folder, names, query, deadline=until, take=take)
    if outcome.ending == "timed_out" or outcome.failed:
        raise error
    return _outline(found[:MAX_SYMBOLS], lines, named.shown)


def _outline(found: Sequence[Found], lines: LineIndex, shown: str) -> list[Symbol]:
    symbols: list[Symbol] = []
    around: list[tuple[int, str]] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        ((kind, captured),) = list(one.captures.items())[:1] or [("", "")]
        name = one_line(captured, MAX_NAME) if isinstance(captured, str) else ""
        if not name:
            continue
        while around and around[-1][0] < one.end:
            around.pop()
        line, column = _place(lines, one, name)
        symbols.append(
            Symbol(
                name=name,
                kind=kind.lower(),
                path=shown,
                line=line,
                character=column,
                end_line=one.end_line,
                container=around[-1][1] if around else None,
            )
        )
        around.append((one.end, name))
    return symbols


def _place(lines: LineIndex, one: Found, name: str) -> tuple[int, int]:
    """Return where the name is: its first place in the declaration, which may begin with what describes
    it."""
    column = one.column - 1
    for line in range(one.line, one.end_line + 1):
        at = lines.line(line - 1).find(name, column)
        if at >= 0:
            return line, at
        column = 0
    return one.line, one.column - 1
