"""`kaged.checkpoint`: asks for a pause, so that the operator can look.

Owns: the tool's parameters and result. Never: pausing (the harness).
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from app.tools.contract.call import ToolCallContext
from app.tools.contract.definition import ToolDefinition, ToolParams, ToolResult, load_description

MAX_REASON_CHARACTERS = 2_000


class CheckpointParams(ToolParams):
    reason: str | None = Field(
        default=None,
        max_length=MAX_REASON_CHARACTERS,
        description="Why the checkpoint is needed. Shown to the operator in the UI.",
    )


class CheckpointResult(ToolResult):
    status: Literal["checkpoint_taken"] = "checkpoint_taken"
    message: str = "Execution paused. Awaiting operator."


def build() -> ToolDefinition:
    async def run(params: CheckpointParams, context: ToolCallContext) -> CheckpointResult:
        context.ports.request_checkpoint(params.reason)
        return CheckpointResult()

    return ToolDefinition(
        name="kaged.checkpoint",
        title="Pause for the operator",
        description=load_description("app.tools.planning", "checkpoint.md"),
        parameters=CheckpointParams,
        result=CheckpointResult,
        run=run,
        acp_kind="think",
        root_default=True,
    )
