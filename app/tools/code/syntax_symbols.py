"""The outline of a file that no language server answers for, by its syntax tree.

Owns: when that is so, and what such an outline has: names, kinds and what is within what. Never: types or
uses.
"""

from __future__ import annotations

import asyncio

from app.errors import ToolError
from app.tools.ast_grep.declarations import declarations
from app.tools.ast_grep.found import Found
from app.tools.ast_grep.languages import extension_of, language_of
from app.tools.ast_grep.outline import outline
from app.tools.ast_grep.snapshot import snapshot
from app.tools.code.call import CodeCall, Named
from app.tools.code.file_lines import lines_or_none
from app.tools.code.results import Symbol
from app.tools.project_files.threads import to_the_end

SECONDS = 10.0
MAX_SYMBOLS = 10_000
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
    return [
        Symbol(
            name=one.name,
            kind=one.kind,
            path=named.shown,
            line=one.line,
            character=one.column - 1,
            end_line=one.end_line,
            container=one.container,
        )
        for one in outline(found[:MAX_SYMBOLS])
    ]
