"""Search tools at a desk, over an engine of the test's choice."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.bridges.process import ChildProcesses
from app.programs import on_path, packaged
from app.tools.call_processes import CallProcesses
from app.tools.file import read
from app.tools.project_files import ProjectFiles
from app.tools.read_tracker import ReadTracker
from app.tools.registry import ToolRegistry
from app.tools.search import glob, grep
from app.tools.search.engine import (
    Command,
    Engine,
    PythonEngine,
    Ripgrep,
    TextQuery,
    Walk,
)
from app.tools.search.file_search import FileLimits
from app.tools.search.text_search import TextLimits
from app.tools.service import ToolService

ENGINES = ("packaged", "system", "python")


def engine_called(name: str, folder: Path) -> Engine:
    """Return an engine; the system's rg is a copy in `folder`, found by PATH."""
    program = packaged("rg")
    assert program is not None
    if name == "packaged":
        return Ripgrep(program)
    if name == "python":
        return PythonEngine()
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, folder / "rg")
    found = on_path("rg", {"PATH": f"relative:{folder}"})
    assert found == folder / "rg"
    return Ripgrep(found)


@dataclass(frozen=True)
class ScriptEngine:
    """Runs a shell script instead of a search."""

    script: str
    name: str = "script"

    def text(self, query: TextQuery, walk: Walk) -> Command:
        return Command(["/bin/sh", "-c", self.script], {"PATH": "/usr/bin:/bin"})

    def files(self, walk: Walk) -> Command:
        return self.text(TextQuery("", "content"), walk)


@asynccontextmanager
async def search_desk(
    desk: Any,
    engine: Engine,
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
