"""Runs ripgrep in a folder for a limited time, and stops it when there is enough.

Owns: the child, its output pipe, and what its end means. Never: the results.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from app.bridges.processes.child import Child, SpawnFailed
from app.bridges.processes.child_starter import ChildStarter
from app.errors import ToolError
from app.programs import ENVIRONMENT

CAPACITY = 1024 * 1024
PIECE = 16 * 1024
PAUSE_SECONDS = 0.001
MAX_COMPLAINT = 16 * 1024
MEMORY = 1024 * 1024 * 1024
"""Bytes that an engine may allocate: it keeps a whole line, and a whole `.gitignore`, however large."""
KILLED = 128

Ending = Literal["whole", "enough", "timed_out"]


@dataclass(frozen=True, slots=True)
class EngineRun:
    """One command of an engine, to be run in the folder that is open as `folder`, or at that path in a
    cage."""

    children: ChildStarter
    command: Sequence[str]
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
                child.limit_memory(MEMORY)
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
            raise _killed(complaint)
        if complaint.strip():
            raise _complaint(complaint.decode("utf-8", "replace").strip())
        return "whole"

    async def _start(self, output: OutputPipe) -> Child:
        try:
            return await self.children.start(
                self.command,
                owner=self.owner,
                cwd=self.folder,
                env=ENVIRONMENT,
                stdout=output.inner,
            )
        except SpawnFailed as problem:
            raise ToolError("search_failed", f"the search could not be started: {problem.reason}") from None


class OutputPipe:
    """`inner` is the descriptor that the program gets; `hand_over` closes it on our side."""

    def __init__(self) -> None:
        self._outer, self._inner = os.pipe()
        os.set_blocking(self._outer, False)
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with suppress(OSError):  # a user may have only so much memory in pipes
                fcntl.fcntl(self._outer, fcntl.F_SETPIPE_SZ, CAPACITY)
        self._hurried = True

    def __enter__(self) -> OutputPipe:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hand_over()
        os.close(self._outer)

    @property
    def inner(self) -> int:
        return self._inner

    def hand_over(self) -> None:
        if self._inner >= 0:
            os.close(self._inner)
            self._inner = -1

    async def read(self) -> bytes:
        """Return what there is, at least one byte; nothing at the end of the output.

        After a small piece the next is waited for a little, so that several come at once.
        """
        if not self._hurried:
            await asyncio.sleep(PAUSE_SECONDS)
        while True:
            try:
                chunk = os.read(self._outer, CAPACITY)
            except BlockingIOError:
                await self._readable()
            else:
                self._hurried = len(chunk) >= PIECE
                return chunk

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        loop.add_reader(self._outer, _settle, ready)
        try:
            await ready
        finally:
            loop.remove_reader(self._outer)


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


def _killed(complaint: bytes) -> ToolError:
    if b"memory allocation" in complaint:
        return ToolError(
            "search_failed",
            f"the search was ended when it needed more than {MEMORY >> 20:,} MB: a line, or a `.gitignore`, "
            "is too large; search another folder, or name the file by `path`",
        )
    return ToolError("search_failed", "the search was killed before its end; search again")


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
