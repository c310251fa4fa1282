"""Old, large tool results are shortened before anything is compacted.

Owns: which results are stale, while the conversation is in memory. Never: rows; a pruned result stays whole
in the storage, and no plugin is asked.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from app.harness.compaction.always_keep import names_tool
from app.harness.conversation.entry import Entry
from app.harness.conversation.estimate import IMAGE_TOKENS, MESSAGE_OVERHEAD, estimate_text
from app.harness.conversation.history import History
from app.harness.conversation.view import notice
from app.harness.dsl.spec import PruneSpec
from app.messages import ToolResult, ToolResultsMessage


@dataclass(frozen=True, slots=True)
class Pruned:
    """How many results were shortened now, and the tokens that this saved."""

    count: int
    tokens_saved: int


NOTHING = Pruned(0, 0)


class ToolOutputPruner:
    """Prunes one conversation. Each result is looked at once, however often `prune` is called."""

    def __init__(self, history: History, settings: PruneSpec) -> None:
        self._history = history
        self._settings = settings
        self._generation = -1
        self._seen = 0
        self._fresh: deque[tuple[int, int, int]] = deque()
        self._fresh_tokens = 0
        self._stale: list[tuple[int, int, int]] = []
        self._savings = 0

    def prune(self) -> Pruned:
        """Shorten what is stale when that saves enough; the conversation is then sent again."""
        self._look()
        if not self._stale or self._savings <= self._settings.minimum_savings:
            return NOTHING
        notices: dict[int, dict[int, int]] = {}
        for entry, result, tokens in self._stale:
            notices.setdefault(entry, {})[result] = tokens
        self._history.prune(notices)
        self._generation = self._history.generation
        pruned = Pruned(len(self._stale), self._savings)
        self._stale, self._savings = [], 0
        return pruned

    def _look(self) -> None:
        """Take in the new results, and find out which ones they have pushed out of the protected end."""
        if self._generation != self._history.generation:
            self._generation = self._history.generation
            self._seen = self._fresh_tokens = self._savings = 0
            self._fresh.clear()
            self._stale = []
        entries = self._history.entries
        for index in range(self._seen, len(entries)):
            message = entries[index].message
            if isinstance(message, ToolResultsMessage):
                for number, result in enumerate(message.results):
                    tokens = _tokens(entries[index], number, result)
                    self._fresh.append((index, number, tokens))
                    self._fresh_tokens += tokens
        self._seen = len(entries)
        while self._fresh and self._fresh_tokens - self._fresh[0][2] >= self._settings.protect_tokens:
            index, number, tokens = self._fresh.popleft()
            self._fresh_tokens -= tokens
            self._consider(entries[index], index, number, tokens)

    def _consider(self, entry: Entry, index: int, number: int, tokens: int) -> None:
        assert isinstance(entry.message, ToolResultsMessage)
        name = entry.message.results[number].name
        saved = tokens - estimate_text(notice(tokens))
        if number in entry.pruned or saved <= 0:
            return
        if not any(names_tool(pattern, name) for pattern in self._settings.protected_tools):
            self._stale.append((index, number, tokens))
            self._savings += saved


def _tokens(entry: Entry, number: int, result: ToolResult) -> int:
    if number in entry.pruned:
        return estimate_text(notice(entry.pruned[number]))
    if isinstance(entry.message, ToolResultsMessage) and len(entry.message.results) == 1:
        return entry.tokens - MESSAGE_OVERHEAD  # known already
    return estimate_text(result.content) + IMAGE_TOKENS * len(result.images)
