"""Pictures that tools gave, for models that read them and for those that do not.

Owns: finding them in a message, and the words that stand for them. Pure. Never: which model is sent what.
"""

from __future__ import annotations

from app.harness.providers.provider import EncodingCache
from app.messages import ModelMessage, ToolResult, ToolResultsMessage


def has_pictures(message: ModelMessage) -> bool:
    """Tell whether a message holds pictures that tools gave."""
    return isinstance(message, ToolResultsMessage) and any(result.images for result in message.results)


def without_pictures(message: ModelMessage) -> ModelMessage:
    """Return the message with a line of words for each picture that a tool gave."""
    if not isinstance(message, ToolResultsMessage) or not has_pictures(message):
        return message
    return ToolResultsMessage(results=tuple(_in_words(result) for result in message.results))


class InWords:
    """A list of messages as a model without images reads it, made as the list grows."""

    def __init__(self) -> None:
        self.needed = False
        """Whether any message that was looked at holds pictures."""
        self._source: list[ModelMessage] | None = None
        self._messages: list[ModelMessage] = []
        self._cache = EncodingCache()

    def look_at(self, message: ModelMessage) -> None:
        self.needed = self.needed or has_pictures(message)

    def forget(self) -> None:
        """Build it again: a message of the list was replaced."""
        self._source = None

    def of(self, messages: list[ModelMessage]) -> tuple[list[ModelMessage], EncodingCache]:
        if self._source is not messages:
            self._source, self._messages, self._cache = messages, [], EncodingCache()
        self._messages += map(without_pictures, messages[len(self._messages) :])
        return self._messages, self._cache


def _in_words(result: ToolResult) -> ToolResult:
    notes = [f"[{image.media_type}: not shown, this model takes no images]" for image in result.images]
    return result.model_copy(update={"content": "\n".join((result.content, *notes)), "images": ()})
