"""`glob` and `grep`: the portable names of the search tools.

Owns: their parameters and the contract's bounds (1,000 entries, 200 matches). Never: searching.
"""

from __future__ import annotations

from pydantic import Field

from app.tools.contract.definition import ToolDefinition, ToolParams
from app.tools.locked.twin import twin
from app.tools.search.file_search import FileLimits
from app.tools.search.glob import GlobParams as SearchGlobParams
from app.tools.search.grep import GrepParams as SearchGrepParams
from app.tools.search.text_search import TextLimits

GLOB_LIMITS = FileLimits(shown=1_000)
GREP_LIMITS = TextLimits(shown_rows=200)


class GlobParams(ToolParams):
    pattern: str = Field(min_length=1, description="Glob, as **/*.test.ts or src/**/*.{ts,tsx}.")
    path: str = Field(default=".", description="Directory to search. Default: project root.")


class GrepParams(ToolParams):
    pattern: str = Field(min_length=1, description="Regular expression, matched line by line.")
    path: str = Field(default=".", description="Directory or file to search. Default: project root.")
    include: str | None = Field(
        default=None, description="Glob of files to search (*.ts, src/**/*.{ts,tsx}); ! excludes."
    )


def glob(original: ToolDefinition) -> ToolDefinition:
    """Return `glob` over a `search.glob` that was built with `GLOB_LIMITS`."""
    return twin(original, "glob", GlobParams, _finding)


def grep(original: ToolDefinition) -> ToolDefinition:
    """Return `grep` over a `search.grep` that was built with `GREP_LIMITS`."""
    return twin(original, "grep", GrepParams, _searching)


def _finding(params: GlobParams) -> SearchGlobParams:
    return SearchGlobParams(pattern=params.pattern, path=params.path)


def _searching(params: GrepParams) -> SearchGrepParams:
    return SearchGrepParams(
        pattern=params.pattern, path=params.path, include=params.include, output_mode="content"
    )
