"""The watch lists of agents: expressions that each stop shows.

Owns: keeping them. Never: evaluating.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

MAX_AGENTS = 256


class WatchLists:
    """Shared by all calls; agents are forgotten in the order in which they last set a list."""

    def __init__(self) -> None:
        self._lists: OrderedDict[tuple[str, ...], tuple[str, ...]] = OrderedDict()

    def keep(self, owner: tuple[str, ...], expressions: Sequence[str]) -> None:
        """Have these shown, until others are."""
        self._lists[owner] = tuple(expressions)
        self._lists.move_to_end(owner)
        while len(self._lists) > MAX_AGENTS:
            self._lists.popitem(last=False)

    def of(self, owner: tuple[str, ...]) -> tuple[str, ...]:
        return self._lists.get(owner, ())
