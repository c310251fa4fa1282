"""Search tools at a desk, over a ripgrep of the test's choice."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.bridges.processes.process import ChildProcesses
from app.programs import on_path, packaged
from app.tools.dispatch.registry import ToolRegistry
from app.tools.dispatch.service import ToolService
from app.tools.file import read
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.read_tracker import ReadTracker
from app.tools.search import glob, grep
from app.tools.search.engine import Ripgrep, TextQuery, Walk
from app.tools.search.file_search import FileLimits
from app.tools.search.running import OutputPipe
from app.tools.search.text_search import TextLimits

ENGINES = ("packaged", "system")


def engine_called(name: str, folder: Path) -> Ripgrep:
    """Return a ripgrep; the system's is a copy in `folder`, found by PATH."""
    program = packaged("rg")
    assert program is not None
    if name == "packaged":
        return Ripgrep(str(program))
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, folder / "rg")
    found = on_path("rg", {"PATH": f"relative:{folder}"})
    assert found == folder / "rg"
    return Ripgrep(str(found))


class ScriptEngine(Ripgrep):
    """Runs a shell script instead of a search."""

    def __init__(self, script: str) -> None:
        super().__init__("/bin/sh")
        self.script = script

    def text(self, query: TextQuery, walk: Walk) -> list[str]:
        return [self.program, "-c", f"PATH=/usr/bin:/bin; {self.script}"]

    def files(self, walk: Walk) -> list[str]:
        return self.text(TextQuery("", "content"), walk)


def counted_reads(monkeypatch: pytest.MonkeyPatch) -> list[OutputPipe]:
    """Return a list that grows with each reading of what a search prints: with the second one, the first has
    been taken in."""
    reads: list[OutputPipe] = []
    read = OutputPipe.read

    async def counted(output: OutputPipe) -> bytes:
        reads.append(output)
        return await read(output)

    monkeypatch.setattr(OutputPipe, "read", counted)
    return reads


@asynccontextmanager
async def search_desk(
    desk: Any,
    engine: Ripgrep,
    *,
    text: TextLimits | None = None,
    files: FileLimits | None = None,
    closed: tuple[Path, ...] = (),
) -> AsyncIterator[Any]:
    """Yield the desk with `file.read`, `search.grep` and `search.glob`; no child outlives it."""
    children = ChildProcesses()
    processes = CallProcesses.uncaged(children)
    project_files = ProjectFiles(reads=ReadTracker(), closed=(desk.base / "data", *closed))
    tools = (
        read.build(project_files, processes, {}),
        grep.build(project_files, processes, {}, limits=text, engine=engine),
        glob.build(project_files, processes, {}, limits=files, engine=engine),
    )
    try:
        yield replace(desk, service=ToolService(ToolRegistry(tools)))
    finally:
        await children.aclose()
