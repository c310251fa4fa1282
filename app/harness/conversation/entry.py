"""One message of a conversation in memory, and what the model is shown of it.

Owns: the message with its rows, its notices and its tokens. Never: the order of messages (`history`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.harness.conversation.estimate import estimate_message
from app.harness.conversation.view import with_notices
from app.messages import ModelMessage, ToolResultsMessage

_NOTHING_TOLD: Mapping[str, str] = {}


class Entry:
    """One model message, the rows it was made of, and what the model is shown of it.

    `role` is that of the rows; `pruned` maps the index of a tool result to the tokens that a notice
    stands for; `facts` are what a summary keeps word for word; `passed` are the content gates that have
    examined the message; `told` are the instruction files that it brings; both by their digests."""

    __slots__ = (
        "_tokens",
        "always_keep",
        "facts",
        "message",
        "passed",
        "pruned",
        "role",
        "row_ids",
        "shown",
        "told",
    )

    def __init__(
        self,
        message: ModelMessage,
        row_ids: tuple[str, ...],
        role: str,
        *,
        always_keep: bool = False,
        facts: Mapping[str, Any] | None = None,
        told: Mapping[str, str] | None = None,
    ) -> None:
        self.message = message
        self.row_ids = row_ids
        self.role = role
        self.always_keep = always_keep
        self.facts = facts
        self.told = told or _NOTHING_TOLD
        self.shown = message
        self.pruned: dict[int, int] = {}
        self.passed: frozenset[str] = frozenset()
        self._tokens = -1

    @property
    def is_summary(self) -> bool:
        """True for what stands for messages that a compaction took away."""
        return self.facts is not None

    @property
    def stays(self) -> bool:
        """True for what is shown also where older messages are not."""
        return self.is_summary or bool(self.told)

    @property
    def tokens(self) -> int:
        """About how many tokens the message costs as it is shown; counted once."""
        if self._tokens < 0:
            self._tokens = estimate_message(self.shown)
        return self._tokens

    def prune(self, notices: Mapping[int, int]) -> None:
        """Show a notice in place of the tool results at these indexes."""
        assert isinstance(self.message, ToolResultsMessage)
        self.pruned |= notices
        self.shown = with_notices(self.message, self.pruned)
        self._tokens = -1

    def replace(self, message: Any) -> None:
        """Have another message of its kind in the place of the one so far; notices stay."""
        self.message, self._tokens = message, -1
        self.shown = with_notices(message, self.pruned) if self.pruned else message
