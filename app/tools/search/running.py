"""Running a search engine: in the folder's descriptor, for a limited time, stopped when enough.

Owns: the child's life and what its end means. Never: the results themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.bridges.processes.child_starter import ChildStarter
from app.bridges.processes.process import Child, SpawnFailed
from app.errors import ToolError
from app.tools.search.engine import Command
from app.tools.search.output_pipe import OutputPipe

MAX_COMPLAINT = 16 * 1024
KILLED = 128

Ending = Literal["whole", "enough", "timed_out"]


@dataclass(frozen=True, slots=True)
class EngineRun:
    """One command of an engine, to be run in the folder that is open as `folder`, or at that path in a
    cage."""

    children: ChildStarter
    command: Command
    folder: int | Path
    owner: str
    seconds: float

    async def read(self, take: Callable[[bytes], bool]) -> Ending:
        """Hand the output to `take` piece by piece, until it says that it has enough.

        The child is gone when this returns or is cancelled. Raises ToolError `invalid_pattern`
        or `search_failed`.
        """
        with OutputPipe() as output:
            async with await self._start(output) as child:
                output.hand_over()
                assert child.stderr is not None
                try:
                    async with asyncio.timeout(self.seconds):
                        while chunk := await output.read():
                            if take(chunk):
                                return "enough"
                        complaint = await child.stderr.read(MAX_COMPLAINT)
                        code = await child.wait()
                except TimeoutError:
                    return "timed_out"
        if code > KILLED:
            raise ToolError("search_failed", "the search was killed before its end; search again")
        if complaint.strip():
            raise _complaint(complaint.decode("utf-8", "replace").strip())
        return "whole"

    async def _start(self, output: OutputPipe) -> Child:
        try:
            return await self.children.start(
                self.command.argv,
                owner=self.owner,
                cwd=self.folder,
                env=self.command.env,
                stdout=output.inner,
            )
        except SpawnFailed as problem:
            raise ToolError("search_failed", f"the search could not be started: {problem.reason}") from None


def _complaint(text: str) -> ToolError:
    """File problems are not reported by engines: what they say is about the pattern, or worse."""
    text = text.removeprefix("rg: ")
    if "regex" not in text and not text.startswith("pattern "):
        return ToolError("search_failed", f"the search failed: {text}")
    lines = [line for line in text.splitlines() if line.strip()]
    said = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")] or [
        line for line in lines[:2] if "--multiline" not in line
    ]
    problem = "; ".join(said).removeprefix("regex parse error: ")
    return ToolError(
        "invalid_pattern",
        f"the pattern is not a valid regular expression: {problem}. Escape characters that are meant "
        r"literally, as in foo\(bar\); look-around and backreferences do not exist, and a match stays "
        "within one line",
    )
