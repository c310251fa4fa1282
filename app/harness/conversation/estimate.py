"""Token estimates without a tokeniser, and of whole requests, calibrated by what providers count.

Owns: counting words, digit triples, symbol runs and long white space; other scripts by character. Never: the
sum of a conversation (`history`), or what follows from a count.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.messages import (
    AssistantMessage,
    ImageBlock,
    ModelMessage,
    SystemBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolSpec,
    UserMessage,
)

_PIECES = re.compile(
    r"[A-Za-z]{1,7}|[0-9]{1,3}|[\u0080-\u024f]{1,3}|[\u0370-\u1fff]{1,2}|[\u2e80-\U0010ffff]"
    r"|[^\w\s]{1,3}|\n+[ \t]*|[ \t]{2,}|\S"
)

MESSAGE_OVERHEAD = 4
IMAGE_TOKENS = 1_200


def estimate_text(text: str) -> int:
    """Return about how many tokens `text` is for a current model."""
    return len(_PIECES.findall(text))


def estimate_message(message: ModelMessage) -> int:
    """Return about how many tokens one message costs, framing included."""
    if isinstance(message, UserMessage):
        return MESSAGE_OVERHEAD + sum(
            IMAGE_TOKENS if isinstance(block, ImageBlock) else estimate_text(block.text)
            for block in message.blocks
        )
    if isinstance(message, AssistantMessage):
        total = MESSAGE_OVERHEAD
        for block in message.blocks:
            if isinstance(block, TextBlock | ThinkingBlock):
                total += estimate_text(block.text)
            elif isinstance(block, ToolCallBlock):
                total += MESSAGE_OVERHEAD + estimate_text(block.name) + estimate_text(repr(block.arguments))
        return total
    return sum(
        MESSAGE_OVERHEAD + estimate_text(result.content) + IMAGE_TOKENS * len(result.images)
        for result in message.results
    )


@dataclass(slots=True)
class Counted:
    """How many entries were counted, and about how many tokens the visible ones of them are; `results` are
    those of results of tools alone."""

    entries: int = 0
    tokens: int = 0
    results: int = 0


@dataclass(frozen=True, slots=True)
class _Fixed:
    """What each request of an agent has beside its messages, and about how many tokens that is."""

    system: Sequence[SystemBlock]
    tools: Sequence[ToolSpec]
    system_tokens: int
    tools_tokens: int

    @property
    def tokens(self) -> int:
        return self.system_tokens + self.tools_tokens


class ConversationEstimate:
    """How many tokens a request of one agent is, system prompt and tools included.

    `calibrate` takes a provider's reported count into account, so that scripts and tokenisers
    which the counter does not know are met after the first answer."""

    def __init__(self) -> None:
        self._factor = 1.0
        self._fixed: _Fixed | None = None

    def request(self, messages: int, system: Sequence[SystemBlock], tools: Sequence[ToolSpec]) -> int:
        """Return the estimated tokens of a request; `messages` is what `estimate_message` counted."""
        return int((messages + self._fixed_part(system, tools)) * self._factor)

    def with_messages(self, messages: int) -> int:
        """Return the tokens of a request like the last one with so many counted for its messages."""
        return int((messages + self._last_fixed) * self._factor)

    def room(self, total: int) -> int:
        """Return how much of `total` is left for messages, as `estimate_message` counts them."""
        return int(total / self._factor) - self._last_fixed

    def shares(self, counted: Counted) -> dict[str, int]:
        """Return about how many tokens of the last request were what, before any calibration."""
        fixed = self._fixed
        return {
            "system": 0 if fixed is None else fixed.system_tokens,
            "tools": 0 if fixed is None else fixed.tools_tokens,
            "messages": counted.tokens - counted.results,
            "results": counted.results,
        }

    def calibrate(self, estimated: int, reported: int) -> None:
        """Move the factor towards what the provider counted (both are tokens of one request)."""
        if estimated > 200 and reported > 0:
            observed = self._factor * reported / estimated
            self._factor = min(4.0, max(0.25, 0.7 * self._factor + 0.3 * observed))

    def _fixed_part(self, system: Sequence[SystemBlock], tools: Sequence[ToolSpec]) -> int:
        """Count system prompt and tools once for each distinct pair of objects."""
        if self._fixed is None or self._fixed.system is not system or self._fixed.tools is not tools:
            sent = (tool for tool in tools if tool.loading == "full")
            self._fixed = _Fixed(
                system,
                tools,
                sum(estimate_text(block.text) for block in system),
                sum(estimate_text(t.description) + len(str(t.parameters)) // 4 for t in sent),
            )
        return self._fixed.tokens

    @property
    def _last_fixed(self) -> int:
        return 0 if self._fixed is None else self._fixed.tokens
