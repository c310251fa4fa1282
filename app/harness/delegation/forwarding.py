"""What a child is shown of its parent's conversation: words only, bounded, within its cage.

Owns: which messages go, their form, how much of them. Never: what lies outside a cage (`outside_cage`).
The result is stored with the child's conversation, so that it is the same in each of its turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.harness.delegation.hooks import Delegation, DelegationHooks
from app.harness.delegation.outside_cage import Outside
from app.harness.estimate import estimate_text
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


def forward(
    delegation: Delegation, hooks: DelegationHooks, outside: Outside, window: int | None
) -> Forwarded:
    """Return what the child is shown. `window` is that of its model in tokens, if it is known."""
    shown = [one for one in map(_words, delegation.parent.history.messages) if one is not None]
    kept = hooks.filtered(delegation, shown)
    left_out = 0
    parts: list[tuple[str, str]] = []
    for message in kept:
        text, cut = outside.without(_text(message))
        left_out += cut
        if text.strip():
            parts.append(("user" if isinstance(message, UserMessage) else "assistant", text))
    budget = MAX_TOKENS if window is None else min(MAX_TOKENS, window // SHARE_OF_WINDOW)
    prompt, cut = outside.without(delegation.prompt)
    return Forwarded(_bounded(parts, budget), prompt, left_out + cut)


def _words(message: ModelMessage) -> ModelMessage | None:
    """Return a message with nothing but its text: no calls, no results, no thinking, no pictures."""
    if not isinstance(message, UserMessage | AssistantMessage):
        return None
    blocks = tuple(block for block in message.blocks if isinstance(block, TextBlock) and block.text.strip())
    return type(message)(blocks=blocks) if blocks else None


def _text(message: ModelMessage) -> str:
    blocks: Sequence[object] = getattr(message, "blocks", ())
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def _bounded(parts: list[tuple[str, str]], budget: int) -> str:
    """Return the newest parts that fit, and the operator's first one."""
    if not parts:
        return ""
    told = [f"<{role}>\n{text}\n</{role}>" for role, text in parts]
    sizes = [estimate_text(one) for one in told]
    room = budget - min(sizes[0], budget // 2)
    start = len(told)
    while start > 1 and sizes[start - 1] <= room:
        start -= 1
        room -= sizes[start]
    role, text = parts[0]
    first = told[0] if sizes[0] <= budget // 2 else f"<{role}>\n{text[: budget * 2]}\n{_CUT}\n</{role}>"
    skipped = [_SKIPPED] if start > 1 else []
    return "\n".join([_HEAD, first, *skipped, *told[start:]])
