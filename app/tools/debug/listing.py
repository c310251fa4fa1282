"""modules, loaded_sources: what the program is made of.

Owns: these two. Never: the files themselves.
"""

from __future__ import annotations

from typing import Any

from app.tools.debug.call import DebugCall
from app.tools.debug.results import DebugResult, Module, Source
from app.tools.debug.sources import Sources
from app.tools.processes.foreign_text import objects, one_line, whole_number

MAX_MODULES = 1_000
USUAL_MODULES = 100
MAX_SOURCES = 20_000
MAX_NAME = 300


async def modules(call: DebugCall) -> DebugResult:
    """Return modules from `start_module` on."""
    params = call.params
    start, most = params.start_module or 0, min(params.module_count or USUAL_MODULES, MAX_MODULES)
    answer = await call.ask("modules", startModule=start, moduleCount=most)
    found = objects(answer.get("modules"))
    stated = whole_number(answer.get("totalModules"))
    # An adapter that takes no notice of the page answers all that there are.
    ignored = len(found) > most or (stated is not None and len(found) == stated and start > 0)
    part = found[start : start + most] if ignored else found[:most]
    total = max(stated or 0, len(found) if ignored or stated is None else 0, start + len(part) if part else 0)

    def rows() -> list[Module]:
        sources = Sources(call)
        return [_module(sources, one) for one in part]

    shown = await call.aside(rows)
    after = start + len(part)
    more = after < total
    return DebugResult(
        modules=shown,
        total=total,
        truncated=True if more else None,
        note=f"start_module {after} shows more." if more else None,
    )


def _module(sources: Sources, one: dict[str, Any]) -> Module:
    seen = sources.of({"path": one.get("path")})
    own = one.get("isUserCode")
    return Module(
        id=one_line(str(one.get("id", "")), MAX_NAME),
        name=one_line(one.get("name"), MAX_NAME) or "?",
        path=seen.shown if seen is not None else None,
        version=one_line(one.get("version"), MAX_NAME) or None,
        symbols=one_line(one.get("symbolStatus"), MAX_NAME) or None,
        address_range=one_line(one.get("addressRange"), MAX_NAME) or None,
        is_user_code=own if isinstance(own, bool) else None,
    )


async def loaded_sources(call: DebugCall) -> DebugResult:
    """Return the sources that the adapter knows, the project's own first, by path."""
    params = call.params
    answer = await call.ask("loadedSources")
    found = objects(answer.get("sources"))[:MAX_SOURCES]
    wanted = (params.filter or "").casefold()

    def rows() -> list[Source]:
        sources = Sources(call)
        each = {row.path: row for row in map(sources.source, found) if row is not None}
        fitting = [row for row in each.values() if wanted in (row.path or "").casefold()]
        return sorted(fitting, key=lambda row: (row.outside_project is True, row.path or ""))

    every = await call.aside(rows)
    part = every[params.start : params.start + params.limit]
    after = params.start + len(part)
    more = after < len(every)
    return DebugResult(
        sources=part,
        total=len(every),
        truncated=True if more else None,
        note=f"start {after} shows more; filter is a part of the path." if more else None,
    )
