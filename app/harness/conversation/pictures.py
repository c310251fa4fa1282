"""Pictures that tools gave, for models that read them and for those that do not.

Owns: finding them in a message, and the words that stand for them. Pure. Never: which model is sent what.
"""

from __future__ import annotations

from app.messages import ModelMessage, ToolResult, ToolResultsMessage


def has_pictures(message: ModelMessage) -> bool:
    """Tell whether a message holds pictures that tools gave."""
    return isinstance(message, ToolResultsMessage) and any(result.images for result in message.results)


def without_pictures(message: ModelMessage) -> ModelMessage:
    """Return the message with a line of words for each picture that a tool gave."""
    if not isinstance(message, ToolResultsMessage) or not has_pictures(message):
        return message
    return ToolResultsMessage(results=tuple(_in_words(result) for result in message.results))


def _in_words(result: ToolResult) -> ToolResult:
    notes = [f"[{image.media_type}: not shown, this model takes no images]" for image in result.images]
    return result.model_copy(update={"content": "\n".join((result.content, *notes)), "images": ()})
