"""`search.grep`: a regular expression over file contents.

Owns: the tool's parameters and result. Never: the search itself (`text_search`).
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, Field

from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import (
    Boolean,
    Effects,
    FsRequirement,
    Integer,
    PositiveInteger,
    ToolDefinition,
    ToolParams,
    ToolResult,
    load_description,
)
from app.tools.processes.call_processes import CallProcesses
from app.tools.project_files.project_files import ProjectFiles
from app.tools.project_files.view import noted
from app.tools.search.engine import OutputMode, Ripgrep
from app.tools.search.text_search import Searching, TextLimits, TextRequest, search_text

MAX_CONTEXT = 50


class GrepParams(ToolParams):
    pattern: str = Field(min_length=1, description="Regular expression, matched line by line.")
    path: str = Field(default=".", description="Directory or file to search. Default: project root.")
    include: str | None = Field(
        default=None, description="Glob of files to search (*.ts, src/**/*.{ts,tsx}); ! excludes."
    )
    output_mode: OutputMode = Field(
        default="files_with_matches",
        description="content: matching lines. files_with_matches: paths. count: matches per file.",
    )
    head_limit: PositiveInteger | None = Field(default=None, description="Most results. Default: unlimited.")
    ignore_case: Boolean = Field(default=False, description="Match upper and lower case alike.")
    context: Integer = Field(
        default=0, ge=0, le=MAX_CONTEXT, description="Lines around each match, with output_mode content."
    )


class GrepMatch(BaseModel):
    # There may be thousands in an answer, so this is no ToolResult with fields of its own.

    file: str
    line: int | None = Field(default=None, description="Line number from 1 (content).")
    content: str | None = Field(default=None, description="The matching line (content).")
    count: int | None = Field(default=None, description="Matching lines in the file (count).")
    context_before: list[str] | None = None
    context_after: list[str] | None = None
    outside_cage: bool | None = Field(
        default=None, description="True when the agent's cage does not let it read the file."
    )


class GrepResult(ToolResult):
    matches: list[GrepMatch] = Field(description="Sorted by path and line.")
    total_matches: int = Field(
        description="Matching lines (content, count) or files; as far as the search went if truncated."
    )
    truncated: bool
    note: str | None = Field(default=None, description="What is left out, and why.")


def build(
    files: ProjectFiles,
    processes: CallProcesses,
    environment: Mapping[str, str],
    *,
    limits: TextLimits | None = None,
    engine: Ripgrep | None = None,
) -> ToolDefinition:
    """Return the tool over `files`. `environment` says where the system's ripgrep is. By default a
    search takes at most 60 s and shows 256 KB."""
    bounds = limits or TextLimits()
    searching = Searching(files, processes, engine or Ripgrep.installed(environment))

    async def run(params: GrepParams, context: ToolCallContext) -> GrepResult:
        request = TextRequest(
            pattern=params.pattern,
            path=params.path,
            include=params.include,
            mode=params.output_mode,
            head_limit=params.head_limit,
            ignore_case=params.ignore_case,
            context=params.context if params.output_mode == "content" else 0,
        )
        found = await search_text(searching, request, bounds, context, tool="search.grep")
        result = GrepResult.model_validate(  # thousands of matches at once, not one by one
            {
                "matches": found.rows,
                "total_matches": found.total,
                "truncated": found.truncated,
                "note": noted(context, found.note),
            }
        )
        return result if found.whole is None else result.whole_in(found.whole)

    return ToolDefinition(
        name="search.grep",
        title="Search file contents",
        description=load_description("app.tools.search", "grep.md"),
        parameters=GrepParams,
        result=GrepResult,
        run=run,
        acp_kind="search",
        requires=(FsRequirement("ro", filtered=True),),
        read_only=True,
        effects_of=lambda params: Effects(reads=(params.path,)),
        max_output_bytes=2 * bounds.shown_bytes,
    )
