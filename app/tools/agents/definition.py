"""`agent-<key>`: a subagent as a tool of its parent agent.

Owns: the tool's name, parameters and description. Never: the registry; running the subagent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import GivenParams, ToolDefinition
from app.tools.contract.ports import ChildAnswer, ChildPlace, ChildTask

PREFIX = "agent-"
MAX_ANSWER_BYTES = 100_000


class ChildParams(GivenParams):
    """The input of a subagent. `background` and `workspace` are set by the `task` tool, never by a model."""

    background: bool = False
    workspace: ChildPlace | None = None


def agent_tool_name(key: str) -> str:
    return PREFIX + key


def agent_tool(key: str, description: str, schema: Mapping[str, Any]) -> ToolDefinition:
    """Return the tool; `schema` is the JSON Schema of the subagent's input."""

    async def run(params: ChildParams, context: ToolCallContext) -> ChildAnswer:
        return await context.ports.delegate(ChildTask(key, params.given, params.background, params.workspace))

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
