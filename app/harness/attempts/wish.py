"""What an operator asks for with attempts.

Owns: the wish, and its names for attempts. Never: whether it can be granted (`starting`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CHECK_SECONDS = 600
_LONGEST_TITLE = 180


@dataclass(frozen=True, slots=True)
class AttemptsWish:
    """`n` attempts with these models in turn. `check` is a command that runs in each when its run has ended.
    `base` is what all begin with. `tokens` and `cost_usd` are what all together may use."""

    n: int
    models: tuple[str, ...] = ()
    check: str | None = None
    check_seconds: float = CHECK_SECONDS
    base: str | None = None
    tokens: int | None = None
    cost_usd: float | None = None

    def model_of(self, number: int) -> str | None:
        """Return the model of an attempt; None for its agent's."""
        return self.models[(number - 1) % len(self.models)] if self.models else None

    @property
    def asked_check(self) -> dict[str, Any] | None:
        return None if self.check is None else {"command": self.check, "seconds": self.check_seconds}

    @property
    def budget(self) -> dict[str, Any] | None:
        budget = {"tokens": self.tokens, "cost_usd": self.cost_usd}
        return budget if any(limit is not None for limit in budget.values()) else None

    def titles(self, title: str) -> list[str]:
        """Return the titles of the sessions."""
        return [f"{title[:_LONGEST_TITLE]} #{number}".strip() for number in range(1, self.n + 1)]


@dataclass(frozen=True, slots=True)
class FirstMessage:
    """The message that each attempt begins with."""

    content: str
    attachments: Sequence[Mapping[str, Any]] = ()
    request_id: str | None = None
