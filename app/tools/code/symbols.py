"""symbols: the outline of a file, or names searched for in the whole project.

Owns: the requests, the flattening of an outline, kinds in words. Never: judging places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.bridges.lsp.manager import LanguageServer, OpenText
from app.errors import ToolError
from app.tools.code.call import CodeCall, Named, need, reason_of
from app.tools.code.loose_files import give_loose_files
from app.tools.code.places import Files, end_of, line_of, start_of
from app.tools.code.results import LspResult, Symbol, Unanswered
from app.tools.code.shown import finished, part_of
from app.tools.code.source_list import first_files
from app.tools.code.syntax_symbols import syntax_symbols
from app.tools.processes.foreign_text import objects, one_line
from app.tools.project_files.view import noted

MAX_SYMBOLS = 50_000
MAX_NAME = 300
MAX_DEPTH = 100
KINDS = (
    *("file", "module", "namespace", "package", "class", "method", "property", "field", "constructor"),
    *("enum", "interface", "function", "variable", "constant", "string", "number", "boolean", "array"),
    *("object", "key", "null", "enum_member", "struct", "event", "operator", "type_parameter"),
)
"""In the order of the protocol, from 1."""
_OUTLINE = "textDocument/documentSymbol"
_SEARCH = "workspace/symbol"
_BY_SYNTAX = "By syntax tree only, as no language server answers:"


async def symbols(call: CodeCall) -> LspResult:
    """Return the symbols of a file in their order, or those of the project that match the query: the
    ones called exactly so first, then by path and position."""
    if call.params.scope == "workspace":
        return await _search(call)
    named = await call.file()
    try:
        server = await call.server(named)
        need(server, _OUTLINE, "symbols")
    except ToolError as error:
        by_syntax = _matching(await syntax_symbols(call, named, error), call.params.query)
        return await call.aside(_result, call, by_syntax, None, f"{_BY_SYNTAX} {reason_of(call, error)}")
    text = await server.document(named.relative)
    request = {"textDocument": {"uri": text.uri}}
    answer = await server.request(_OUTLINE, request)

    def shown() -> LspResult:
        found = _matching(outline(answer, text, server, named.shown), call.params.query)
        return _result(call, found)

    return await call.aside(shown)


async def _search(call: CodeCall) -> LspResult:
    """Search by the server of the path's language; for a folder, by those of the languages in it."""
    named = await call.named()
    if named.is_directory:
        asked = await first_files(call, named)
    else:
        asked = [named]
    found: list[Symbol] = []
    failed: list[tuple[Named, ToolError]] = []
    for one in asked:
        try:
            found += await _search_by(call, one)
        except ToolError as error:
            failed.append((one, error))
    if failed and len(failed) == len(asked):
        raise failed[0][1]
    query = call.params.query or ""
    found.sort(key=lambda one: _rank(one, query))
    unanswered = [Unanswered(path=one.shown, reason=reason_of(call, error)) for one, error in failed]
    return await call.aside(_result, call, found, unanswered)


async def _search_by(call: CodeCall, named: Named) -> list[Symbol]:
    found = await _searched(call, named, await call.server(named))
    if not ((await call.scope()).is_bounded and call.view.marks):
        return found
    try:
        every = await _searched(call, named, await call.whole_server(named))
    except ToolError:
        return found
    return found + [one for one in every if one.outside_cage and not one.outside_project]


async def _searched(call: CodeCall, named: Named, server: LanguageServer) -> list[Symbol]:
    need(server, _SEARCH, "symbols with scope workspace")
    await server.document(named.relative)  # some know no project before a file of it is open
    await give_loose_files(call, named, server, call.params.query or "")
    answer = await server.request(_SEARCH, {"query": call.params.query})

    def shown() -> list[Symbol]:
        files = Files(call, server.encoding)
        given = objects(answer)[:MAX_SYMBOLS]
        with files.held():
            return [one for one in (_information(files, each) for each in given) if one is not None]

    return await call.aside(shown)


def _rank(one: Symbol, query: str) -> tuple[Any, ...]:
    name = one.name or ""
    return (
        name != query,
        name.casefold() != query.casefold(),
        one.path,
        one.line,
        -1 if one.character is None else one.character,
    )


def _result(
    call: CodeCall, found: list[Symbol], unanswered: list[Unanswered] | None = None, note: str | None = None
) -> LspResult:
    """Blocking."""
    part = part_of(found, call.params)
    note = noted(call.context, None) if call.params.scope == "workspace" else note
    result = LspResult(symbols=part, count=len(found), not_fresh=unanswered or None, note=note)
    return finished(result, found, len(part), call.params, call.context)


def _matching(found: list[Symbol], query: str | None) -> list[Symbol]:
    if not query:
        return found
    wanted = query.casefold()
    return [one for one in found if wanted in (one.name or "").casefold()]


def outline(answer: Any, text: OpenText, server: LanguageServer, shown: str) -> list[Symbol]:
    """Return the symbols of one document by position, those in others with their `container`."""
    found = [
        symbol
        for one, container in _flat(objects(answer), None, 0)
        if (symbol := _outlined(one, container, text, server, shown)) is not None
    ]
    return sorted(found[:MAX_SYMBOLS], key=lambda one: (one.line, one.character or 0))


def _flat(
    nodes: list[dict[str, Any]], container: str | None, depth: int
) -> Iterator[tuple[dict[str, Any], str | None]]:
    for node in nodes[:MAX_SYMBOLS]:
        yield node, container
        if depth < MAX_DEPTH and isinstance(node.get("children"), list):
            yield from _flat(objects(node["children"]), _name(node), depth + 1)


def _outlined(
    node: Mapping[str, Any], container: str | None, text: OpenText, server: LanguageServer, shown: str
) -> Symbol | None:
    location = node.get("location")
    span = location.get("range") if isinstance(location, Mapping) else node.get("range")
    chosen = span if isinstance(location, Mapping) else node.get("selectionRange") or span
    if line_of(start_of(chosen)) is None or not _name(node):
        return None
    lines = text.lines
    line, column = lines.from_server(start_of(chosen), server.encoding)
    if isinstance(location, Mapping):  # its range is the whole definition: look for the name in it
        container = _container(node)
        column = max(lines.line(line).find(_name(node), column), column)
    last = end_of(span)
    end = lines.from_server(last, server.encoding)[0] + 1 if line_of(last) is not None else None
    return Symbol(
        name=_name(node),
        kind=kind_of(node),
        path=shown,
        line=line + 1,
        character=column,
        end_line=end,
        container=container,
    )


def _information(files: Files, node: Mapping[str, Any]) -> Symbol | None:
    location = node.get("location")
    if not isinstance(location, Mapping) or not _name(node):
        return None
    start = start_of(location.get("range")) or {"line": 0, "character": 0}
    place = files.place(location.get("uri"), start)
    if place is None:
        return None
    if place.outside_cage:
        return Symbol(
            path=place.path, line=place.line, outside_cage=True, outside_project=place.outside_project
        )
    character = place.character
    found = files.of_uri(location.get("uri"))
    lines = files.lines(found) if found is not None else None
    if lines is not None and character is not None:
        character = max(lines.line(place.line - 1).find(_name(node), character), character)
    return Symbol(
        name=_name(node),
        kind=kind_of(node),
        path=place.path,
        line=place.line,
        character=character,
        container=_container(node),
        outside_project=place.outside_project,
    )


def _name(node: Mapping[str, Any]) -> str:
    return one_line(node.get("name"), MAX_NAME)


def _container(node: Mapping[str, Any]) -> str | None:
    return one_line(node.get("containerName"), MAX_NAME) or None


def kind_of(node: Mapping[str, Any]) -> str:
    """Return the kind of a symbol in words."""
    kind = node.get("kind")
    return KINDS[kind - 1] if type(kind) is int and 1 <= kind <= len(KINDS) else "unknown"
