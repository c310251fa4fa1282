"""Finds what a structural rewrite would change.

Owns: listing, copying and parsing, batch by batch; files that do not parse. Never: writing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from app.errors import ToolError
from app.tools.ast_grep.engine import AstGrep, Query, Take, by_pattern, syntax_errors
from app.tools.ast_grep.found import Found
from app.tools.ast_grep.languages import LanguageName, searched_extensions
from app.tools.ast_grep.listing import SourceFiles
from app.tools.ast_grep.pattern import Pattern
from app.tools.ast_grep.snapshot import snapshot
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import ToolResult
from app.tools.edit.ast_files import (
    ALL_EXTENSIONS,
    Copies,
    Start,
    begin,
    common_language,
    copy_texts,
    readable,
)
from app.tools.edit.ast_plan import Plan, PlannedFile, choose
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.threads import to_the_end
from app.workspace import Workspace

PARSE_ALL_UP_TO = 200
"""Up to so many files, all are parsed and those with errors named; of more, only those that hold
the patterns' words."""
MAX_MATCHES = 100_000
MAX_MATCH_BYTES = 128 * 1024 * 1024
MAX_PARSE_ERRORS = 50


class ParseError(ToolResult):
    path: str
    message: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """What to rewrite, and until when by the event loop's clock."""

    rewrites: Mapping[str, str]
    language: LanguageName | None
    path: str
    glob: str | None
    deadline: float


@dataclass(slots=True)
class Survey:
    """What was looked at besides what is in the plan."""

    files_searched: int
    parse_errors: list[ParseError] = field(default_factory=list)


Rewrites = Sequence[tuple[Pattern, str]]


class Surveyor:
    """Shared by all calls."""

    def __init__(
        self, files: ProjectFiles, processes: CallProcesses, engine: AstGrep, sources: SourceFiles
    ) -> None:
        self._files = files
        self._processes = processes
        self._engine = engine
        self._sources = sources

    async def survey(self, request: Request, context: ToolCallContext, plan: Plan) -> Survey:
        """Fill `plan` with the changes of the request. Raises ToolError `invalid_params`, `invalid_pattern`,
        `timeout`, `too_many_matches`, and `parse_error` when the only file cannot be parsed."""
        workspace = self._files.workspace(context)
        children = await self._processes.for_reading(context)
        engine = self._engine.started_by(children)
        async with begin(self._files, context, request.path) as start:
            finder = _Finder(self._sources.started_by(children), start, request)
            language, candidates = await self._candidates(finder, request, workspace)
            rewrites = await _understand(engine, request.rewrites, language)
            paths = candidates
            if len(candidates) > PARSE_ALL_UP_TO:
                paths = await finder.possible(candidates, language, [pattern for pattern, _ in rewrites])
        found = Survey(len(candidates))
        while paths and not plan.limit_reached:
            parser = _Parser(engine, rewrites, language, request.deadline)
            async with snapshot(self._processes.snapshots) as folder:
                copies = Copies()
                await to_the_end(partial(copy_texts, workspace, paths, language, folder, copies), _nothing)
                await parser.run(folder.folder, copies, parse_all=len(candidates) <= PARSE_ALL_UP_TO)
            await asyncio.to_thread(parser.fill, copies, plan, found)
            paths = paths[copies.taken :]
        if found.parse_errors and found.files_searched == 1:
            only = found.parse_errors[0]
            raise ToolError("parse_error", f"{only.path}: {only.message}", detail={"path": only.path})
        return found

    async def _candidates(
        self, finder: _Finder, request: Request, workspace: Workspace
    ) -> tuple[LanguageName, list[str]]:
        known = request.language
        extensions = ALL_EXTENSIONS if known is None else searched_extensions(known)
        paths = await asyncio.to_thread(readable, workspace, await finder.paths(extensions))
        return known or common_language(paths), paths


class _Finder:
    """Lists paths for one request."""

    def __init__(self, sources: SourceFiles, start: Start, request: Request) -> None:
        self._sources = sources
        self._start = start
        self._globs = [request.glob] if request.glob else []
        self._deadline = request.deadline

    async def paths(self, extensions: Sequence[str], literal: str | None = None) -> list[str]:
        start = self._start
        if start.folder is None:
            return [start.path]
        listing = await self._sources.below(
            start.folder, extensions, globs=self._globs, literal=literal, deadline=self._deadline
        )
        if not listing.complete:
            raise _out_of_time()
        return [start.path + name for name in listing.names]

    async def possible(
        self, candidates: list[str], language: LanguageName, patterns: Sequence[Pattern]
    ) -> list[str]:
        """Return those of the candidates in which one of the patterns can match at all."""
        possible: set[str] = set()
        for literal in {pattern.literal for pattern in patterns}:
            if literal is None:
                return candidates
            possible.update(await self.paths(searched_extensions(language), literal))
        return [path for path in candidates if path in possible]


class _Parser:
    """Has one batch of copies parsed, and keeps what is found in it."""

    def __init__(self, engine: AstGrep, rewrites: Rewrites, language: LanguageName, deadline: float) -> None:
        self._engine = engine
        self._rewrites = rewrites
        self._language = language
        self._deadline = deadline
        self._found: dict[str, list[tuple[int, Found]]] = {}
        self._broken: dict[str, int] = {}
        self._failed: set[str] = set()
        self._count = self._bytes = 0

    async def run(self, folder: Path, copies: Copies, *, parse_all: bool) -> None:
        names = list(copies.by_name)
        for number, (pattern, template) in enumerate(self._rewrites):

            def take(found: list[Found], number: int = number) -> bool:
                for one in found:
                    self._count += 1
                    self._bytes += one.size
                    self._found.setdefault(one.file, []).append((number, one))
                return self._count <= MAX_MATCHES and self._bytes <= MAX_MATCH_BYTES

            await self._search(folder, names, by_pattern(pattern, template), take)

        def note(found: list[Found]) -> bool:
            for one in found:
                self._broken[one.file] = min(one.line, self._broken.get(one.file, one.line))
            return True

        suspects = names if parse_all else sorted(self._found)
        await self._search(folder, suspects, syntax_errors(self._language), note)

    async def _search(self, folder: Path, names: Sequence[str], query: Query, take: Take) -> None:
        outcome = await self._engine.search(folder, names, query, deadline=self._deadline, take=take)
        if outcome.ending == "timed_out":
            raise _out_of_time()
        if outcome.ending == "stopped":
            raise ToolError(
                "too_many_matches",
                "there are too many matches to rewrite at once, nothing was changed; narrow path or glob",
            )
        self._failed.update(outcome.failed)

    def fill(self, copies: Copies, plan: Plan, survey: Survey) -> None:
        """Add to the plan what was found. Blocking."""
        for path in copies.too_large:
            survey.parse_errors.append(ParseError(path=path, message="It is too large to be parsed."))
        for name, file in copies.by_name.items():
            if name in self._failed:
                message = "It is too much for this pattern; the file is left as it is."
                survey.parse_errors.append(ParseError(path=file.shown, message=message))
                continue
            if name in self._broken:
                line = self._broken[name]
                message = f"Line {line} cannot be parsed; the file is left as it is, use edit.text."
                survey.parse_errors.append(ParseError(path=file.shown, message=message, line=line))
                continue
            edits, skipped = choose(self._found.get(name, ()), file.text)
            plan.skipped_overlaps += skipped
            plan.add(PlannedFile(file.shown, file.key, file.digest, tuple(edits)))


async def _understand(engine: AstGrep, rewrites: Mapping[str, str], language: LanguageName) -> Rewrites:
    understood = []
    for text, template in rewrites.items():
        pattern = await engine.understand(text, language)
        pattern.check_template(template)
        understood.append((pattern, template))
    return understood


def _nothing(_: None) -> None:
    pass


def _out_of_time() -> ToolError:
    return ToolError("timeout", "time ran out, nothing was changed; narrow path or glob")
