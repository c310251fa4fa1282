"""`call_tool`: how a model writes the call of a tool that its requests do not have in full.

Owns: the parameters, for the model and for the error of a call that names no tool. Never: the call: it is
replaced by the call of the named tool when it arrives (`harness.providers.called_tool`).
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from app.errors import RPC_TOOL_NOT_FOUND, ToolError
from app.messages import CALL_TOOL
from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import ToolDefinition, ToolParams, ToolResult, load_description


class CallToolParams(ToolParams):
    name: str = Field(min_length=1, max_length=200, description="Name of the tool.")
    arguments: dict[str, Any] = Field(default={}, description="Its parameters.")


def build() -> ToolDefinition:
    async def run(params: CallToolParams, _context: ToolCallContext) -> ToolResult:
        raise ToolError(
            "tool_not_found",
            f"{CALL_TOOL} is a form that models write; call {params.name[:100]!r} itself",
            rpc_code=RPC_TOOL_NOT_FOUND,
        )

    return ToolDefinition(
        name=CALL_TOOL,
        title="Call a found tool",
        description=load_description("app.tools.discovery", "call_tool.md"),
        parameters=CallToolParams,
        result=ToolResult,
        run=run,
        acp_kind="other",
    )
