"""The stored messages of a session, replayed to an editor that loads it.

Owns: what of each message is shown. Never: live frames (`frame_view`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from app.cli.editor.frame_view import FrameView


async def replay(messages: AsyncIterator[Mapping[str, Any]], view: FrameView) -> int:
    """Send every message of the root agent and of people, oldest first; return how many there were."""
    count = 0
    async for message in messages:
        if message["complete"] and message["position"] is not None:
            await _show(message, view)
            count += 1
    return count


async def _show(message: Mapping[str, Any], view: FrameView) -> None:
    details = message["details"]
    match message["role"]:
        case "operator":
            for one in details.get("attachments", ()):
                if one.get("data"):
                    await view.picture_of_person(one["media_type"], one["data"], message["id"])
            await view.person(message["content"], message["id"])
        case "tool":
            await view.result(
                {
                    "toolCallId": details.get("toolCallId"),
                    "content": message["content"],
                    "isError": details.get("isError", False),
                    "messageId": message["id"],
                    "images": details.get("images"),
                }
            )
        case "system":
            pass  # what the daemon tells the model
        case _:
            for block in details.get("contentBlocks") or [{"type": "text", "text": message["content"]}]:
                await _show_block(block, message["id"], view)
    view.own.add(message["id"])


async def _show_block(block: Mapping[str, Any], message_id: str, view: FrameView) -> None:
    match block.get("type"):
        case "thinking":
            await view.thought(block.get("text", ""), message_id)
        case "tool_call":
            await view.call(block)
        case _:
            await view.text(block.get("text", ""), message_id)
