"""Answers about all of a project, made whole across the units that it is built in.

Owns: which other units hold a word and can mean the same by it, having servers know them, and what none has
looked at. Never: what is asked of the servers, or what an answer shows.

A server knows the unit that it was started in: a package, a module, a crate. What uses it from another one
beside it is missing from its answers, without a word. So the word is searched for at the same time. Units
that hold it and reach the declaration are opened in the same server where that loads them, or asked in
theirs.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from app.bridges.lsp.manager import LanguageServer, Unit
from app.errors import ToolError
from app.tools.code.call import CodeCall, Named, reason_of
from app.tools.code.crossed import Crossed, Declaration, Group, NotAsked
from app.tools.code.left_out import left_out, outside
from app.tools.code.place_list import locations
from app.tools.code.places import Files, line_of
from app.tools.code.position import Position
from app.tools.code.reach import Declaring, declaring, reaches
from app.tools.code.reach_through import reached_through
from app.tools.code.results import NotLookedAt
from app.tools.code.word_hits import WordHits

A = TypeVar("A")
B = TypeVar("B")
MAX_LISTED = 20
MAX_SERVERS = 4
"""How many servers of other units one call asks."""
MAX_OPENED = 60
PER_UNIT = 10
_DEFINITION = "textDocument/definition"
_NO_IMPORT = "nothing there imports or requires the package of the declaration"
_TOO_MANY = "too many packages use the word: ask again from a file of this one"
_SAME_SERVER = "the server loads this package apart from the one of the declaration"
_NOT_LOADED = "the server cannot load what this package depends on (problem says why)"
_LIBRARY = "the declaration is in no file of the project"


async def together(asking: Awaitable[A], searching: Coroutine[Any, Any, B]) -> tuple[A, B]:
    """Return both, worked on at the same time. Where the first fails the second is ended."""
    search = asyncio.create_task(searching, name="search for a word")
    try:
        return await asking, await search
    finally:
        search.cancel()
        await asyncio.wait({search})


async def crossed_at(
    call: CodeCall,
    named: Named,
    server: LanguageServer,
    position: Position,
    hits: WordHits,
    answered: Collection[str] = (),
) -> Crossed:
    """Have servers know the files beyond the build of the asked file's unit that hold the word of a position
    and may mean what is declared there; in those `answered` the server has found something. Raises ToolError
    as requests to `server` do."""
    others = await call.aside(_others, call, server, named.relative, hits.names, None)
    own = await _own_outside(call, named, server, hits, answered)
    if not others and not own:
        return Crossed()
    declared = await declared_at(call, server, position)
    if declared is None:
        return Crossed(not_asked=[NotAsked(one.unit.folder, one.files, _LIBRARY) for one in others])
    return await crossed(call, named, server, declared, hits, position.word, own)


async def crossed(
    call: CodeCall,
    named: Named,
    server: LanguageServer,
    declared: Declaration,
    hits: WordHits,
    word: str,
    own: Sequence[str] | None = None,
) -> Crossed:
    """As `crossed_at`, for a declaration that is known, and for files of the `own` unit that are; found out
    where they are not."""
    if own is None:
        own = await _own_outside(call, named, server, hits, ())
    groups = await call.aside(_others, call, server, named.relative, hits.names, declared.path)
    groups = await _through_others(call, server, groups, declared)
    result = Crossed(declared)
    reaching = [one for one in groups if one.reaches]
    result.not_asked += [one.not_asked(_NO_IMPORT) for one in groups if not one.reaches]
    if server.behaviour.across.takes_any_folder:
        await _open(server, reaching, result)
    else:
        await _join(call, server, reaching, result)
    await _give_left_out(call, server, word, own, result)
    for other, group in result.servers:
        files = await outside(call, other, group.files[0], group.files, ())
        await _give_left_out(call, other, word, files, result)
    return result


async def _own_outside(
    call: CodeCall, named: Named, server: LanguageServer, hits: WordHits, answered: Collection[str]
) -> Sequence[str]:
    def of_unit() -> list[str]:
        unit_of = _units(call, server)
        unit = unit_of(named.relative)
        return [name for name in hits.names if name != named.relative and unit_of(name) == unit]

    names = await call.aside(of_unit)
    return await outside(call, server, named.relative, [*names, named.relative], {*answered, named.relative})


async def _give_left_out(
    call: CodeCall, server: LanguageServer, word: str, names: Sequence[str], result: Crossed
) -> None:
    assert result.declaration is not None
    found = await left_out(call, server, word, result.declaration, names)
    result.opened |= found.opened
    result.views += [(server, view) for view in found.views]
    result.not_asked += found.not_asked


async def _open(server: LanguageServer, groups: Sequence[Group], result: Crossed) -> None:
    """Have the server load other units by files of theirs. Where no manifest says which files belong
    together, it knows those only that are open."""
    chosen: list[str] = []
    for one in groups:
        most = min(PER_UNIT if one.unit.marked else MAX_OPENED, MAX_OPENED - len(chosen))
        files = _spread(one.files)
        opened, left = files[:most], files[most:]
        chosen += opened
        if left and not (one.unit.marked and opened):
            result.not_asked.append(NotAsked(one.unit.folder, left, _TOO_MANY, reaches=True))
    if chosen:
        await server.open_all(chosen)
        result.opened = True


def _spread(files: Sequence[str]) -> tuple[str, ...]:
    """Return the files with the first of each folder first: a manifest may leave folders out."""
    counts: Counter[str] = Counter()
    ranked = []
    for file in files:
        folder = os.path.dirname(file)
        ranked.append((counts[folder], file))
        counts[folder] += 1
    return tuple(file for _, file in sorted(ranked))


async def _join(call: CodeCall, server: LanguageServer, groups: Sequence[Group], result: Crossed) -> None:
    """Start the servers of other units."""

    async def start(one: Group) -> LanguageServer | str:
        folder = one.unit.folder
        try:
            found = await call.server_at(server, folder)
            if await found.lacks_dependencies(one.files[0]):
                return _NOT_LOADED
        except ToolError as error:
            return reason_of(call, error)
        return _SAME_SERVER if found is server or found.encoding != server.encoding else found

    found = await asyncio.gather(*(start(one) for one in groups[:MAX_SERVERS]))
    for one, answer in zip(groups[:MAX_SERVERS], found, strict=True):
        if isinstance(answer, str):
            result.not_asked.append(one.not_asked(answer))
        else:
            result.servers.append((answer, one))
    result.not_asked += [one.not_asked(_TOO_MANY) for one in groups[MAX_SERVERS:]]


def _others(
    call: CodeCall, server: LanguageServer, asked: str, names: Sequence[str], declared: str | None
) -> list[Group]:
    """Return the units other than that of the file asked about that hold the word: the one of the declaration
    first, then those with most files. Blocking."""
    unit_of = _units(call, server)
    own = unit_of(asked)
    by_unit: dict[Unit, list[str]] = {}
    for name in names:
        if (unit := unit_of(name)) != own:
            by_unit.setdefault(unit, []).append(name)
    if declared is not None and (unit := unit_of(declared)) != own:
        by_unit.setdefault(unit, []).append(declared)
    target = None
    if declared is not None and by_unit:
        target = declaring(server.project_root, declared, unit_of(declared).folder)
    groups = [_group(server, unit, files, target) for unit, files in by_unit.items()]
    return sorted(groups, key=lambda one: (not one.declares, -len(one.files), one.unit.folder))


def _units(call: CodeCall, server: LanguageServer) -> Callable[[str], Unit]:
    """Return what returns the unit of a file, which blocks."""
    units, known = call.project.units(server.language), dict[str, Unit]()

    def unit_of(name: str) -> Unit:
        folder = name.rpartition("/")[0]
        if folder not in known:
            known[folder] = units.of(name) or Unit(call.project.root_of(name), marked=False)
        return known[folder]

    return unit_of


async def _through_others(
    call: CodeCall, server: LanguageServer, groups: Sequence[Group], declared: Declaration
) -> list[Group]:
    """Return the groups, of which those reach the declaration, too, that know it through other units."""
    unit_of = _units(call, server)
    apart = {one.unit.folder for one in groups if not one.reaches}
    if not apart:
        return list(groups)
    own = (await call.aside(unit_of, declared.path)).folder
    known = {own, *(one.unit.folder for one in groups if one.reaches)}
    found = await reached_through(call, server, lambda name: unit_of(name).folder, known, apart)
    return [replace(one, reaches=True) if one.unit.folder in found else one for one in groups]


def _group(server: LanguageServer, unit: Unit, files: list[str], target: Declaring | None) -> Group:
    names = tuple(dict.fromkeys(files))
    if target is None:
        return Group(unit, names, reaches=False, declares=False)
    may_mean = reaches(server.project_root, unit.folder, names, target)
    return Group(unit, names, may_mean, declares=unit.folder == target.unit)


async def declared_at(call: CodeCall, server: LanguageServer, position: Position) -> Declaration | None:
    """Return where the symbol is declared: at the position itself where the server names no other place; None
    where that is in no file of the project."""
    params = position.params(server)
    answer = await server.request(_DEFINITION, params) if server.offers(_DEFINITION) else None
    found = locations(answer)
    if not found:
        return Declaration(position.text.path, position.text.text, params["position"])

    def first() -> tuple[str, Any] | None:
        files = Files(call, server.encoding)
        for uri, start in found:
            parts = files.anywhere(uri)
            if parts and line_of(start) is not None:
                return "/".join(parts), start
        return None

    place = await call.aside(first)
    if place is None:
        return None
    return Declaration(place[0], (await server.document(place[0])).text, place[1])


async def files_of(call: CodeCall, server: LanguageServer, answer: Any) -> set[str]:
    """Return the files of the project that an answer has places in."""
    uris = {uri for uri, _ in locations(answer)}
    files = Files(call, server.encoding)

    def look() -> set[str]:
        return {"/".join(parts) for uri in uris if (parts := files.anywhere(uri)) is not None}

    return await call.aside(look)


def not_looked_at(call: CodeCall, found: Sequence[NotAsked]) -> list[NotLookedAt]:
    """Return what no server has looked at, of the files that the caller may read. Blocking."""
    rows: list[NotLookedAt] = []
    for one in sorted(found, key=lambda one: (not one.reaches, one.folder)):
        files = [name for name in one.files if call.workspace.may_read(tuple(name.split("/")))]
        if files:
            folder = "." if one.folder == "." else f"./{one.folder}"
            rows.append(NotLookedAt(path=folder, files=len(files), reason=one.reason))
    return rows[:MAX_LISTED]
