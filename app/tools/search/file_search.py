"""Finds files by name, newest first.

Owns: the steps of such a search, its limits and order. Never: parameters of tools.

Modification times are read in a thread while ripgrep still runs, through the descriptor of the folder.
"""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass
from pathlib import Path

from app.tools.contract.call import ToolCallContext
from app.tools.contract.output import write_sidecar
from app.tools.search.found_lines import PathReader
from app.tools.search.glob_pattern import Glob, parse_glob
from app.tools.search.kept_list import Timed
from app.tools.search.running import Ending
from app.tools.search.scope import Scope, open_scope
from app.tools.search.text_search import SIDECAR_BYTES, Search, Searching

MAX_FILES = 1_000_000


@dataclass(frozen=True, slots=True)
class FileLimits:
    """`shown` files are in the answer; up to `kept_bytes` of paths in the file beside it."""

    shown: int = 100
    kept_bytes: int = SIDECAR_BYTES
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class FilesFound:
    """The newest files first. `total` counts all that were found; `outside` are those of `files`
    that the caller's cage does not let it read; `whole` is the file that lists more."""

    files: list[str]
    total: int
    truncated: bool
    outside: list[str]
    note: str | None = None
    whole: Path | None = None


async def find_files(
    searching: Searching, pattern: str, path: str, limits: FileLimits, context: ToolCallContext, *, tool: str
) -> FilesFound:
    """Search; `tool` names the file with the whole result. Raises ToolError `invalid_pattern`,
    `invalid_path`, `file_not_found`, `capability_denied`, `permission_denied` or `search_failed`."""
    glob = parse_glob(pattern)
    async with open_scope(searching.files, context, path) as scope:
        kept = searching.kept
        known = None if kept is None else await kept.find(scope, glob, limits.shown)
        if known is not None:
            return await asyncio.to_thread(_answer, known, scope, "whole", limits, context, tool)
        found, ending = await _walked(searching, glob, scope, context, limits.seconds)
        answer = await asyncio.to_thread(_answer, found, scope, ending, limits, context, tool)
        if kept is not None:
            kept.want(scope.root)
    return answer


async def _walked(
    searching: Searching, glob: Glob, scope: Scope, context: ToolCallContext, seconds: float
) -> tuple[list[Timed], Ending]:
    search = Search(searching, scope, context)
    run = await search.run(None, await search.walk(glob.names), seconds)
    stamps = _Stamps(scope, glob)
    try:
        ending = await run.read(stamps.take)
    finally:
        await stamps.settled()
    return await asyncio.to_thread(sorted, stamps.found), ending


class _Stamps:
    """Collects matching files and their times; one thread at a time, over all that has arrived."""

    def __init__(self, scope: Scope, glob: Glob) -> None:
        self.found: list[Timed] = []
        self._scope = scope
        self._reader = PathReader()
        exact = glob.names_suffice and scope.only is None
        self._test: re.Pattern[str] | None = None if exact else glob.compiled()
        self._waiting: list[bytes] = []
        self._working: asyncio.Future[None] | None = None

    def take(self, chunk: bytes) -> bool:
        self._waiting += self._reader.feed(chunk)
        if self._working is None:
            self._start()
        return len(self.found) > MAX_FILES

    async def settled(self) -> None:
        """Wait until nothing works on the folder any more; also when cancelled."""
        cancelled: asyncio.CancelledError | None = None
        while self._working is not None:
            try:
                await asyncio.wait({self._working})
            except asyncio.CancelledError as request:
                cancelled = request
                self._waiting.clear()
        if cancelled is not None:
            raise cancelled

    def _start(self) -> None:
        batch, self._waiting = self._waiting, []
        self._working = asyncio.get_running_loop().run_in_executor(None, self._stamp, batch)
        self._working.add_done_callback(self._go_on)

    def _go_on(self, done: asyncio.Future[None]) -> None:
        self._working = None
        if self._waiting:
            self._start()

    def _stamp(self, paths: list[bytes]) -> None:
        test, folder = self._test, self._scope.descriptor
        if test is not None:
            paths = [path for path in paths if test.fullmatch(path.decode("utf-8", "surrogateescape"))]
        for path in paths:
            try:
                status = os.stat(path, dir_fd=folder, follow_symlinks=False)
            except OSError:  # gone since it was listed
                continue
            self.found.append((-status.st_mtime_ns, path))


def _answer(
    found: list[Timed], scope: Scope, ending: Ending, limits: FileLimits, context: ToolCallContext, tool: str
) -> FilesFound:
    verdicts = {path: scope.verdict(path) for _, path in found} if scope.filters else {}
    paths = [path for _, path in found if verdicts.get(path) != "hidden"]
    shown = [scope.shown(path) for path in paths[: limits.shown]]
    outside = [scope.shown(path) for path in paths[: limits.shown] if verdicts.get(path) == "outside"]
    notes: list[str] = []
    whole: Path | None = None
    if ending == "timed_out":
        notes.append(f"stopped after {limits.seconds:g} s; narrow the search by path")
    if len(shown) < len(paths):
        before = scope.shown(b"").encode("utf-8", "replace")
        kept = before + (b"\n" + before).join(paths[: limits.kept_bytes // (len(before) + 2)])
        whole = write_sidecar(context, tool, kept[: limits.kept_bytes] + b"\n", "txt")
        notes.append(f"the newest {len(shown)} of {len(paths)} shown; output_path lists more")
    return FilesFound(shown, len(paths), bool(notes), outside, "; ".join(notes) or None, whole)
