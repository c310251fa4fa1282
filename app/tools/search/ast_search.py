"""`search.ast`: finds code by its structure.

Owns: the tool's parameters, result and bounds; marking matches outside the cage. Never: parsing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import orjson
from pydantic import Field

from app.tools.ast_grep.engine import AstGrep, Ending, by_pattern
from app.tools.ast_grep.found import Found
from app.tools.ast_grep.languages import Language, extension_of, searched_extensions
from app.tools.ast_grep.listing import Folder, SourceFiles
from app.tools.ast_grep.pattern import Pattern
from app.tools.ast_grep.snapshot import Snapshot, snapshot
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    Effects,
    FsRequirement,
    Integer,
    ToolDefinition,
    ToolParams,
    ToolResult,
    load_description,
)
from app.tools.contract.output import write_sidecar
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.threads import to_the_end
from app.tools.project_files.view import Verdict, noted
from app.tools.search import ast_matches
from app.tools.search.ast_matches import AstMatch
from app.tools.search.scope import Anything, Scope, open_scope

SECONDS = 60.0
MAX_MATCHES = 10_000
MAX_READ_BYTES = 32 * 1024 * 1024
MAX_SHOWN_BYTES = 150_000
MAX_CONTEXT = 200
MAX_NAMED = 10


class SearchAstParams(ToolParams):
    pattern: str = Field(description="Code to find, with $NAME for one node and $$$NAME for several.")
    lang: Language = Field(description="The language of the pattern and of the files searched.")
    paths: list[str] | None = Field(
        default=None, max_length=100, description="Folders or files to search. Default: the project."
    )
    globs: list[str] | None = Field(
        default=None, max_length=100, description="Only files that match; with a leading ! none that do."
    )
    context: Integer = Field(default=0, ge=0, description="Lines to show before and after each match.")


class SearchAstResult(ToolResult):
    matches: list[AstMatch]
    count: int = Field(description="How many matches there are, also where not all are shown.")
    truncated: bool = Field(description="Whether not everything was searched or is shown.")
    timed_out: bool | None = None
    note: str | None = None


@dataclass(slots=True)
class _Harvest:
    """The matches so far, their bytes, and what may be missing."""

    matches: dict[tuple[str, int, int | None, int | None], AstMatch] = field(default_factory=dict)
    found: int = 0
    read_bytes: int = 0
    endings: set[Ending] = field(default_factory=set)
    failed: list[str] = field(default_factory=list)

    def room(self) -> bool:
        return self.found < MAX_MATCHES and self.read_bytes <= MAX_READ_BYTES


def build(
    files: ProjectFiles,
    processes: CallProcesses,
    engine: AstGrep,
    sources: SourceFiles,
    *,
    seconds: float = SECONDS,
) -> ToolDefinition:
    """Return the tool. `seconds` is the time a call may take before it answers with what it has."""

    async def run(params: SearchAstParams, context: ToolCallContext) -> SearchAstResult:
        deadline = asyncio.get_running_loop().time() + seconds
        understanding = engine.started_by(await processes.for_reading(context))
        pattern = await understanding.understand(params.pattern, params.lang)
        search = _Search(files, processes, engine, sources, pattern, params, context, deadline)
        for path in params.paths or ["."]:
            await search.look_in(path)
        return await asyncio.to_thread(_result, search.harvest, pattern, context)

    return ToolDefinition(
        name="search.ast",
        title="Search code by structure",
        description=load_description("app.tools.search", "ast_search.md"),
        parameters=SearchAstParams,
        result=SearchAstResult,
        run=run,
        acp_kind="search",
        requires=(FsRequirement("ro", filtered=True),),
        read_only=True,
        effects_of=lambda params: Effects(reads=tuple(params.paths or ["."])),
    )


class _Search:
    def __init__(
        self,
        files: ProjectFiles,
        processes: CallProcesses,
        engine: AstGrep,
        sources: SourceFiles,
        pattern: Pattern,
        params: SearchAstParams,
        context: ToolCallContext,
        deadline: float,
    ) -> None:
        self.harvest = _Harvest()
        self._processes = processes
        self._engine = engine
        self._sources = sources
        self._pattern = pattern
        self._params = params
        self._files = files
        self._context = context
        self._own = files.workspace(context)
        self._free = files.workspace(context, policy=Anything())
        self._deadline = deadline

    async def look_in(self, path: str) -> None:
        async with open_scope(self._files, self._context, path) as scope:
            children = await self._processes.for_reading(self._context, aside=scope.aside)
            self._engine, self._sources = (
                self._engine.started_by(children),
                self._sources.started_by(children),
            )
            found: dict[str, list[Found]] = {}
            if scope.only is None:
                await self._in_folder(scope, found)
            else:
                await self._in_file(scope, scope.only, found)
            await asyncio.to_thread(self._keep, scope, found)

    async def _in_folder(self, scope: Scope, into: dict[str, list[Found]]) -> None:
        pattern = self._pattern
        listing = await self._sources.below(
            Folder(scope.descriptor, scope.real, scope.root),
            searched_extensions(pattern.language),
            globs=self._params.globs or [],
            literal=pattern.literal,
            deadline=self._deadline,
        )
        if not listing.complete:
            self.harvest.endings.add("timed_out")
        await self._run(scope, into, scope.descriptor, listing.names, None)

    async def _in_file(self, scope: Scope, name: str, into: dict[str, list[Found]]) -> None:
        """Search one named file, whatever its extension and encoding."""
        usual = searched_extensions(self._pattern.language)
        extension = extension_of(name) if extension_of(name) in usual else usual[0]

        def copy(copies: Snapshot) -> list[str]:
            text = ast_matches.read_text(self._free, scope.shown(name.encode()))
            return [] if text is None else [copies.add(text, extension)]

        async with snapshot(self._processes.snapshots) as copies:
            names: list[str] = []
            await to_the_end(partial(copy, copies), names.extend)
            await self._run(scope, into, copies.folder, names, name)

    async def _run(
        self,
        scope: Scope,
        into: dict[str, list[Found]],
        folder: int | Path,
        names: Sequence[str],
        real_name: str | None,
    ) -> None:
        verdicts: dict[str, Verdict] = {}

        def take(found: list[Found]) -> bool:
            for one in found:
                name = real_name or one.file
                if name not in verdicts:
                    verdicts[name] = scope.verdict(name.encode())
                if verdicts[name] == "hidden":
                    continue
                if not self.harvest.room():
                    return False
                self.harvest.found += 1
                self.harvest.read_bytes += one.size
                into.setdefault(name, []).append(one)
            return True

        query = by_pattern(self._pattern)
        outcome = await self._engine.search(folder, names, query, deadline=self._deadline, take=take)
        self.harvest.endings.add(outcome.ending)
        failed = (real_name or one for one in outcome.failed)
        self.harvest.failed += [
            scope.shown(one.encode()) for one in failed if scope.verdict(one.encode()) != "hidden"
        ]

    def _keep(self, scope: Scope, found: dict[str, list[Found]]) -> None:
        context = min(self._params.context, MAX_CONTEXT)
        for name in sorted(found):
            shown = scope.shown(name.encode())
            if scope.verdict(name.encode()) == "inside":
                matches = ast_matches.inside(self._own, shown, found[name], context)
            else:
                matches = ast_matches.outside(self._free, shown, found[name])
            for match in matches:
                place = (match.file, match.line, match.byte_start, match.byte_end)
                self.harvest.matches.setdefault(place, match)


def _result(harvest: _Harvest, pattern: Pattern, context: ToolCallContext) -> SearchAstResult:
    """Show what fits; where that is not all, the rest is in a file. Blocking."""
    matches = list(harvest.matches.values())
    lines = [orjson.dumps(match.model_dump(exclude_none=True)) for match in matches]
    fitting = _fitting(lines)
    incomplete = harvest.endings - {"complete"}
    result = SearchAstResult(
        matches=matches[:fitting],
        count=len(matches),
        truncated=bool(incomplete or harvest.failed) or fitting < len(matches),
        timed_out="timed_out" in incomplete or None,
        note=noted(context, _note(harvest, incomplete, pattern)),
    )
    if fitting == len(matches):
        return result
    return result.whole_in(write_sidecar(context, "search.ast", b"\n".join([*lines, b""]), "jsonl"))


def _fitting(lines: list[bytes]) -> int:
    size = 0
    for count, line in enumerate(lines):
        size += len(line) + 1
        if size > MAX_SHOWN_BYTES:
            return count
    return len(lines)


def _note(harvest: _Harvest, incomplete: set[Ending], pattern: Pattern) -> str | None:
    if "timed_out" in incomplete:
        return "Time ran out; search fewer paths."
    if "stopped" in incomplete:
        return "There is more; make the pattern more specific or search fewer paths."
    if harvest.failed:
        names = ", ".join(harvest.failed[:MAX_NAMED])
        return f"{len(harvest.failed)} files are too much for this pattern and were not searched: {names}"
    if not harvest.matches:
        return f"No match. The pattern was read as a {pattern.kind}; write more around it to mean another."
    return None
