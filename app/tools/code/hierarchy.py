"""call_hierarchy and type_hierarchy: who calls whom, and what derives from what, some steps far.

Owns: the walk along the server's answers, its bounds, and the shape of the answer. Never: judging places.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.bridges.lsp.manager import LanguageServer
from app.errors import ToolError
from app.tools.code.call import CodeCall, need, reason_of
from app.tools.code.crossed import Crossed, Group
from app.tools.code.crossing import crossed_at, not_looked_at, together
from app.tools.code.limited import mark_limits
from app.tools.code.parameters import wrong
from app.tools.code.places import Files, line_of, start_of
from app.tools.code.position import find_position
from app.tools.code.results import LspResult, Relative
from app.tools.code.shown import finished, part_of
from app.tools.code.symbols import kind_of
from app.tools.code.word_hits import word_hits
from app.tools.processes.foreign_text import objects, one_line
from app.tools.project_files.view import noted

MAX_ITEMS = 500
MAX_DEPTH = 5
MAX_CALLS = 50
AT_ONCE = 8
MAX_NAME = 300


@dataclass(frozen=True, slots=True)
class _Way:
    """How a hierarchy is asked for: the request for its beginning, then the one for each step, and under
    which name an answer has the next item and the places of the calls, if it has such."""

    prepare: str
    step: str
    item: str | None = None
    places: str | None = None


_WAYS: Mapping[tuple[str, str], _Way] = {
    ("call_hierarchy", "incoming"): _Way(
        "textDocument/prepareCallHierarchy", "callHierarchy/incomingCalls", "from", "fromRanges"
    ),
    ("call_hierarchy", "outgoing"): _Way(
        "textDocument/prepareCallHierarchy", "callHierarchy/outgoingCalls", "to", "fromRanges"
    ),
    ("type_hierarchy", "subtypes"): _Way("textDocument/prepareTypeHierarchy", "typeHierarchy/subtypes"),
    ("type_hierarchy", "supertypes"): _Way("textDocument/prepareTypeHierarchy", "typeHierarchy/supertypes"),
}
_USUAL = {"call_hierarchy": "incoming", "type_hierarchy": "subtypes"}
_Key = tuple[Any, Any, Any]


@dataclass(frozen=True, slots=True)
class _Step:
    """An item that was reached in so many steps from `parent`, with the places of the calls between them."""

    item: Mapping[str, Any]
    parent: Mapping[str, Any]
    depth: int
    places: tuple[Mapping[str, Any], ...]


async def hierarchy(call: CodeCall) -> LspResult:
    """Return who calls the function at the position or whom it calls, or the types below or above the one
    there, by their distance, path and line."""
    action = call.params.action
    direction = call.params.direction or _USUAL[action]
    way = _WAYS.get((action, direction))
    if way is None:
        allowed = " or ".join(name for kind, name in _WAYS if kind == action)
        raise wrong("direction", f"is {allowed} for {action}")
    named = await call.file()
    (await call.scope()).check_words(action)
    server = await call.server(named)
    need(server, way.prepare, action)
    position = await find_position(call, named, server)
    walking = _walk(call, server, way, position.params(server))
    steps, hits = await together(walking, word_hits(call, server, position.word))
    beside = await crossed_at(call, named, server, position, hits)
    if beside.opened:
        steps = await _walk(call, server, way, position.params(server))
    for one in await asyncio.gather(*(_walk_beside(call, way, *other, beside) for other in beside.servers)):
        steps += one

    def shown() -> LspResult:
        files = Files(call, server.encoding, position.text)
        with files.held():
            return _result(call, files, way, steps, beside)

    return await mark_limits(call, server, named, await call.aside(shown))


async def _walk_beside(
    call: CodeCall, way: _Way, server: LanguageServer, group: Group, beside: Crossed
) -> list[_Step]:
    assert beside.declaration is not None
    try:
        return await _walk(call, server, way, await beside.declaration.at(server))
    except ToolError as error:
        beside.not_asked.append(group.not_asked(reason_of(call, error)))
        return []


async def _walk(call: CodeCall, server: LanguageServer, way: _Way, params: dict[str, Any]) -> list[_Step]:
    """Return the steps from what is at a position, nearest first, each item once."""
    current = objects(await server.request(way.prepare, params))
    known = {_key(one) for one in current}
    steps: list[_Step] = []
    gate = asyncio.Semaphore(AT_ONCE)

    async def ask(item: Mapping[str, Any]) -> list[dict[str, Any]]:
        async with gate:
            return objects(await server.request(way.step, {"item": item}))

    for depth in range(1, min(call.params.depth, MAX_DEPTH) + 1):
        answers = await asyncio.gather(*(ask(one) for one in current))
        new: list[Mapping[str, Any]] = []
        for parent, answer in zip(current, answers, strict=True):
            for one in answer:
                item = one.get(way.item) if way.item else one
                if not isinstance(item, Mapping):
                    continue
                steps.append(_Step(item, parent, depth, _places(one, way)))
                if _key(item) not in known:
                    known.add(_key(item))
                    new.append(item)
        current = [dict(one) for one in new]
        if not current or len(steps) >= MAX_ITEMS:
            break
    return steps[:MAX_ITEMS]


def _places(one: Mapping[str, Any], way: _Way) -> tuple[Mapping[str, Any], ...]:
    return tuple(objects(one.get(way.places))[:MAX_CALLS]) if way.places else ()


def _key(item: Mapping[str, Any]) -> _Key:
    start = start_of(item.get("selectionRange"))
    line = line_of(start)
    return item.get("uri"), line, start.get("character") if isinstance(start, dict) else None


def _result(call: CodeCall, files: Files, way: _Way, steps: Sequence[_Step], beside: Crossed) -> LspResult:
    """Blocking."""
    rows: dict[tuple[Any, ...], Relative] = {}
    for step in steps:
        row = _row(files, way, step)
        if row is not None:
            key = (row.path, row.line, row.character, row.of)
            rows[key] = min(row, rows.get(key, row), key=lambda one: one.depth)
    found = sorted(rows.values(), key=lambda one: (one.depth, one.path, one.line, one.character or 0))
    part = part_of(found, call.params)
    result = LspResult(
        hierarchy=part,
        count=len(found),
        not_looked_at=not_looked_at(call, beside.not_asked) or None,
        note=noted(call.context, None if found else "The server knows none."),
    )
    return finished(result, found, len(part), call.params, call.context)


def _row(files: Files, way: _Way, step: _Step) -> Relative | None:
    place = files.place(step.item.get("uri"), start_of(step.item.get("selectionRange")))
    if place is None:
        return None
    if place.outside_cage:
        return Relative(
            depth=step.depth,
            path=place.path,
            line=place.line,
            outside_cage=True,
            outside_project=place.outside_project,
        )
    # Calls are in the file of who calls: of the item itself, or of the one that was asked about.
    return Relative(
        depth=step.depth,
        name=one_line(step.item.get("name"), MAX_NAME) or None,
        kind=kind_of(step.item),
        path=place.path,
        line=place.line,
        character=place.character,
        of=_name_of(files, step.parent),
        calls=sorted({line for one in step.places if (line := line_of(start_of(one))) is not None}) or None,
        outside_project=place.outside_project,
    )


def _name_of(files: Files, item: Mapping[str, Any]) -> str | None:
    found = files.of_uri(item.get("uri"))
    visible = found is not None and found.verdict == "inside"
    return one_line(item.get("name"), MAX_NAME) or None if visible else None
