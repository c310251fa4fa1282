"""Breakpoints on lines, functions, instructions and data.

Owns: the eight actions about them. Never: keeping them; the bridge does, for each agent.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from app.bridges.dap.breakpoint import Breakpoint as Kept
from app.bridges.dap.breakpoint import Terms
from app.bridges.dap.breakpoints import Breakpoints
from app.errors import ToolError
from app.tools.debug.call import DebugCall
from app.tools.debug.conditions import check_condition
from app.tools.debug.frames import frame_of, scopes_of
from app.tools.debug.parameters import DebugParams
from app.tools.debug.results import Breakpoint, DebugResult
from app.tools.debug.sources import Sources
from app.tools.debug.variables import find
from app.tools.debug.wrong_parameter import wrong
from app.tools.processes.foreign_text import clean, one_line

MAX_TEXT = 2_000
_ADDRESS = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
_BY_NAME = "name a variable in place of an address"
_ACCESS = frozenset({"read", "write", "readWrite"})


async def set_breakpoint(call: DebugCall) -> DebugResult:
    """On a line or a function; one that is there already is replaced."""
    params, kept = call.params, call.adapters.breakpoints(call.owner)
    if params.function:
        await check_condition(call, params.condition, "")
        return await _set(call, Kept(kind="function", function=params.function, terms=_terms(params)))
    assert params.path and params.line
    named = await call.named(params.path)
    if named.is_directory:
        raise wrong("path", f"{named.shown} is a folder; give a file")
    await check_condition(call, params.condition, named.real.suffix)
    logs = replace(_terms(params), log_message=params.log_message or None)
    return await _result(call, await kept.set_line(named.real, params.line, logs))


async def remove_breakpoint(call: DebugCall) -> DebugResult:
    """From a line or a function. The file need not be there any more."""
    params, kept = call.params, call.adapters.breakpoints(call.owner)
    if params.function:
        return await _remove(call, Kept(kind="function", function=params.function))
    assert params.path and params.line
    return await _removed(call, await _remove_line(call, kept, params.path, params.line))


async def _remove_line(call: DebugCall, kept: Breakpoints, path: str, line: int) -> Kept:
    try:
        real = (await call.named(path)).real
    except ToolError as error:
        if error.code != "file_not_found":
            raise
        root = await call.aside(call.context.project_root.resolve)
        real = root.joinpath(*call.workspace.locate(path).parts)
    return await kept.remove_line(real, line)


async def list_breakpoints(call: DebugCall) -> DebugResult:
    """All of them, also without a session."""
    every = await call.adapters.breakpoints(call.owner).listed()

    def rows() -> list[Breakpoint]:
        sources = Sources(call)
        return [_row(sources, one) for one in every]

    return DebugResult(breakpoints=await call.aside(rows))


async def set_instruction_breakpoint(call: DebugCall) -> DebugResult:
    """On an instruction; forgotten with the session, as its address is."""
    return await _set(call, replace(_instruction(call.params), terms=_terms(call.params)))


async def remove_instruction_breakpoint(call: DebugCall) -> DebugResult:
    return await _remove(call, _instruction(call.params))


def _instruction(params: DebugParams) -> Kept:
    return Kept(kind="instruction", reference=params.instruction_reference, offset=params.offset)


async def data_breakpoint_info(call: DebugCall) -> DebugResult:
    """Return the id by which the accesses to a variable, or to `count` bytes at an address, can be
    watched. Raises ToolError `action_not_supported` for an address that the adapter does not take."""
    params = call.params
    assert params.name
    frame = await frame_of(call)
    if _ADDRESS.fullmatch(params.name.strip()):
        call.session.need("dataBreakpointInfo", "supportsDataBreakpointBytes", params.action, _BY_NAME)
        answer = await call.ask(
            "dataBreakpointInfo",
            name=params.name.strip(),
            frameId=frame["id"],
            bytes=params.count,
            asAddress=True,
        )
    else:
        answer = await call.ask("dataBreakpointInfo", **await _place_of(call, frame, params.name))
    data_id = answer.get("dataId")
    kinds = answer.get("accessTypes")
    return DebugResult(
        data_id=data_id if isinstance(data_id, str) and data_id else None,
        description=clean(answer.get("description"), MAX_TEXT) or None,
        access_types=[one for one in kinds if one in _ACCESS] if isinstance(kinds, list) else None,
        can_persist=True if answer.get("canPersist") is True else None,
        note=None if data_id else "This cannot be watched; description says why.",
    )


async def _place_of(call: DebugCall, frame: dict[str, object], name: str) -> dict[str, object]:
    """Return how to ask for a variable: within its parent, else as an expression of the frame."""
    try:
        found = await find(call, frame, await scopes_of(call, frame), name)
    except ToolError as error:
        if error.code != "variable_not_found":
            raise
        return {"name": name, "frameId": frame["id"]}
    return {"variablesReference": found.within, "name": found.raw.name, "frameId": frame["id"]}


async def set_data_breakpoint(call: DebugCall) -> DebugResult:
    """On the accesses to data; forgotten with the session."""
    params = call.params
    made = Kept(kind="data", data_id=params.data_id, access=params.access_type, terms=_terms(params))
    return await _set(call, made)


async def remove_data_breakpoint(call: DebugCall) -> DebugResult:
    return await _remove(call, Kept(kind="data", data_id=call.params.data_id))


def _terms(params: DebugParams) -> Terms:
    return Terms(condition=params.condition or None, hit_count=params.hit_count)


async def _set(call: DebugCall, one: Kept) -> DebugResult:
    return await _result(call, await call.adapters.breakpoints(call.owner).set(one))


async def _remove(call: DebugCall, like: Kept) -> DebugResult:
    return await _removed(call, await call.adapters.breakpoints(call.owner).remove(like))


async def _result(call: DebugCall, made: Kept) -> DebugResult:
    row = await call.aside(lambda: _row(Sources(call), made))
    fields = row.model_dump(exclude_none=True)
    return DebugResult(breakpoint_id=fields.pop("id"), **fields)


async def _removed(call: DebugCall, gone: Kept) -> DebugResult:
    row = await call.aside(lambda: _row(Sources(call), gone))
    return DebugResult(
        removed=True,
        breakpoint_id=row.id,
        path=row.path,
        line=row.line,
        function=row.function,
        instruction_reference=row.instruction_reference,
        data_id=row.data_id,
        note=_kept(call),
    )


def _kept(call: DebugCall) -> str | None:
    """Return what is to be known of an adapter that was seen to keep a breakpoint."""
    session = call.adapters.session(call.owner)
    if session is None or not session.keeps_breakpoints:
        return None
    return (
        f"{session.adapter} has stopped at a removed breakpoint before: it may go on stopping there until "
        "the program is launched again."
    )


def _row(sources: Sources, one: Kept) -> Breakpoint:
    return Breakpoint(
        id=one.id,
        path=_path(sources, one.path),
        line=one.line,
        actual_line=one.actual_line,
        function=one.function,
        instruction_reference=one.reference,
        data_id=one.data_id,
        access_type=one.access,
        offset=one.offset,
        condition=one.terms.condition,
        hit_count=one.terms.hit_count,
        log_message=one.terms.log_message,
        verified=one.verified,
        message=one_line(one.message, MAX_TEXT) or None,
    )


def _path(sources: Sources, path: Path | None) -> str | None:
    seen = None if path is None else sources.of({"path": str(path)})
    return None if seen is None else seen.shown
