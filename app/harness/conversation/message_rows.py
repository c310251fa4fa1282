"""Stored messages as a model reads them.

Owns: answers, operators' messages and tool results without what is withheld from the model. Never: which of
them a conversation has (`history`). Pure.
"""

from __future__ import annotations

from pydantic import TypeAdapter

from app.harness.conversation.withheld import cuts_in, result_without, user_message_without
from app.messages import (
    AssistantBlock,
    ImageBlock,
    TextBlock,
    ToolCallBlock,
    ToolResult,
    UserBlock,
    UserMessage,
)
from app.storage.models import Message

_blocks: TypeAdapter[tuple[AssistantBlock, ...]] = TypeAdapter(tuple[AssistantBlock, ...])


def assistant_blocks(row: Message) -> tuple[AssistantBlock, ...]:
    """Return the structured answer of a stored row, or its plain text as one block.

    No two of its calls bear the same id: of those that do, the first one counts."""
    stored = row.details.get("contentBlocks")
    if not stored:
        return (TextBlock(text=row.content),) if row.content else ()
    blocks, seen = [], set()
    for block in _blocks.validate_python(stored):
        if isinstance(block, ToolCallBlock):
            if block.id in seen:
                continue
            seen.add(block.id)
        blocks.append(block)
    return tuple(blocks)


def user_message(row: Message) -> UserMessage:
    """Return an operator's or the daemon's message as a model reads it."""
    blocks: list[UserBlock] = []
    for attachment in row.details.get("attachments", ()):
        if attachment.get("media_type", "").startswith("image/"):
            blocks.append(ImageBlock(media_type=attachment["media_type"], data=attachment["data"]))
        else:
            name = attachment.get("name", "attachment")
            blocks.append(TextBlock(text=f"<attachment name={name!r}>\n{attachment['text']}\n</attachment>"))
    blocks.append(TextBlock(text=row.content))
    message = UserMessage(blocks=tuple(blocks))
    for cuts in cuts_in(row.details):
        message = user_message_without(message, cuts)
    return message


def tool_result(row: Message) -> ToolResult:
    """Return a stored tool message as the answer to its call."""
    details = row.details
    result = ToolResult(
        tool_call_id=details.get("toolCallId", ""),
        name=details.get("toolName", ""),
        content=row.content,
        is_error=bool(details.get("isError", False)),
        images=tuple(ImageBlock.model_validate(image) for image in details.get("images", ())),
    )
    for cuts in cuts_in(details):
        result = result_without(result, cuts)
    return result


class Positions:
    """`next_position` is the next free one."""

    def __init__(self, next_position: int = 1) -> None:
        self.next_position = next_position

    def take(self, count: int = 1) -> int:
        """Reserve `count` neighbouring positions and return the first."""
        first = self.next_position
        self.next_position += count
        return first
