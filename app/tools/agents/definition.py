"""`agent-<key>`: a subagent as a tool of the agent that it belongs to.

Owns: the tool's name, parameters and description. Never: the registry, where no such tool stands:
an agent brings its own with each call; nor running the subagent (the harness does).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.tools.contract.call import ToolCallContext
from app.tools.contract.child_answer import ChildAnswer
from app.tools.contract.definition import GivenParams, ToolDefinition
from app.tools.contract.ports import ChildTask

PREFIX = "agent-"
MAX_ANSWER_BYTES = 100_000


class ChildParams(GivenParams):
    """The input of a subagent. `background` is set by the `task` tool, never by a model."""

    background: bool = False


def agent_tool_name(key: str) -> str:
    """Return the name of the tool that calls the subagent `key`."""
    return PREFIX + key


def agent_tool(key: str, description: str, schema: Mapping[str, Any]) -> ToolDefinition:
    """Return the tool; `schema` is the JSON Schema of the subagent's input."""

    async def run(params: ChildParams, context: ToolCallContext) -> ChildAnswer:
        return await context.ports.delegate(ChildTask(key, params.given, params.background))

    return ToolDefinition(
        name=agent_tool_name(key),
        title=f"Call the agent {key}",
        description=description,
        parameters=ChildParams,
        schema=schema,
        result=ChildAnswer,
        run=run,
        acp_kind="other",
        source="agent",
        body_field="message",
        max_output_bytes=MAX_ANSWER_BYTES,
    )
