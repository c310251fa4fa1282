"""A part of a conversation as plain text, for a model that summarizes it.

Owns: the form of that text, and its division into pieces that fit a window: a call stands with its
result, and only a unit that alone is too long is shortened in its middle. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from app.harness.compaction.units import Unit
from app.harness.conversation.entry import Entry
from app.harness.conversation.estimate import estimate_text
from app.messages import AssistantMessage, ImageBlock, TextBlock, ToolCallBlock, ToolResultsMessage

_WHO = {"operator": "operator", "system": "harness", "primary": "assistant", "tool": "tool"}


def pieces_of(units: Sequence[Unit], max_tokens: int) -> list[str]:
    """Return the transcript in as few pieces as fit `max_tokens` each, in order."""
    return packed([text_of(unit) for unit in units], max_tokens)


def packed(texts: Sequence[str], max_tokens: int) -> list[str]:
    """Join neighbouring texts into pieces of at most `max_tokens`; a longer one is shortened."""
    pieces: list[str] = []
    current: list[str] = []
    size = 0
    for text in texts:
        tokens = estimate_text(text)
        if tokens > max_tokens:
            text = shortened(text, tokens, max_tokens)
            tokens = max_tokens
        if current and size + tokens + 1 > max_tokens:
            pieces.append("\n\n".join(current))
            current, size = [], 0
        current.append(text)
        size += tokens + 1
    if current:
        pieces.append("\n\n".join(current))
    return pieces


def shortened(text: str, tokens: int, max_tokens: int) -> str:
    """Return beginning and end of a text that has too many tokens."""
    share = max_tokens / tokens
    while True:
        half = max(1, int(len(text) * share / 2) - 40)
        left_out = len(text) - 2 * half
        short = f"{text[:half]}\n[... {left_out} characters are left out ...]\n{text[-half:]}"
        if half <= 1 or estimate_text(short) <= max_tokens:
            return short
        share *= 0.8


def text_of(unit: Unit) -> str:
    """Return one unit as text."""
    return "\n".join(filter(None, map(_entry_text, unit.entries)))


def _entry_text(entry: Entry) -> str:
    message = entry.shown
    if isinstance(message, ToolResultsMessage):
        lines = []
        for result in message.results:
            word = "failed" if result.is_error else "result"
            lines.append(f"[{result.name} {word}]\n{result.content}")
            lines += [f"[a picture: {image.media_type}]" for image in result.images]
        return "\n".join(lines)
    parts = []
    for block in message.blocks:
        if isinstance(block, TextBlock):
            parts.append(block.text)
        elif isinstance(block, ToolCallBlock):
            given = block.raw_arguments or orjson.dumps(block.arguments, default=str).decode()
            parts.append(f"[calls {block.name} {given}]")
        elif isinstance(block, ImageBlock):
            parts.append(f"[a picture: {block.media_type}]")
    if not parts and isinstance(message, AssistantMessage):
        return ""
    return f"[{_WHO.get(entry.role, entry.role)}]\n" + "\n".join(parts)
