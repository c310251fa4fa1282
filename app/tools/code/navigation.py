"""definition, type_definition, implementation, references: where a symbol is said and used.

Owns: the requests and the shape of their answers. Never: judging places; `places` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from app.bridges.lsp.manager import LanguageServer
from app.tools.code.call import CodeCall, need
from app.tools.code.place_list import PlaceList
from app.tools.code.places import Files
from app.tools.code.position import Spot, find_spot
from app.tools.code.results import LspResult
from app.tools.code.shown import finished_by, fitting

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
    spot = await find_spot(call, named, server)
    if action == "references":
        answer, declared = await _references(call, server, spot)
    else:
        answer, declared = await server.request(method, spot.params(server)), None

    def shown() -> LspResult:
        files = Files(call, server.encoding, spot.text)
        with files.held():
            return _result(call, answer, declared, files)

    return await asyncio.to_thread(shown)


async def _references(call: CodeCall, server: LanguageServer, spot: Spot) -> tuple[Any, Any]:
    """Return the server's answer, and where the symbol is declared if that is to be taken out of it."""
    place, method = spot.params(server), _METHODS["references"]
    wanted = call.params.include_declaration
    if wanted or not server.mixes_declarations or not server.offers(_METHODS["definition"]):
        return await server.request(method, {**place, "context": {"includeDeclaration": wanted}}), None
    declared = await server.request(_METHODS["definition"], place)
    return await server.request(method, {**place, "context": {"includeDeclaration": True}}), declared


def _result(call: CodeCall, answer: Any, declared: Any, files: Files) -> LspResult:
    """Blocking. Only files of places that are shown are read."""
    params = call.params
    every = PlaceList(files, answer)
    every.leave_out(PlaceList(files, declared))
    total = len(every)
    part = fitting(files.shown(*place) for place in every.part(params.offset, params.most))
    if params.action == "references":
        result = LspResult(references=part, count=total)
    else:
        note = None if total else "The server knows no place for what is at this position."
        result = LspResult(definitions=part, note=note)
    return finished_by(result, total, len(part), every.as_lines, params, call.context)
