"""definition, type_definition, implementation, references: where a symbol is said and used.

Owns: the requests and the shape of their answers. Never: judging places; `places` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.bridges.lsp.manager import LanguageServer
from app.errors import ToolError
from app.tools.code.call import CodeCall, Named, need
from app.tools.code.limited import mark_limits
from app.tools.code.place_list import PlaceList
from app.tools.code.places import Files
from app.tools.code.position import Position, find_position
from app.tools.code.results import LspResult
from app.tools.code.shown import finished_by, fitting
from app.tools.project_files.view import noted

_METHODS: Mapping[str, str] = {
    "definition": "textDocument/definition",
    "type_definition": "textDocument/typeDefinition",
    "implementation": "textDocument/implementation",
    "references": "textDocument/references",
}


async def navigate(call: CodeCall) -> LspResult:
    """Return the places that the server names, by path and position."""
    action = call.params.action
    named = await call.file()
    server = await call.server(named)
    method = _METHODS[action]
    need(server, method, action)
    position = await find_position(call, named, server)
    answer, declared = await _asked(call, server, position, method)
    beyond = await _beyond(call, named, method) if (await call.scope()).is_bounded else None

    def shown() -> LspResult:
        files = Files(call, server.encoding, position.text)
        with files.held():
            return _result(call, answer, declared, files, beyond)

    return await mark_limits(call, server, named, await call.aside(shown))


async def _asked(call: CodeCall, server: LanguageServer, position: Position, method: str) -> tuple[Any, Any]:
    if call.params.action == "references":
        return await _references(call, server, position)
    return await server.request(method, position.params(server)), None


async def _beyond(call: CodeCall, named: Named, method: str) -> Any:
    """Return what the server that sees the whole project answers, for a cage that lets the caller know of
    places outside; None for any other, and where that server cannot be asked."""
    if not call.view.marks:
        return None
    try:
        server = await call.whole_server(named)
        position = await find_position(call, named, server)
        return (await _asked(call, server, position, method))[0]
    except ToolError:
        return None


async def _references(call: CodeCall, server: LanguageServer, position: Position) -> tuple[Any, Any]:
    """Return the server's answer, and where the symbol is declared if that is to be taken out of it."""
    place, method = position.params(server), _METHODS["references"]
    wanted = call.params.include_declaration
    if wanted or not server.mixes_declarations or not server.offers(_METHODS["definition"]):
        return await server.request(method, {**place, "context": {"includeDeclaration": wanted}}), None
    declared = await server.request(_METHODS["definition"], place)
    return await server.request(method, {**place, "context": {"includeDeclaration": True}}), declared


def _result(call: CodeCall, answer: Any, declared: Any, files: Files, beyond: Any) -> LspResult:
    """Blocking. Only files of places that are shown are read."""
    params = call.params
    every = PlaceList(files, answer)
    every.add_outside(PlaceList(files, beyond))
    every.leave_out(PlaceList(files, declared))
    total = len(every)
    part = fitting(files.shown(*place) for place in every.part(params.offset, params.most))
    if params.action == "references":
        result = LspResult(references=part, count=total, note=noted(call.context, None))
    else:
        note = None if total else "The server knows no place for what is at this position."
        result = LspResult(definitions=part, note=noted(call.context, note))
    return finished_by(result, total, len(part), every.as_lines, params, call.context)
