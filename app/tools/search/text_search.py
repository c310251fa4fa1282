"""Searching file contents, whatever tool asks: one search from its request to its answer.

Owns: the steps of a search, its limits, what of a large result is shown and what goes to a file.
Never: parameters as a model writes them; those are the tools'.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import orjson

from app.bridges.processes.child_starter import ChildStarter
from app.errors import ToolError
from app.tools.contract.call import ToolCallContext
from app.tools.contract.output import first_fitting, write_sidecar
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles
from app.tools.search.engine import OutputMode, Ripgrep, TextQuery, Walk
from app.tools.search.gathering import Gathering, Row
from app.tools.search.glob_pattern import parse_glob
from app.tools.search.kept_lists import KeptLists
from app.tools.search.long_lines import LongLines
from app.tools.search.running import Ending, EngineRun
from app.tools.search.scope import Scope, open_scope
from app.workspace.ignore_rules import rules_above

SIDECAR_BYTES = 1024 * 1024
MAX_PATTERN = 20_000
LONG_LINES_SECONDS = 10.0
MOST_LOOKED_AT_AGAIN = 200
"""In how many lines an overlong one is looked at again: among more, nobody waits for a further search."""
_BATCH = 256


@dataclass(frozen=True, slots=True)
class Searching:
    """What every search stands on. With `kept` files are looked up in lists where these are known to
    be right, instead of walked for."""

    files: ProjectFiles
    processes: CallProcesses
    engine: Ripgrep
    kept: KeptLists | None = None


@dataclass(frozen=True, slots=True)
class TextRequest:
    pattern: str
    path: str = "."
    include: str | None = None
    mode: OutputMode = "content"
    head_limit: int | None = None
    ignore_case: bool = False
    context: int = 0


@dataclass(frozen=True, slots=True)
class TextLimits:
    """`shown_bytes` and `shown_rows` bound the answer; up to `kept_bytes` of what is found is kept
    for the file beside it, and the search ends there. `seconds` bounds the search."""

    shown_bytes: int = 256 * 1024
    shown_rows: int | None = None
    kept_bytes: int = SIDECAR_BYTES
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class TextFound:
    """`rows` as answers show them, sorted by path and line; `total` counts what was found (with
    `truncated`, as far as the search went); `whole` is the file that holds what was cut."""

    rows: list[dict[str, Any]]
    total: int
    truncated: bool
    note: str | None = None
    whole: Path | None = None


async def search_text(
    searching: Searching, request: TextRequest, limits: TextLimits, context: ToolCallContext, *, tool: str
) -> TextFound:
    """Search for `tool`, the name that the file with the whole result is called by.

    Raises ToolError `invalid_pattern`, `invalid_path`, `file_not_found`, `capability_denied`,
    `permission_denied` or `search_failed`.
    """
    _check(request.pattern)
    include, names = _include(request.include)
    async with open_scope(searching.files, context, request.path) as scope:
        gathering = Gathering(
            scope,
            include=None if scope.only else include,
            head_limit=request.head_limit,
            most_bytes=limits.kept_bytes,
            shown_bytes=limits.shown_bytes,
            context=request.context,
        )
        walk = await walk_of(scope, names)
        query = TextQuery(request.pattern, request.mode, request.ignore_case, request.context)
        end = time.monotonic() + limits.seconds
        ending = await _gather(searching, query, walk, scope, context, limits.seconds, gathering)
        long_lines = LongLines(gathering.rows, scope)
        if long_lines and len(gathering.rows) <= MOST_LOOKED_AT_AGAIN:
            left = min(max(end - time.monotonic(), 0.0), LONG_LINES_SECONDS)
            await _look_again(searching, query, walk, scope, context, left, long_lines)
    return await _answer(gathering, ending, request, limits, context, tool)


async def _gather(
    searching: Searching,
    query: TextQuery,
    walk: Walk,
    scope: Scope,
    context: ToolCallContext,
    seconds: float,
    gathering: Gathering,
) -> Ending:
    """Search; for a caged caller what it may read in a cage of that, and then what it may know of."""
    take = _taker(gathering, query.mode)
    if not _reads_inside(searching, scope, context):
        ending = await (await run_of(searching, query, walk, scope, context, seconds)).read(take)
        gathering.finish()
        return ending
    end = time.monotonic() + seconds
    ending = "whole"
    inside = await _run_inside(searching, query, walk, scope, context, seconds)
    if inside is not None:
        gathering.begin("inside")
        ending = await inside.read(take)
        gathering.finish()
    if (
        ending == "whole"
        and not gathering.more
        and (context.cage is None or context.cage.get("outside") == "mark")
    ):
        gathering.begin("outside")
        left = max(end - time.monotonic(), 0.0)
        ending = await (await run_of(searching, query, walk, scope, context, left)).read(take)
        gathering.finish()
    return ending


async def _look_again(
    searching: Searching,
    query: TextQuery,
    walk: Walk,
    scope: Scope,
    context: ToolCallContext,
    seconds: float,
    long_lines: LongLines,
) -> None:
    """Find where in long lines the first match is. Lines for which this fails keep their beginning."""
    around = replace(query, context=0, around=True)
    there = walk if walk.only else replace(walk, names=long_lines.names() or walk.names)
    try:
        find = _run_inside if _reads_inside(searching, scope, context) else run_of
        run = await find(searching, around, there, scope, context, seconds)
        if run is not None and await run.read(long_lines.take) == "whole":
            long_lines.finish()
    except ToolError:
        return


def _reads_inside(searching: Searching, scope: Scope, context: ToolCallContext) -> bool:
    """Tell whether what the caller may read is searched by itself, in a cage of that."""
    return context.cage is not None and not scope.in_scratch and searching.processes.reads_twice


async def _run_inside(
    searching: Searching,
    query: TextQuery,
    walk: Walk,
    scope: Scope,
    context: ToolCallContext,
    seconds: float,
) -> EngineRun | None:
    """Return the search in a cage of what the caller may read, None when that is nothing."""
    inside = await searching.processes.for_reading_inside(context, scope.real)
    if inside is None:
        return None
    return EngineRun(inside, searching.engine.text(query, walk), scope.real, context.session_id, seconds)


async def run_of(
    searching: Searching,
    query: TextQuery | None,
    walk: Walk,
    scope: Scope,
    context: ToolCallContext,
    seconds: float,
) -> EngineRun:
    """Return the search for `query`, or for all files, of this caller. Where there are no cages it runs with
    the daemon's rights for a caged caller too: ripgrep starts nothing, and its results are judged."""
    command = searching.engine.files(walk) if query is None else searching.engine.text(query, walk)
    processes = searching.processes
    children: ChildStarter = processes.own
    if processes.has_cages:
        children = await processes.for_reading(context, in_scratch=scope.in_scratch)
    return EngineRun(children, command, scope.descriptor, context.session_id, seconds)


async def walk_of(scope: Scope, names: tuple[str, ...]) -> Walk:
    """Return which files an engine is to look at in `scope`."""
    if scope.only is not None:
        return Walk(only=scope.only)
    above = await asyncio.to_thread(rules_above, scope.real, scope.root)
    return Walk(names=names, levels=above.levels, repositories=above.repositories)


def _check(pattern: str) -> None:
    if len(pattern) > MAX_PATTERN:
        raise _invalid(f"the pattern is longer than {MAX_PATTERN:,} characters")
    if "\0" in pattern:
        raise _invalid("the pattern contains a NUL character")
    if "\n" in pattern or "\r" in pattern:
        raise _invalid("a match stays within one line; search for one line, or for a|b")
    try:
        pattern.encode()
    except UnicodeEncodeError:
        raise _invalid("the pattern contains an unpaired surrogate") from None


def _invalid(problem: str) -> ToolError:
    return ToolError("invalid_pattern", problem)


def _include(text: str | None) -> tuple[tuple[re.Pattern[str], bool] | None, tuple[str, ...]]:
    """Return the test that a path must pass, and the names to narrow the search by."""
    if text is None:
        return None, ()
    wanted = not text.startswith("!")
    glob = parse_glob(text if wanted else text[1:])
    if not wanted:
        return (glob.compiled(), False), ()
    return (None if glob.names_suffice else (glob.compiled(), True)), glob.names


def _taker(gathering: Gathering, mode: OutputMode) -> Callable[[bytes], bool]:
    if mode == "content":
        return gathering.take_lines
    return gathering.take_counts if mode == "count" else gathering.take_paths


async def _answer(
    gathering: Gathering,
    ending: Ending,
    request: TextRequest,
    limits: TextLimits,
    context: ToolCallContext,
    tool: str,
) -> TextFound:
    rows = sorted(gathering.rows, key=attrgetter("path"))  # the lines of a file come in order
    shown = _head(rows, limits)
    whole: Path | None = None
    notes: list[str] = []
    if ending == "timed_out":
        notes.append(f"stopped after {limits.seconds:g} s; narrow the search by path or include")
    count = len(rows) + gathering.rest_count
    if len(shown) < count:
        whole = await asyncio.to_thread(_keep, rows, gathering.rest, context, tool)
        notes.append(f"{len(shown)} of {count} shown; the file at output_path has them all")
    if gathering.more:
        reached = request.head_limit is not None and len(rows) >= request.head_limit
        notes.append("there are more than head_limit" if reached else "there may be more: narrow the search")
    total = sum(row.count or 0 for row in rows) if request.mode == "count" else count
    return TextFound(shown, total, bool(notes), "; ".join(notes) or None, whole)


def _head(rows: list[Row], limits: TextLimits) -> list[dict[str, Any]]:
    rows = rows if limits.shown_rows is None else rows[: limits.shown_rows]
    return first_fitting(map(Row.as_json, rows), limits.shown_bytes, orjson.dumps, batch=_BATCH)


def _keep(rows: list[Row], rest: bytes, context: ToolCallContext, tool: str) -> Path:
    """Write all rows to a file, the way grep prints them."""
    text = "".join([_text(row) for row in rows]).encode("utf-8", "replace")
    return write_sidecar(context, tool, text + rest, "txt")


def _text(row: Row) -> str:
    if row.line is None:
        return f"{row.file}\n" if row.count is None else f"{row.file}:{row.count}\n"
    text = f"{row.file}:{row.line}:{row.content or ''}\n"
    if row.before:
        numbered = enumerate(row.before, row.line - len(row.before))
        text = "".join(f"{row.file}-{number}-{one}\n" for number, one in numbered) + text
    if row.after:
        text += "".join(f"{row.file}-{number}-{one}\n" for number, one in enumerate(row.after, row.line + 1))
    return text
