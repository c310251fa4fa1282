"""A session's conversation in memory: stored rows turned into what a model is sent.

Owns: the model messages of one agent, the rows behind them, and their positions. Never: writing rows. Between
two compactions the list only grows, so that providers find the prefix they know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import xxhash

from app.harness.conversation.content_gate import ContentGate
from app.harness.conversation.entry import Entry
from app.harness.conversation.estimate import Counted
from app.harness.conversation.message_rows import Positions, assistant_blocks, tool_result, user_message
from app.harness.conversation.pictures import InWords
from app.harness.conversation.view import Noted, View, is_summary
from app.harness.conversation.withheld import mark_passed
from app.harness.providers.provider import EncodingCache
from app.messages import (
    AssistantBlock,
    AssistantMessage,
    ModelMessage,
    ToolCallBlock,
    ToolResult,
    ToolResultsMessage,
)
from app.storage.models import Message

MISSING_RESULT = "No result was recorded for this call; it may have partly run."
WAITING_RESULT = "Waits for a person's answer."
"""Stands for the result of a call that waits; a model is never sent it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a conversation that it can be cut back to."""

    length: int
    last_message_id: str | None
    answered: bool


class History:
    """One agent's conversation. `positions` are those of its session, shared by all its agents.

    `whole` is false when rows of the conversation have been superseded before it was loaded."""

    def __init__(
        self,
        rows: Iterable[Message] = (),
        *,
        positions: Positions | None = None,
        whole: bool = True,
        waiting: Iterable[str] = (),
    ) -> None:
        self.entries: list[Entry] = []
        self.messages: list[ModelMessage] = []
        self.cache = EncodingCache()
        self.positions = Positions() if positions is None else positions
        self.last_message_id: str | None = None
        self.visible: list[ModelMessage] = self.messages
        self.gate: ContentGate | None = None
        """Withholds content from the conversation's agent; made with its first request."""
        self.generation = 0
        """Rises whenever the list is changed otherwise than by growing."""
        self._hidden_before = 1
        self._counted = Counted()
        self._noted = Noted(plain=whole, floor=0 if whole else self.positions.next_position - 1)
        self._in_words = InWords()
        self.answered = False
        """True when the conversation ends with an answer that the model itself completed."""
        self.call_ids: set[str] = set()
        """Of all calls so far, those that are not shown any more too: what a new call cannot be called."""
        self.waiting: set[str] = set()
        """The calls of the newest answer that wait for a person, by id."""
        self._load(rows, frozenset(waiting))

    # -- growing ----------------------------------------------------------------------------

    def take_position(self, count: int = 1) -> int:
        """Reserve `count` neighbouring positions and return the first."""
        return self.positions.take(count)

    def add_user(self, row: Message) -> None:
        self._append(user_entry(row))
        self.last_message_id = row.id
        self.answered = False

    def add_assistant(self, message_id: str, blocks: tuple[AssistantBlock, ...], *, complete: bool) -> None:
        """Append an answer; one without any content is not shown to a model again."""
        self.last_message_id = message_id
        self.answered = complete
        if blocks:
            self._append(Entry(AssistantMessage(blocks=blocks), (message_id,), "primary"))

    def add_results(
        self, message_ids: Sequence[str], results: tuple[ToolResult, ...], *, waiting: Iterable[str] = ()
    ) -> None:
        """Append the results of the newest answer's calls, each with the id of its row. Of those that
        wait for a person there is a result that stands for it, and no row."""
        self.last_message_id = message_ids[-1] if message_ids else self.last_message_id
        self.answered = False
        self.waiting = set(waiting)
        if results:
            self._append(Entry(ToolResultsMessage(results=results), tuple(message_ids), "tool"))

    def answer_call(self, call_id: str, row_id: str, result: ToolResult) -> None:
        """Put the result of a call that has waited into its place among the newest results."""
        if call_id not in self.waiting:
            return
        self.waiting.discard(call_id)
        self.last_message_id = row_id
        entry = self.entries[-1]
        assert isinstance(entry.message, ToolResultsMessage)
        results = entry.message.results
        at = next(index for index, one in enumerate(results) if one.tool_call_id == call_id)
        before = sum(1 for one in results[:at] if one.tool_call_id not in self.waiting)
        row_ids = (*entry.row_ids[:before], row_id, *entry.row_ids[before:])
        message = ToolResultsMessage(results=(*results[:at], result, *results[at + 1 :]))
        replaced = Entry(message, row_ids, entry.role)
        if entry.pruned:
            replaced.prune(entry.pruned)
        if self._counted.entries == len(self.entries):
            self._counted.tokens += replaced.tokens - entry.tokens
            self._counted.results += replaced.tokens - entry.tokens
        self.entries[-1], self.messages[-1], self.visible[-1] = replaced, message, replaced.shown
        self._in_words.forget()
        self._in_words.look_at(message)

    def withhold(self, entry: Entry, message: ModelMessage) -> None:
        """Show the model another message in the place of one that no model has been sent yet."""
        index = self.entries.index(entry)
        entry.replace(message)
        if any(later.role == "primary" for later in self.entries[index:]):
            return self._put(self.entries, self._hidden_before)
        self.messages[index] = message
        if self.visible is not self.messages:
            self.visible[:] = [one.shown for at, one in enumerate(self.entries) if self._is_shown(at)]
        self._counted = Counted()
        self._in_words.forget()

    # -- reading ----------------------------------------------------------------------------

    def tokens(self) -> int:
        """Return about how many tokens the visible messages are; each is counted once."""
        return self.counted().tokens

    def counted(self) -> Counted:
        """Return how the visible messages were counted; it grows with the history."""
        counted = self._counted
        for entry in (
            self.entries[at] for at in range(counted.entries, len(self.entries)) if self._is_shown(at)
        ):
            counted.tokens += entry.tokens
            counted.results += entry.tokens if entry.role == "tool" else 0
        counted.entries = len(self.entries)
        return counted

    def shown_to(self, *, images: bool) -> tuple[list[ModelMessage], EncodingCache]:
        """Return what a model is sent that takes images or not: pictures that tools gave are put in
        words for one that does not. The lists belong to the history and only grow."""
        if images or not self._in_words.needed:
            return self.visible, self.cache
        return self._in_words.of(self.visible)

    def view(self) -> tuple[str, bytes] | None:
        """Return digest and content of what was visible when the list last changed otherwise than by
        growing; None while it is simply every row of the conversation. See `harness.view`."""
        noted = self._noted
        if noted.plain:
            return None
        if noted.made is None:
            shown = [index for index in range(len(self.entries)) if self._is_shown(index)]
            content = View(
                rows=tuple(row_id for index in shown for row_id in self.entries[index].row_ids),
                pruned={self._key(i): self.entries[i].pruned for i in shown if self.entries[i].pruned},
                without=tuple(noted.cut),
                floor=noted.floor,
            ).encode()
            noted.made = (xxhash.xxh3_128_hexdigest(content), content)
        return noted.made

    def show_as(self, view: View) -> None:
        """Show the notices that a noted view has, in a conversation that was read from its rows."""
        results = [index for index, entry in enumerate(self.entries) if entry.role == "tool"]
        found = {index: view.pruned.get(self._key(index)) for index in results}
        self.prune({index: notices for index, notices in found.items() if notices})

    # -- taking away ------------------------------------------------------------------------

    def mark(self) -> Mark:
        return Mark(len(self.entries), self.last_message_id, self.answered)

    def cut(self, mark: Mark) -> tuple[str, ...]:
        """Take back everything since the mark; return the ids of the rows that it was made of."""
        gone = self.entries[mark.length :]
        row_ids = tuple(row_id for entry in gone for row_id in entry.row_ids)
        self.last_message_id, self.answered = mark.last_message_id, mark.answered
        if gone:
            self._noted.cut += row_ids
            self._put(self.entries[: mark.length], self._hidden_before)
        return row_ids

    def drop(self, row_id: str) -> None:
        """Take one message of a person back, wherever it stands."""
        at = next((i for i, entry in enumerate(self.entries) if row_id in entry.row_ids), None)
        if at is None:
            return
        self._noted.cut.append(row_id)
        kept = [*self.entries[:at], *self.entries[at + 1 :]]
        if self.last_message_id == row_id:
            before = kept[-1] if kept else None
            self.last_message_id = before.row_ids[-1] if before is not None and before.row_ids else None
            self.answered = before is not None and isinstance(before.message, AssistantMessage)
        self._put(kept, self._hidden_before)

    def truncate(self, target_tokens: int) -> bool:
        """Show the model only the first message, what `stays`, and the newest messages that fit the tokens.

        Calls and their results stay together; nothing is deleted. Returns False when there is
        nothing left to leave out."""
        entries = self.entries
        stays = sum(entry.tokens for entry in entries[1:] if entry.stays)
        budget = target_tokens - entries[0].tokens - stays
        start = len(entries)
        while start > 1:
            budget -= 0 if entries[start - 1].stays else entries[start - 1].tokens
            if budget < 0:
                break
            start -= 1
        while start < len(entries) and entries[start].role == "tool":
            start += 1  # their calls do not fit: results alone mean nothing to a model
        if start >= len(entries):
            start = len(entries) - 1  # the newest exchange is kept, whether it fits or not
            while start > 1 and entries[start].role == "tool":
                start -= 1
        if start <= self._hidden_before:
            return False
        self._put(entries, start)
        return True

    def prune(self, notices: Mapping[int, Mapping[int, int]]) -> None:
        """Show notices in place of tool results: by index of the entry, then of the result."""
        for index, found in notices.items():
            self.entries[index].prune(found)
        self._put(self.entries, self._hidden_before)

    def supersede(self, gone: Iterable[Entry], summary: Message | None) -> Callable[[], None]:
        """Take entries out, and put the summary where the last of them stood; nothing is hidden any
        more. Returns what puts everything back as it was."""
        before = (self.entries, self._hidden_before)
        taken = {id(entry) for entry in gone}
        last = max((i for i, entry in enumerate(self.entries) if id(entry) in taken), default=-1)
        kept: list[Entry] = []
        for index, entry in enumerate(self.entries):
            if id(entry) not in taken:
                kept.append(entry)
            elif index == last and summary is not None:
                kept.append(user_entry(summary))
        self._put(kept, 1)
        return lambda: self._put(*before)

    def _put(self, entries: list[Entry], hidden_before: int) -> None:
        """Replace the list: what is sent from now on has another prefix."""
        self.entries = entries
        self._hidden_before = min(hidden_before, max(1, len(entries)))
        self.messages = [entry.message for entry in entries]
        self.visible = self.messages
        if self._hidden_before > 1 or any(entry.pruned for entry in entries):
            self.visible = [entry.shown for index, entry in enumerate(entries) if self._is_shown(index)]
        self.cache = EncodingCache()
        self.generation += 1
        self._counted = Counted()
        self._noted.plain, self._noted.made = False, None

    # -- inside -----------------------------------------------------------------------------

    def _is_shown(self, index: int) -> bool:
        return index == 0 or index >= self._hidden_before or self.entries[index].stays

    def _key(self, index: int) -> str:
        """Return the row by which the results at an index are known: their first, else their call's."""
        entry = self.entries[index]
        return entry.row_ids[0] if entry.row_ids else self.entries[index - 1].row_ids[0]

    def _append(self, entry: Entry) -> None:
        self._in_words.look_at(entry.message)
        if isinstance(entry.message, AssistantMessage):
            self.call_ids.update(
                block.id for block in entry.message.blocks if isinstance(block, ToolCallBlock)
            )
        self.entries.append(entry)
        self.messages.append(entry.message)
        if self.visible is not self.messages:
            self.visible.append(entry.message)

    def _load(self, rows: Iterable[Message], waiting: frozenset[str]) -> None:
        open_calls: list[ToolCallBlock] = []
        results: dict[str, tuple[str, ToolResult]] = {}
        gated: list[tuple[int, str | None]] = []
        for row in rows:
            self.last_message_id = row.id
            self.answered = row.role == "primary" and row.details.get("stopReason") == "stop"
            if row.role == "tool":
                result = tool_result(row)
                results[result.tool_call_id] = (row.id, result)
                continue
            self._close_calls(open_calls, results)
            if row.role == "primary":
                gated.append((len(self.entries), row.details.get("gateDigest")))
                blocks = assistant_blocks(row)
                if blocks:
                    self._append(Entry(AssistantMessage(blocks=blocks), (row.id,), "primary"))
                open_calls = [block for block in blocks if isinstance(block, ToolCallBlock)]
            else:
                self._append(user_entry(row))
        self._close_calls(open_calls, results, waiting)
        mark_passed(self.entries, gated)

    def _close_calls(
        self,
        open_calls: list[ToolCallBlock],
        results: dict[str, tuple[str, ToolResult]],
        waiting: frozenset[str] = frozenset(),
    ) -> None:
        """Answer every call of the last assistant message exactly once, in the order asked."""
        if open_calls:
            found = [results.get(call.id) for call in open_calls]
            missing = {call.id for call, known in zip(open_calls, found, strict=True) if known is None}
            self.waiting = missing & waiting
            answers = tuple(
                known[1]
                if known is not None
                else waiting_result(call)
                if call.id in self.waiting
                else ToolResult(tool_call_id=call.id, name=call.name, content=MISSING_RESULT, is_error=True)
                for call, known in zip(open_calls, found, strict=True)
            )
            row_ids = tuple(known[0] for known in found if known is not None)
            self._append(Entry(ToolResultsMessage(results=answers), row_ids, "tool"))
        open_calls.clear()
        results.clear()


def waiting_result(call: ToolCallBlock) -> ToolResult:
    """Return what stands for the result of a call that waits for a person."""
    return ToolResult(tool_call_id=call.id, name=call.name, content=WAITING_RESULT)


def user_entry(row: Message) -> Entry:
    """Return the entry of an operator's message or of one of the daemon's."""
    facts = row.details.get("facts") or {} if is_summary(row) else None
    keep = row.details.get("always_keep") is True
    told: Any = row.details.get("told") if row.role == "system" else None
    brings = told if isinstance(told, dict) else None
    return Entry(user_message(row), (row.id,), row.role, always_keep=keep, facts=facts, told=brings)
