"""`search.glob`: files by name, newest first.

Owns: the tool's parameters and result. Never: the search itself (`file_search`).
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    Effects,
    FsRequirement,
    ToolDefinition,
    ToolParams,
    ToolResult,
    load_description,
)
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.view import noted
from app.tools.search.engine import Ripgrep
from app.tools.search.file_search import FileLimits, find_files
from app.tools.search.kept_lists import KeptLists
from app.tools.search.text_search import Searching


class GlobParams(ToolParams):
    pattern: str = Field(min_length=1, description="Glob, as **/*.test.ts or src/**/*.{ts,tsx}.")
    path: str = Field(default=".", description="Directory to search. Default: project root.")


class GlobResult(ToolResult):
    files: list[str] = Field(description="Newest first.")
    count: int = Field(description="How many files match, also beyond those listed.")
    truncated: bool
    outside_cage: list[str] | None = Field(
        default=None, description="Those of the files that the agent's cage does not let it read."
    )
    note: str | None = Field(default=None, description="What is left out, and why.")


def build(
    files: ProjectFiles,
    processes: CallProcesses,
    environment: Mapping[str, str],
    *,
    limits: FileLimits | None = None,
    engine: Ripgrep | None = None,
    kept: KeptLists | None = None,
) -> ToolDefinition:
    """Return the tool. `environment` says where the system's ripgrep is. By default a search takes at most 60
    s and shows 100 files. `kept` makes later searches of a project quick."""
    bounds = limits or FileLimits()
    searching = Searching(files, processes, engine or Ripgrep.installed(environment), kept)

    async def run(params: GlobParams, context: ToolCallContext) -> GlobResult:
        found = await find_files(searching, params.pattern, params.path, bounds, context, tool="search.glob")
        result = GlobResult(
            files=found.files,
            count=found.total,
            truncated=found.truncated,
            outside_cage=found.outside or None,
            note=noted(context, found.note),
        )
        return result if found.whole is None else result.whole_in(found.whole)

    return ToolDefinition(
        name="search.glob",
        title="Find files by name",
        description=load_description("app.tools.search", "glob.md"),
        parameters=GlobParams,
        result=GlobResult,
        run=run,
        acp_kind="search",
        requires=(FsRequirement("ro", filtered=True),),
        read_only=True,
        effects_of=lambda params: Effects(reads=(params.path,)),
    )
