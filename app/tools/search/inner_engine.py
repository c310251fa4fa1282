"""Searching in the daemon itself: for callers in a cage, where no process can be started in one.

Owns: which searches take no longer than the files are large, and running these step by step in a thread.
Never: regular expressions; one that does not end could not be stopped here.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass
from pathlib import Path

from app.errors import ToolError
from app.tools.search.engine import TextQuery, Walk
from app.tools.search.python_engine import Search, path_of, walk
from app.tools.search.running import Ending

MAX_FILE = 16 * 1024 * 1024
MAX_TEXT = 1_000
STEP_SECONDS = 0.02
STEP_BYTES = 256 * 1024
_PLAIN = re.compile(r"(?:[^\\.+*?()|\[\]{}^$]|\\[^\w\s])+", re.ASCII)


@dataclass(frozen=True, slots=True)
class InnerRun:
    """One search in the folder that is open as `folder`, whose real path is `real`; without a `query` for
    all files. It has the same interface as `EngineRun`."""

    query: TextQuery | None
    walk: Walk
    folder: int
    real: Path
    seconds: float

    async def read(self, take: Callable[[bytes], bool]) -> Ending:
        """Hand what is found to `take` piece by piece, until it says that it has enough. Raises ToolError
        `cage_unavailable` for a pattern that is a regular expression."""
        end = time.monotonic() + self.seconds
        steps = self._steps()
        step: asyncio.Future[bytes | None] | None = None
        try:
            while time.monotonic() < end:
                step = asyncio.get_running_loop().run_in_executor(None, next, steps, None)
                piece = await asyncio.shield(step)
                if piece is None:
                    return "whole"
                if piece and take(piece):
                    return "enough"
            return "timed_out"
        finally:
            if step is not None:
                await asyncio.wait({step})
            steps.close()

    def _steps(self) -> Generator[bytes, None, None]:
        """Yield what was found in each step of the search, which may be nothing."""
        found = bytearray()
        search = None
        if self.query is not None:
            place = self._place()
            query = asdict(self.query)
            search = Search(query, found.extend, lambda line: place(line) >= 0, place, max_file=MAX_FILE)
        pause = time.monotonic() + STEP_SECONDS
        for file in walk(asdict(self.walk), self.folder, self.real):
            if search is None:
                found += path_of(file)
            else:
                search.file(file)
            if len(found) >= STEP_BYTES or time.monotonic() >= pause:
                yield bytes(found)
                found.clear()
                pause = time.monotonic() + STEP_SECONDS
        yield bytes(found)

    def _place(self) -> Callable[[str], int]:
        assert self.query is not None
        text = plain_text(self.query.pattern)
        if text is None:
            raise ToolError(
                "cage_unavailable",
                "A regular expression is searched for by a process in a cage, which this machine cannot "
                "hold. Search for plain text instead: without . * + ? ( ) [ ] { } | ^ $, or each of them "
                f"with a backslash before it, and at most {MAX_TEXT} characters; or use search.glob.",
            )
        if self.query.ignore_case:
            folded = text.casefold()
            return lambda line: line.casefold().find(folded)
        return lambda line: line.find(text)


def plain_text(pattern: str) -> str | None:
    """Return the text that a pattern stands for, None when it is more than a text."""
    if len(pattern) > MAX_TEXT or _PLAIN.fullmatch(pattern) is None:
        return None
    return re.sub(r"\\(.)", r"\1", pattern)
