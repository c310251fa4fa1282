"""What leaves with a shared session, counted and listed.

Owns: the counts and lists of a preview. Never: deciding what leaves (`thread`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

MOST_LISTED = 1000
"""Names and places that a preview lists; the counts are complete."""


@dataclass(frozen=True, slots=True)
class Place:
    """A message in which something was redacted: its number in the file, its id, how often."""

    number: int
    message_id: str
    count: int


@dataclass(slots=True)
class Tally:
    """Counts by name (`messages`, `tool_calls`, ...), what stays here likewise, and lists."""

    counts: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    agents: Counter[str] = field(default_factory=Counter)
    files: set[str] = field(default_factory=set)
    image_sizes: list[tuple[str, int]] = field(default_factory=list)
    redacted: dict[str, tuple[int, int]] = field(default_factory=dict)
    size: int = 0

    def redaction(self, number: int, message_id: str, count: int) -> None:
        """Count redactions in a message; its number is that of the first."""
        if count:
            self.counts["redactions"] += count
            first, before = self.redacted.get(message_id, (number, 0))
            self.redacted[message_id] = (first, before + count)

    def listed_files(self) -> list[str]:
        return sorted(self.files)[:MOST_LISTED]

    def places(self) -> list[Place]:
        found = [Place(number, key, count) for key, (number, count) in self.redacted.items()]
        return found[:MOST_LISTED]
