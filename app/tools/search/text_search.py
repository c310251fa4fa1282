"""Searches file contents, for any tool.

Owns: the steps of a search, its limits, what is shown and what goes to a file. Never: parameters of tools.
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
from app.tools.search.gathering import Gathering, LongLines, Row
from app.tools.search.glob_pattern import parse_glob
from app.tools.search.kept_lists import KeptLists
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
    """`rows` are sorted by path and line; `total` counts all results (as far as the search went, with
    `truncated`); `whole` is the file with what was cut."""

    rows: list[dict[str, Any]]
    total: int
    truncated: bool
    note: str | None = None
    whole: Path | None = None


async def search_text(
    searching: Searching, request: TextRequest, limits: TextLimits, context: ToolCallContext, *, tool: str
) -> TextFound:
    """Search; `tool` names the file with the whole result. Raises ToolError `invalid_pattern`,
    `invalid_path`, `file_not_found`, `capability_denied`, `permission_denied` or `search_failed`."""
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
        search = Search(searching, scope, context)
        walk = await search.walk(names)
        query = TextQuery(request.pattern, request.mode, request.ignore_case, request.context)
        end = time.monotonic() + limits.seconds
        ending = await search.gather(query, walk, limits.seconds, gathering)
        long_lines = LongLines(gathering.rows, scope)
        if long_lines and len(gathering.rows) <= MOST_LOOKED_AT_AGAIN:
            left = min(max(end - time.monotonic(), 0.0), LONG_LINES_SECONDS)
            await search.look_again(query, walk, left, long_lines)
    return await _answer(gathering, ending, request, limits, context, tool)


@dataclass(frozen=True, slots=True)
class Search:
    searching: Searching
    scope: Scope
    context: ToolCallContext

    async def walk(self, names: tuple[str, ...]) -> Walk:
        if self.scope.only is not None:
            return Walk(only=self.scope.only)
        above = await asyncio.to_thread(rules_above, self.scope.real, self.scope.root)
        return Walk(names=names, levels=above.levels, repositories=above.repositories)

    async def run(self, query: TextQuery | None, walk: Walk, seconds: float) -> EngineRun:
        """Return the search for `query`, or for all files. Where there are no cages it runs with the daemon's
        rights for a caged caller too: ripgrep starts nothing, and its results are judged."""
        processes, engine = self.searching.processes, self.searching.engine
        children: ChildStarter = processes.own
        if processes.has_cages:
            children = await processes.for_reading(self.context, aside=self.scope.aside)
        command = engine.files(walk) if query is None else engine.text(query, walk)
        return EngineRun(children, command, self.scope.descriptor, self.context.session_id, seconds)

    async def gather(self, query: TextQuery, walk: Walk, seconds: float, gathering: Gathering) -> Ending:
        """Search. For a caged caller search first what it may read, in a cage of that, then what it may know
        of."""
        take = _taker(gathering, query.mode)
        if not self._reads_inside:
            ending = await (await self.run(query, walk, seconds)).read(take)
            gathering.finish()
            return ending
        end = time.monotonic() + seconds
        ending = "whole"
        inside = await self._run_inside(query, walk, seconds)
        if inside is not None:
            gathering.begin("inside")
            ending = await inside.read(take)
            gathering.finish()
        cage = self.context.cage
        if ending == "whole" and not gathering.more and (cage is None or cage.get("outside") == "mark"):
            gathering.begin("outside")
            ending = await (await self.run(query, walk, max(end - time.monotonic(), 0.0))).read(take)
            gathering.finish()
        return ending

    async def look_again(self, query: TextQuery, walk: Walk, seconds: float, long_lines: LongLines) -> None:
        """Find the first match in long lines. Lines for which this fails keep their beginning."""
        around = replace(query, context=0, around=True)
        there = walk if walk.only else replace(walk, names=long_lines.names() or walk.names)
        try:
            find = self._run_inside if self._reads_inside else self.run
            run = await find(around, there, seconds)
            if run is not None and await run.read(long_lines.take) == "whole":
                long_lines.finish()
        except ToolError:
            return

    @property
    def _reads_inside(self) -> bool:
        """Whether what the caller may read is searched by itself, in a cage of that."""
        caged = self.context.cage is not None and self.scope.aside is None
        return caged and self.searching.processes.reads_twice

    async def _run_inside(self, query: TextQuery, walk: Walk, seconds: float) -> EngineRun | None:
        """Return the search in a cage of what the caller may read; None when that is nothing."""
        real = self.scope.real
        inside = await self.searching.processes.for_reading_inside(self.context, real)
        if inside is None:
            return None
        command = self.searching.engine.text(query, walk)
        return EngineRun(inside, command, real, self.context.session_id, seconds)


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
