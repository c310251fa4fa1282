"""definition, type_definition, implementation, references: where a symbol is said and used.

Owns: the requests and the shape of their answers. Never: judging places; `places` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.bridges.lsp.manager import LanguageServer
from app.errors import ToolError
from app.tools.code.call import CodeCall, Named, need, reason_of
from app.tools.code.crossed import Group
from app.tools.code.crossing import crossed_at, files_of, not_looked_at, together
from app.tools.code.limited import mark_limits
from app.tools.code.place_list import PlaceList
from app.tools.code.places import Files
from app.tools.code.position import Position, find_position
from app.tools.code.results import LspResult, NotLookedAt
from app.tools.code.shown import finished_by, fitting
from app.tools.code.word_hits import word_hits
from app.tools.project_files.view import noted

_METHODS: Mapping[str, str] = {
    "definition": "textDocument/definition",
    "type_definition": "textDocument/typeDefinition",
    "implementation": "textDocument/implementation",
    "references": "textDocument/references",
}


_CROSSED = frozenset({"references", "implementation"})
"""Questions about all of the project."""


@dataclass(slots=True)
class _Answers:
    """What the servers answered: the first one, where it says that the symbol is declared if that is to be
    taken out, and `others`, which know other units."""

    answer: Any
    declared: Any = None
    others: list[Any] = field(default_factory=list)
    not_looked_at: list[NotLookedAt] = field(default_factory=list)


async def navigate(call: CodeCall) -> LspResult:
    """Return the places that the server names, by path and position."""
    action = call.params.action
    named = await call.file()
    server = await call.server(named)
    method = _METHODS[action]
    need(server, method, action)
    position = await find_position(call, named, server)
    if action in _CROSSED:
        found = await _crossed(call, named, server, position)
    else:
        found = _Answers(await server.request(method, position.params(server)))
    beyond = await _beyond(call, named, method) if (await call.scope()).is_bounded else None

    def shown() -> LspResult:
        files = Files(call, server.encoding, position.text)
        with files.held():
            return _result(call, found, files, beyond)

    return await mark_limits(call, server, named, await call.aside(shown))


async def _crossed(call: CodeCall, named: Named, server: LanguageServer, position: Position) -> _Answers:
    """Return the answers of all servers that know a unit where the same can be meant."""
    params = position.params(server)
    asking = _asked(call, server, params)
    found, hits = await together(asking, word_hits(call, server, position.word))
    answered = await files_of(call, server, found.answer)
    beside = await crossed_at(call, named, server, position, hits, answered)
    if beside.opened:
        found = await _asked(call, server, params)
    declaration = beside.declaration

    async def other(one: LanguageServer, group: Group) -> Any:
        assert declaration is not None
        try:
            return (await _asked(call, one, await declaration.at(one))).answer
        except ToolError as error:
            beside.not_asked.append(group.not_asked(reason_of(call, error)))
            return None

    found.others += await asyncio.gather(*(other(one, group) for one, group in beside.servers))
    found.others += [(await _asked(call, one, view)).answer for one, view in beside.views]
    found.not_looked_at = await call.aside(not_looked_at, call, beside.not_asked)
    return found


async def _asked(call: CodeCall, server: LanguageServer, params: dict[str, Any]) -> _Answers:
    method = _METHODS[call.params.action]
    if call.params.action != "references":
        return _Answers(await server.request(method, params))
    wanted = call.params.include_declaration
    if wanted or not server.behaviour.mixes_declarations or not server.offers(_METHODS["definition"]):
        return _Answers(await server.request(method, {**params, "context": {"includeDeclaration": wanted}}))
    declared = await server.request(_METHODS["definition"], params)
    every = await server.request(method, {**params, "context": {"includeDeclaration": True}})
    return _Answers(every, declared)


async def _beyond(call: CodeCall, named: Named, method: str) -> Any:
    """Return what the server that sees the whole project answers, for a cage that lets the caller know of
    places outside; None for any other, and where that server cannot be asked."""
    if not call.view.marks:
        return None
    try:
        server = await call.whole_server(named)
        position = await find_position(call, named, server)
        return (await _asked(call, server, position.params(server))).answer
    except ToolError:
        return None


def _result(call: CodeCall, found: _Answers, files: Files, beyond: Any) -> LspResult:
    """Blocking. Only files of places that are shown are read."""
    params = call.params
    every = PlaceList(files, found.answer)
    for other in found.others:
        every.add(PlaceList(files, other))
    every.add_outside(PlaceList(files, beyond))
    every.leave_out(PlaceList(files, found.declared))
    total = len(every)
    part = fitting(files.shown(*place) for place in every.part(params.offset, params.most))
    if params.action == "references":
        result = LspResult(references=part, count=total, note=noted(call.context, None))
    else:
        note = None if total else "The server knows no place for what is at this position."
        result = LspResult(definitions=part, note=noted(call.context, note))
    result = result.model_copy(update={"not_looked_at": found.not_looked_at or None})
    return finished_by(result, total, len(part), every.as_lines, params, call.context)
