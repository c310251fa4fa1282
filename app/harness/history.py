"""A session's conversation in memory: stored rows turned into what a model is sent.

Owns: the append-only list of model messages of one agent, and the positions of rows. Never:
writing rows. The list grows by one message at a time and is never rebuilt while the session
lives, so that a turn costs the same at its thousandth message as at its tenth.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter

from app.harness.estimate import estimate_message
from app.harness.positions import Positions
from app.harness.providers.provider import EncodingCache
from app.messages import (
    AssistantBlock,
    AssistantMessage,
    ImageBlock,
    ModelMessage,
    TextBlock,
    ToolCallBlock,
    ToolResult,
    ToolResultsMessage,
    UserBlock,
    UserMessage,
)
from app.storage.models import Message

MISSING_RESULT = "No result was recorded for this call; it may have partly run."

_blocks: TypeAdapter[tuple[AssistantBlock, ...]] = TypeAdapter(tuple[AssistantBlock, ...])


class History:
    """One agent's conversation. `positions` are those of its session, shared by all its agents."""

    def __init__(self, rows: Iterable[Message] = (), *, positions: Positions | None = None) -> None:
        self.messages: list[ModelMessage] = []
        self.cache = EncodingCache()
        self.positions = Positions() if positions is None else positions
        self.last_message_id: str | None = None
        self.visible: list[ModelMessage] = self.messages
        self._pictured = False
        self._without: list[ModelMessage] = []
        self._without_of: list[ModelMessage] | None = None
        self._without_cache = EncodingCache()
        self.answered = False
        """True when the conversation ends with an answer that the model itself completed."""
        self._load(rows)

    def take_position(self, count: int = 1) -> int:
        """Reserve `count` neighbouring positions and return the first."""
        return self.positions.take(count)

    def add_user(self, row: Message) -> None:
        self._append(user_message(row))
        self.last_message_id = row.id
        self.answered = False

    def add_assistant(self, message_id: str, blocks: tuple[AssistantBlock, ...], *, complete: bool) -> None:
        """Append an answer; one without any content is not shown to a model again."""
        self.last_message_id = message_id
        self.answered = complete
        if blocks:
            self._append(AssistantMessage(blocks=blocks))

    def add_results(self, message_id: str, results: tuple[ToolResult, ...]) -> None:
        self.last_message_id = message_id
        self.answered = False
        if results:
            self._append(ToolResultsMessage(results=results))

    def shown_to(self, *, images: bool) -> tuple[list[ModelMessage], EncodingCache]:
        """Return what a model is sent that takes images or not: pictures that tools gave are put in
        words for one that does not. The lists belong to the history and only grow."""
        if images or not self._pictured:
            return self.visible, self.cache
        if self._without_of is not self.visible:
            self._without_of, self._without, self._without_cache = self.visible, [], EncodingCache()
        self._without += map(without_pictures, self.visible[len(self._without) :])
        return self._without, self._without_cache

    def truncate(self, target_tokens: int) -> bool:
        """Show the model only the first message and the newest ones that fit `target_tokens`.

        Calls and their results stay together; nothing is deleted. Returns False when there is
        nothing left to leave out."""
        budget = target_tokens - estimate_message(self.messages[0])
        start = len(self.messages)
        while start > 1:
            budget -= estimate_message(self.messages[start - 1])
            if budget < 0:
                break
            start -= 1
        while start < len(self.messages) and isinstance(self.messages[start], ToolResultsMessage):
            start += 1  # their calls do not fit: results alone mean nothing to a model
        if start >= len(self.messages):
            start = len(self.messages) - 1  # the newest exchange is kept, whether it fits or not
            while start > 1 and isinstance(self.messages[start], ToolResultsMessage):
                start -= 1
        shortened = [self.messages[0], *self.messages[start:]]
        if start <= 1 or len(shortened) >= len(self.visible):
            return False
        self.visible = shortened
        self.cache = EncodingCache()
        return True

    def _append(self, message: ModelMessage) -> None:
        self._pictured = self._pictured or has_pictures(message)
        self.messages.append(message)
        if self.visible is not self.messages:
            self.visible.append(message)

    def _load(self, rows: Iterable[Message]) -> None:
        open_calls: list[ToolCallBlock] = []
        results: dict[str, ToolResult] = {}
        for row in rows:
            self.last_message_id = row.id
            self.answered = row.role == "primary" and row.details.get("stopReason") == "stop"
            if row.role == "tool":
                result = tool_result(row)
                results[result.tool_call_id] = result
                continue
            self._close_calls(open_calls, results)
            if row.role == "primary":
                blocks = assistant_blocks(row)
                if blocks:
                    self.messages.append(AssistantMessage(blocks=blocks))
                open_calls = [block for block in blocks if isinstance(block, ToolCallBlock)]
            else:
                self.messages.append(user_message(row))
        self._close_calls(open_calls, results)

    def _close_calls(self, open_calls: list[ToolCallBlock], results: dict[str, ToolResult]) -> None:
        """Answer every call of the last assistant message exactly once, in the order asked."""
        if open_calls:
            answers = tuple(
                results.get(call.id)
                or ToolResult(tool_call_id=call.id, name=call.name, content=MISSING_RESULT, is_error=True)
                for call in open_calls
            )
            self._append(ToolResultsMessage(results=answers))
        open_calls.clear()
        results.clear()


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
    return UserMessage(blocks=tuple(blocks))


def tool_result(row: Message) -> ToolResult:
    """Return a stored tool message as the answer to its call."""
    details: dict[str, Any] = row.details
    return ToolResult(
        tool_call_id=details.get("toolCallId", ""),
        name=details.get("toolName", ""),
        content=row.content,
        is_error=bool(details.get("isError", False)),
        images=tuple(ImageBlock.model_validate(image) for image in details.get("images", ())),
    )


def has_pictures(message: ModelMessage) -> bool:
    """Tell whether a message holds pictures that tools gave."""
    return isinstance(message, ToolResultsMessage) and any(result.images for result in message.results)


def without_pictures(message: ModelMessage) -> ModelMessage:
    """Return the message with a line of words for each picture that a tool gave."""
    if not isinstance(message, ToolResultsMessage) or not has_pictures(message):
        return message
    return ToolResultsMessage(results=tuple(_in_words(result) for result in message.results))


def _in_words(result: ToolResult) -> ToolResult:
    told = [f"[{image.media_type}: not shown, this model takes no images]" for image in result.images]
    return result.model_copy(update={"content": "\n".join((result.content, *told)), "images": ()})
