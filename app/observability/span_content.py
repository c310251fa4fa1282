"""What spans say of a conversation: messages, arguments and results as bounded JSON without secrets.

Owns: the shapes of the conventions for generative AI (`role`, `parts`) and how much is sent. Never:
whether content is sent at all. It runs on the sending thread, not on the event loop.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from app.messages import (
    AssistantMessage,
    ImageBlock,
    SystemBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultsMessage,
    UserMessage,
)
from app.observability.redactor import Redactor

MAX_CONTENT_CHARACTERS = 64 * 1024
"""The limit for one attribute; the newest messages of a conversation that fit are sent."""
MAX_PART_CHARACTERS = 16 * 1024
"""The limit for one text in it."""


def content_json(value: Any, redactor: Redactor, limit: int = MAX_CONTENT_CHARACTERS) -> str:
    """Return `value` as an attribute: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return encodable(shortened(redactor.text(value[: 2 * limit]), limit))
    if isinstance(value, Sequence):
        return _list_json(value, redactor, limit)
    return shortened(_json(redactor.data(_plain(value))), limit)


def encodable(text: str) -> str:
    """Return `text` without lone surrogates, which no encoder takes."""
    return text.encode("utf-8", "replace").decode()


def shortened(text: str, limit: int) -> str:
    """Return `text`, or its beginning and how much is left out."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit} characters left out)"


def _list_json(items: Sequence[Any], redactor: Redactor, room: int) -> str:
    kept: list[str] = []
    for number, item in enumerate(reversed(items)):
        text = _json(redactor.data(_plain(item)))
        room -= len(text) + 1
        if room < 0 and kept:
            left_out = {"role": "system", "parts": [{"type": "omitted", "messages": len(items) - number}]}
            kept.append(_json(left_out))
            break
        kept.append(text)
    return f"[{','.join(reversed(kept))}]"


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # a lone surrogate, or an integer beyond 64 bits
        return json.dumps(value, default=str, skipkeys=True)


def _plain(value: Any) -> Any:
    match value:
        case UserMessage() | AssistantMessage():
            return {"role": value.role, "parts": list(_parts(value.blocks))}
        case ToolResultsMessage():
            parts = [
                {
                    "type": "tool_call_response",
                    "id": result.tool_call_id,
                    "response": shortened(result.content, MAX_PART_CHARACTERS),
                }
                for result in value.results
            ]
            return {"role": "tool", "parts": parts}
        case SystemBlock():
            return {"type": "text", "content": shortened(value.text, MAX_PART_CHARACTERS)}
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case str():
            return shortened(value, MAX_PART_CHARACTERS)
        case _:
            return value


def _parts(blocks: Iterable[Any]) -> Iterable[dict[str, Any]]:
    for block in blocks:
        match block:
            case TextBlock():
                yield {"type": "text", "content": shortened(block.text, MAX_PART_CHARACTERS)}
            case ThinkingBlock():
                yield {"type": "reasoning", "content": shortened(block.text, MAX_PART_CHARACTERS)}
            case ToolCallBlock():
                arguments: Any = block.raw_arguments or block.arguments
                yield {
                    "type": "tool_call",
                    "id": block.id,
                    "name": block.name,
                    "arguments": _plain(arguments),
                }
            case ImageBlock():
                yield {"type": "image", "mime_type": block.media_type, "size": len(block.data) * 3 // 4}
