"""What a child is asked, and shown of its parent's conversation: words only, bounded, within its cage.

Owns: which messages go, their form, how much of them. Never: what lies outside a cage (`outside_cage`).
The result is stored with the child's conversation, so that it is the same in each of its turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from app.harness.conversation.estimate import estimate_text
from app.harness.delegation.hooks import Delegation, DelegationHooks
from app.harness.delegation.outside_cage import Outside
from app.harness.dsl.compiled import CompiledAgent
from app.messages import AssistantMessage, ModelMessage, TextBlock, UserMessage

MAX_TOKENS = 8_000
SHARE_OF_WINDOW = 8
"""What is forwarded takes at most one part in so many of the child's window."""
_HEAD = "The conversation of the agent that calls you, as far as it is forwarded:"
_SKIPPED = "[earlier messages left out]"
_CUT = "[the rest of this message is left out]"


@dataclass(frozen=True, slots=True)
class Forwarded:
    """The text for the child, empty when there is none; the task; how many lines were cut from both."""

    text: str
    prompt: str
    left_out: int


async def forward(
    delegation: Delegation, hooks: DelegationHooks, outside: Outside, window: int | None
) -> Forwarded:
    """Return what the child is shown. `window` is that of its model in tokens, if it is known."""
    messages: Sequence[ModelMessage] = tuple(delegation.parent.history.messages)
    if hooks.filters:  # somebody else's code, which sees words only
        words = await asyncio.to_thread(lambda: [one for one in map(_words, messages) if one is not None])
        messages = hooks.filtered(delegation, words)
    budget = MAX_TOKENS if window is None else min(MAX_TOKENS, window // SHARE_OF_WINDOW)

    def look() -> Forwarded:
        parts = _Parts(messages, outside)
        text = _bounded(parts, budget)
        prompt, cut = outside.without(delegation.prompt)
        return Forwarded(text, prompt, parts.left_out + cut)

    return await asyncio.to_thread(look)


class _Parts:
    """The messages as a child would read them, each looked at when it is asked for: of a long
    conversation only the newest and the first are shown."""

    def __init__(self, messages: Sequence[ModelMessage], outside: Outside) -> None:
        self.left_out = 0
        self._messages = messages
        self._outside = outside

    def __len__(self) -> int:
        return len(self._messages)

    def at(self, index: int) -> tuple[str, str] | None:
        """Return the role and the text of a message; None when nothing of it is to be shown."""
        message = _words(self._messages[index])
        if message is None:
            return None
        text, cut = self._outside.without(_text(message))
        self.left_out += cut
        return ("user" if isinstance(message, UserMessage) else "assistant", text) if text.strip() else None


def _words(message: ModelMessage) -> ModelMessage | None:
    """Return a message with nothing but its text: no calls, no results, no thinking, no pictures."""
    if not isinstance(message, UserMessage | AssistantMessage):
        return None
    blocks = tuple(block for block in message.blocks if isinstance(block, TextBlock) and block.text.strip())
    return type(message)(blocks=blocks) if blocks else None


def _text(message: ModelMessage) -> str:
    blocks: Sequence[object] = getattr(message, "blocks", ())
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def _bounded(parts: _Parts, budget: int) -> str:
    """Return the newest parts that fit, and the operator's first one."""
    found = ((index, parts.at(index)) for index in range(len(parts)))
    begin, first = next(((index, one) for index, one in found if one is not None), (0, None))
    if first is None:
        return ""
    opening = _rendered(*first)
    size = estimate_text(opening)
    if size > budget // 2:
        role, text = first
        opening = f"<{role}>\n{text[: budget * 2]}\n{_CUT}\n</{role}>"
    room = budget - min(size, budget // 2)
    newest: list[str] = []
    skipped = []
    for index in range(len(parts) - 1, begin, -1):
        part = parts.at(index)
        if part is None:
            continue
        lines = _rendered(*part)
        room -= estimate_text(lines)
        if room < 0:
            skipped = [_SKIPPED]
            break
        newest.append(lines)
    return "\n".join([_HEAD, opening, *skipped, *reversed(newest)])


def _rendered(role: str, text: str) -> str:
    return f"<{role}>\n{text}\n</{role}>"


_BY_SCHEMA = (
    "Your last message must be one JSON object, and nothing else, that fulfils this JSON Schema:\n{schema}"
)


def prompt_of(child: CompiledAgent, given: Mapping[str, Any]) -> str:
    """Return the prompt: the task itself where that is all there is, else the input as JSON."""
    task = given.get("task")
    asked = task if len(given) == 1 and isinstance(task, str) else _json(given)
    if child.output is None:
        return asked
    return f"{asked}\n\n{_BY_SCHEMA.format(schema=_json(child.output))}"


def _json(value: Mapping[str, Any]) -> str:
    return orjson.dumps(dict(value), option=orjson.OPT_INDENT_2).decode()
