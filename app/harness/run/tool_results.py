"""The stored message and the event of one tool result.

Owns: their shapes. Pure. Never: when a call has a result (`tool_calls`).
"""

from __future__ import annotations

from typing import Any

from app.events.union import MessageToolResult, ShownImage, head_of, message_address
from app.harness.run.run_context import RunContext
from app.ids import now_ms
from app.messages import ToolResult
from app.storage.models import MessageDetails
from app.tools.contract.call import ToolEnvelope


def result_row(
    run: RunContext, message_id: str, position: int, result: ToolResult, envelope: ToolEnvelope
) -> dict[str, Any]:
    """Return the columns of one tool result's message."""
    details: MessageDetails = {"toolCallId": result.tool_call_id, "toolName": result.name}
    if result.is_error:
        details["isError"] = True
        details["code"] = envelope.code
    if result.images:
        details["images"] = [image.model_dump(exclude={"type"}) for image in result.images]
    metadata = envelope.metadata.model_dump(exclude_none=True)
    if metadata:
        details["metadata"] = metadata
    return {
        "id": message_id,
        "session_id": run.scope.session_id,
        "run_id": run.scope.run_id,
        "agent_path": run.scope.agent_path,
        "position": position,
        "role": "tool",
        "content": result.content,
        "details": details,
        "created_at": now_ms(),
    }


def result_event(
    session_id: str, message_id: str, row_id: str, result: ToolResult, duration_ms: float | None
) -> MessageToolResult:
    """Return the event of one result; a large one is shown by its head and an address, and so are
    pictures."""
    head = head_of(result.content)
    images = tuple(
        ShownImage(media_type=image.media_type, size=len(image.data) * 3 // 4) for image in result.images
    )
    return MessageToolResult(
        message_id=message_id,
        tool_call_id=result.tool_call_id,
        name=result.name,
        content=result.content if head is None else head,
        is_error=result.is_error,
        duration_ms=duration_ms,
        content_ref=None if head is None and not images else message_address(session_id, row_id),
        images=images or None,
    )
