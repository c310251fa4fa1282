"""The places of messages in a session, which all its agents share.

Owns: giving each number out once. Never: rows.
"""

from __future__ import annotations


class Positions:
    """`next_position` is the next free one."""

    def __init__(self, next_position: int = 1) -> None:
        self.next_position = next_position

    def take(self, count: int = 1) -> int:
        """Reserve `count` neighbouring positions and return the first."""
        first = self.next_position
        self.next_position += count
        return first
