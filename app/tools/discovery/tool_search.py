"""`tool_search`: finds the caller's tools that its requests do not have in full.

Owns: the tool's parameters and result. Never: which tools those are; the harness knows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic import Field

from app.messages import TOOL_SEARCH, ToolSpec
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import Integer, ToolDefinition, ToolParams, ToolResult, load_description
from app.tools.discovery.finding import found

MAX_QUERY_CHARACTERS = 500
MAX_NAMES = 100


class ToolSearchParams(ToolParams):
    query: str = Field(
        min_length=1, max_length=MAX_QUERY_CHARACTERS, description="What the tool is to do, or its name."
    )
    max_results: Integer = Field(default=3, ge=1, le=20, description="Most tools to return.")


class FoundTool(ToolResult):
    name: str
    description: str
    parameters: dict[str, Any] = Field(description="JSON Schema of its `arguments`.")


class ToolSearchResult(ToolResult):
    tools: list[FoundTool] = Field(description="The best matches, best first.")
    more: list[str] | None = Field(default=None, description="Further matches; search for them by name.")
    note: str | None = None


def search(specs: Sequence[ToolSpec], params: ToolSearchParams) -> ToolSearchResult:
    """Return what a query finds; where that is nothing, the names of the tools that there are."""
    best, others = found(specs, params.query, params.max_results)
    shown = [FoundTool(name=one.name, description=one.description, parameters=one.parameters) for one in best]
    names = [one.name for one in (others if best else specs)]
    note = None
    if not best:
        note = (
            "No tool matches. `more` has the names of the tools that can be found."
            if names
            else ("There are no tools to find: all that you have are listed.")
        )
    return ToolSearchResult(tools=shown, more=names[:MAX_NAMES] or None, note=note)


def build() -> ToolDefinition:
    async def run(params: ToolSearchParams, context: ToolCallContext) -> ToolSearchResult:
        return await asyncio.to_thread(search, context.ports.tools_to_find(), params)

    return ToolDefinition(
        name=TOOL_SEARCH,
        title="Find tools",
        description=load_description("app.tools.discovery", "tool_search.md"),
        parameters=ToolSearchParams,
        result=ToolSearchResult,
        run=run,
        acp_kind="search",
        read_only=True,
    )
