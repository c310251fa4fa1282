"""variables: what is in a scope, or in one of its variables.

Owns: choosing the scope, following the path of `expand`, filter and pages. Never: the shape of a row.
"""

from __future__ import annotations

import ast
import asyncio
from dataclasses import dataclass
from typing import Any

from app.errors import ToolError
from app.nearest_names import closest
from app.tools.debug.call import DebugCall
from app.tools.debug.frames import FrameScope, frame_of, scopes_of
from app.tools.debug.long_lists import Page, child_by_index, page_of
from app.tools.debug.parameters import Scope
from app.tools.debug.results import DebugResult, Variable
from app.tools.debug.shown import Shown
from app.tools.debug.values import MAX_FETCHED, Raw, children_of, leading_index, proper, step_into
from app.tools.processes.foreign_text import one_line

MAX_STEPS = 100
MAX_NAMES = 500
_ORDER: tuple[Scope, ...] = ("local", "closure", "global")
_FREE_NAMES = (
    "(lambda walk: walk(walk, __import__('sys')._getframe()))(lambda walk, frame: () if frame is None else "
    "frame.f_code.co_freevars if (frame.f_lineno, frame.f_code.co_filename.rpartition('/')[2]) == ({line}, "
    "{file!r}) else walk(walk, frame.f_back))"
)
"""For Python: the names that the function at a place has from the functions around it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A variable, and what it is in: the reference of its parent, or of its scope."""

    raw: Raw
    within: int


@dataclass(frozen=True, slots=True)
class Step:
    """A variable on a path, the rest of the path after it, and what it is in."""

    raw: Raw
    rest: str
    within: int


async def variables(call: DebugCall) -> DebugResult:
    """Return the variables of a scope, or what `expand` names."""
    params = call.params
    frame = await frame_of(call)
    scopes = await scopes_of(call, frame)
    if params.expand:
        found = await find(call, frame, scopes, params.expand)
        return await _expanded(call, await _pointed_at(call, found.raw, params.expand.strip()))
    kind = params.scope or "local"
    page = _filtered(call, await of_kind(call, frame, scopes, kind))
    rows = await Shown(call).rows(page.rows, "", params.depth)
    result = _result(call, rows, page)
    if any(one.kind == kind for one in scopes) or kind == "closure":
        return result
    names = ", ".join(one.name for one in scopes) or "none"
    return result.model_copy(update={"note": f"This frame has no {kind} scope; it has: {names}."})


async def _expanded(call: DebugCall, parent: Raw) -> DebugResult:
    params, name = call.params, (call.params.expand or "").strip()
    itself = Shown(call).alone(parent, name)
    if not parent.reference:
        return DebugResult(variables=[itself], total=1)
    if params.filter:
        page = _filtered(call, proper(await children_of(call, parent.reference)))
    else:
        page = await page_of(call, parent, params.start, params.limit)
    result = _result(call, await Shown(call).rows(page.rows, name, params.depth), page)
    return result.model_copy(update={"result": itself.value, "type": itself.type})


async def _pointed_at(call: DebugCall, raw: Raw, path: str) -> Raw:
    """Follow the asterisks before a path, as answers show what a pointer points at."""
    for _ in range(len(path) - len(path.lstrip("*"))):
        inside = await children_of(call, raw.reference) if raw.reference else []
        target = next((one for one in inside if one.name.startswith("*")), None)
        if target is None:
            raise _not_found(path, f"{path.lstrip('*')} points at nothing", "", [])
        raw = target
    return raw


async def of_kind(call: DebugCall, frame: dict[str, Any], scopes: list[FrameScope], kind: Scope) -> list[Raw]:
    """Return the variables of all scopes of a kind, those of the first scope first."""
    chosen = [one for one in scopes if one.kind == kind]
    if kind == "local" and not chosen:
        chosen = [one for one in scopes if one.kind is None][:1]
    if kind == "closure" and not chosen:
        names = await _captured_names(call, frame)
        local = await of_kind(call, frame, scopes, "local") if names else []
        return [one for one in local if one.name in names]
    return await all_of(call, chosen)


async def all_of(call: DebugCall, scopes: list[FrameScope]) -> list[Raw]:
    """Return the variables of several scopes; of those with one name that of the first scope."""
    found: dict[str, Raw] = {}
    for children in await asyncio.gather(*(children_of(call, one.reference) for one in scopes)):
        for one in proper(children):
            found.setdefault(one.name, one)
    return list(found.values())


async def find(call: DebugCall, frame: dict[str, Any], scopes: list[FrameScope], path: str) -> Found:
    """Follow a path from the scope that the call names, or from the first scope that has its beginning.
    Raises ToolError `variable_not_found`."""
    path = rest = path.strip().lstrip("*").replace("->", ".")
    wanted = call.params.scope
    captured = None
    if wanted == "closure" and not any(one.kind == wanted for one in scopes):
        wanted, captured = "local", await _captured_names(call, frame)
    known: list[str] = []
    for scope in _in_order(scopes, (wanted,) if wanted else _ORDER):
        children = await children_of(call, scope.reference)
        if captured is not None:
            children = [one for one in children if one.name in captured]
        first = await _step_into(call, rest, children, scope.reference)
        if first is not None:
            return await _follow(call, path, first)
        known += [one.name for one in proper(children)]
    where = f"in scope {call.params.scope}" if call.params.scope else "in this frame"
    raise _not_found(path, f"{path} begins with no variable {where}", path, known)


def _in_order(scopes: list[FrameScope], kinds: tuple[Scope, ...]) -> list[FrameScope]:
    """Return the scopes to look through; one that the adapter calls expensive comes after the others."""
    chosen = [one for kind in kinds for one in scopes if one.kind == kind]
    if "local" in kinds:
        chosen += [one for one in scopes if one.kind is None]
    return sorted(chosen, key=lambda one: one.expensive)


async def _follow(call: DebugCall, path: str, at: Step) -> Found:
    for _ in range(MAX_STEPS):
        raw, rest = at.raw, at.rest
        if not rest:
            return Found(raw, at.within)
        done = path[: len(path) - len(rest)] or raw.name
        if not raw.reference:
            raise _not_found(path, f"there is nothing in {done}, its value is {raw.value}", "", [])
        long = (raw.indexed or 0) > MAX_FETCHED and leading_index(rest) is not None
        children = [] if long else await children_of(call, raw.reference)
        following = await _step_into(call, rest, children, raw.reference)
        if following is None:
            following = await _beyond(call, raw, children, rest)
        if following is None:
            names = [one.name for one in proper(children)]
            raise _not_found(path, f"{done} has nothing called {rest.lstrip('.')}", rest.lstrip("."), names)
        at = following
    raise _not_found(path, "the path is too long", "", [])


async def _step_into(call: DebugCall, rest: str, children: list[Raw], within: int) -> Step | None:
    """Go one step, also to what stands under a heading."""
    step = step_into(rest, children)
    if step is not None:
        return Step(*step, within)
    for group in (one for one in children if one.is_group):
        step = step_into(rest, await children_of(call, group.reference))
        if step is not None:
            return Step(*step, group.reference)
    return None


async def _beyond(call: DebugCall, raw: Raw, children: list[Raw], rest: str) -> Step | None:
    """Return the element at which a path continues, when it is further back in a long list."""
    index = leading_index(rest)
    if index is None:
        return None
    found = await child_by_index(call, raw, children, index[0])
    return Step(found[0], rest[index[1] :], raw.reference) if found else None


async def _captured_names(call: DebugCall, frame: dict[str, Any]) -> frozenset[str]:
    """Return the names that a function has from those around it, for an adapter that lists them among
    the local ones: Python's. No names where that is unknown."""
    source, line = frame.get("source"), frame.get("line")
    path = source.get("path") if isinstance(source, dict) else None
    if call.session.behaviour.name != "debugpy" or not isinstance(path, str) or type(line) is not int:
        return frozenset()
    expression = _FREE_NAMES.format(line=line, file=path.rpartition("/")[2])
    try:
        answer = await call.ask("evaluate", expression=expression, frameId=frame["id"], context="watch")
        names = ast.literal_eval(one_line(answer.get("result"), 10_000))
    except (ToolError, ValueError, SyntaxError, RecursionError, MemoryError):
        return frozenset()
    return (
        frozenset(one for one in names if isinstance(one, str)) if isinstance(names, tuple) else frozenset()
    )


def _filtered(call: DebugCall, every: list[Raw]) -> Page:
    """Return the page of those whose names have the filter in them, and how many these are."""
    params = call.params
    wanted = (params.filter or "").casefold()
    fitting = [one for one in every if wanted in one.name.casefold()]
    return Page(fitting[params.start : params.start + params.limit], len(fitting))


def _result(call: DebugCall, rows: list[Variable], page: Page) -> DebugResult:
    after = call.params.start + len(rows)
    more, note = after < page.total, f"start {after} shows more."
    if page.cut and len(rows) == len(page.rows):
        note = "The debugger lists no more of them; use evaluate for one by its key."
    return DebugResult(
        variables=rows, total=page.total, truncated=True if more else None, note=note if more else None
    )


def _not_found(path: str, problem: str, wanted: str, known: list[str]) -> ToolError:
    near = closest(wanted, known[:MAX_NAMES]) if wanted else []
    hint = f"; the closest are {', '.join(near)}" if near else "; see variables without expand"
    return ToolError(
        "variable_not_found", f"{one_line(problem, 500)}{hint}", detail={"path": path[:500], "closest": near}
    )
