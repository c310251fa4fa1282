"""A session's conversation in memory: stored rows turned into what a model is sent.

Owns: the list of model messages of one agent with the rows behind each, and the positions of rows.
Never: writing rows, or deciding what is taken away. Between two compactions the list only grows, so
that providers find the prefix they know and a turn costs the same at its thousandth message as at
its tenth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import xxhash
from pydantic import TypeAdapter

from app.harness.estimate import estimate_message
from app.harness.positions import Positions
from app.harness.providers.provider import EncodingCache
from app.harness.view import View, is_summary, with_notices
from app.messages import (
    AssistantBlock,
    AssistantMessage,
    ImageBlock,
    ModelMessage,
    TextBlock,
    ToolCallBlock,
    ToolResult,
    ToolResultsMessage,
    UserBlock,
    UserMessage,
)
from app.storage.models import Message

MISSING_RESULT = "No result was recorded for this call; it may have partly run."

_blocks: TypeAdapter[tuple[AssistantBlock, ...]] = TypeAdapter(tuple[AssistantBlock, ...])


class Entry:
    """One model message, the rows it was made of, and what the model is shown of it.

    `role` is that of the rows; `pruned` maps the index of a tool result to the tokens that a notice
    stands for; `facts` are what a summary keeps word for word."""

    __slots__ = ("_tokens", "always_keep", "facts", "message", "pruned", "role", "row_ids", "shown")

    def __init__(
        self,
        message: ModelMessage,
        row_ids: tuple[str, ...],
        role: str,
        *,
        always_keep: bool = False,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        self.message = message
        self.row_ids = row_ids
        self.role = role
        self.always_keep = always_keep
        self.facts = facts
        self.shown = message
        self.pruned: dict[int, int] = {}
        self._tokens = -1

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
        self, rows: Iterable[Message] = (), *, positions: Positions | None = None, whole: bool = True
    ) -> None:
        self.entries: list[Entry] = []
        self.messages: list[ModelMessage] = []
        self.cache = EncodingCache()
        self.positions = Positions() if positions is None else positions
        self.last_message_id: str | None = None
        self.visible: list[ModelMessage] = self.messages
        self.generation = 0
        """Rises whenever the list is changed otherwise than by growing."""
        self._hidden_before = 1
        self._counted = 0
        self._total = 0
        self._plain = whole
        self._floor = 0 if whole else self.positions.next_position - 1
        self._cut: list[str] = []
        self._view: tuple[str, bytes] | None = None
        self._pictured = False
        self._without: list[ModelMessage] = []
        self._without_of: list[ModelMessage] | None = None
        self._without_cache = EncodingCache()
        self.answered = False
        """True when the conversation ends with an answer that the model itself completed."""
        self._load(rows)

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

    def add_results(self, message_ids: Sequence[str], results: tuple[ToolResult, ...]) -> None:
        """Append the results of the newest answer's calls, each with the id of its row."""
        self.last_message_id = message_ids[-1]
        self.answered = False
        if results:
            self._append(Entry(ToolResultsMessage(results=results), tuple(message_ids), "tool"))

    # -- reading ----------------------------------------------------------------------------

    def tokens(self) -> int:
        """Return about how many tokens the visible messages are; each is counted once."""
        for index in range(self._counted, len(self.entries)):
            if index == 0 or index >= self._hidden_before:
                self._total += self.entries[index].tokens
        self._counted = len(self.entries)
        return self._total

    def shown_to(self, *, images: bool) -> tuple[list[ModelMessage], EncodingCache]:
        """Return what a model is sent that takes images or not: pictures that tools gave are put in
        words for one that does not. The lists belong to the history and only grow."""
        if images or not self._pictured:
            return self.visible, self.cache
        if self._without_of is not self.visible:
            self._without_of, self._without, self._without_cache = self.visible, [], EncodingCache()
        self._without += map(without_pictures, self.visible[len(self._without) :])
        return self._without, self._without_cache

    def view(self) -> tuple[str, bytes] | None:
        """Return digest and content of what was visible when the list last changed otherwise than by
        growing; None while it is simply every row of the conversation. See `harness.view`."""
        if self._plain:
            return None
        if self._view is None:
            shown = [i for i in range(len(self.entries)) if i == 0 or i >= self._hidden_before]
            content = View(
                rows=tuple(row_id for index in shown for row_id in self.entries[index].row_ids),
                pruned={self._key(i): self.entries[i].pruned for i in shown if self.entries[i].pruned},
                without=tuple(self._cut),
                floor=self._floor,
            ).encode()
            self._view = (xxhash.xxh3_128_hexdigest(content), content)
        return self._view

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
            self._cut += row_ids
            self._put(self.entries[: mark.length], self._hidden_before)
        return row_ids

    def truncate(self, target_tokens: int) -> bool:
        """Show the model only the first message and the newest ones that fit `target_tokens`.

        Calls and their results stay together; nothing is deleted. Returns False when there is
        nothing left to leave out."""
        entries = self.entries
        budget = target_tokens - entries[0].tokens
        start = len(entries)
        while start > 1:
            budget -= entries[start - 1].tokens
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
            self.visible = [entry.shown for entry in (*entries[:1], *entries[self._hidden_before :])]
        self.cache = EncodingCache()
        self.generation += 1
        self._counted = self._total = 0
        self._plain, self._view = False, None

    # -- inside -----------------------------------------------------------------------------

    def _key(self, index: int) -> str:
        """Return the row by which the results at an index are known: their first, else their call's."""
        entry = self.entries[index]
        return entry.row_ids[0] if entry.row_ids else self.entries[index - 1].row_ids[0]

    def _append(self, entry: Entry) -> None:
        self._pictured = self._pictured or has_pictures(entry.message)
        self.entries.append(entry)
        self.messages.append(entry.message)
        if self.visible is not self.messages:
            self.visible.append(entry.message)

    def _load(self, rows: Iterable[Message]) -> None:
        open_calls: list[ToolCallBlock] = []
        results: dict[str, tuple[str, ToolResult]] = {}
        for row in rows:
            self.last_message_id = row.id
            self.answered = row.role == "primary" and row.details.get("stopReason") == "stop"
            if row.role == "tool":
                result = tool_result(row)
                results[result.tool_call_id] = (row.id, result)
                continue
            self._close_calls(open_calls, results)
            if row.role == "primary":
                blocks = assistant_blocks(row)
                if blocks:
                    self._append(Entry(AssistantMessage(blocks=blocks), (row.id,), "primary"))
                open_calls = [block for block in blocks if isinstance(block, ToolCallBlock)]
            else:
                self._append(user_entry(row))
        self._close_calls(open_calls, results)

    def _close_calls(
        self, open_calls: list[ToolCallBlock], results: dict[str, tuple[str, ToolResult]]
    ) -> None:
        """Answer every call of the last assistant message exactly once, in the order asked."""
        if open_calls:
            found = [results.get(call.id) for call in open_calls]
            answers = tuple(
                known[1]
                if known is not None
                else ToolResult(tool_call_id=call.id, name=call.name, content=MISSING_RESULT, is_error=True)
                for call, known in zip(open_calls, found, strict=True)
            )
            row_ids = tuple(known[0] for known in found if known is not None)
            self._append(Entry(ToolResultsMessage(results=answers), row_ids, "tool"))
        open_calls.clear()
        results.clear()


def user_entry(row: Message) -> Entry:
    """Return the entry of an operator's message or of one of the daemon's, a summary included."""
    facts = row.details.get("facts") if is_summary(row) else None
    keep = row.details.get("always_keep") is True
    return Entry(user_message(row), (row.id,), row.role, always_keep=keep, facts=facts)


def assistant_blocks(row: Message) -> tuple[AssistantBlock, ...]:
    """Return the structured answer of a stored row, or its plain text as one block.

    No two of its calls bear the same id: of those that do, the first one counts."""
    stored = row.details.get("contentBlocks")
    if not stored:
        return (TextBlock(text=row.content),) if row.content else ()
    blocks, seen = [], set()
    for block in _blocks.validate_python(stored):
        if isinstance(block, ToolCallBlock):
            if block.id in seen:
                continue
            seen.add(block.id)
        blocks.append(block)
    return tuple(blocks)


def user_message(row: Message) -> UserMessage:
    """Return an operator's or the daemon's message as a model reads it."""
    blocks: list[UserBlock] = []
    for attachment in row.details.get("attachments", ()):
        if attachment.get("media_type", "").startswith("image/"):
            blocks.append(ImageBlock(media_type=attachment["media_type"], data=attachment["data"]))
        else:
            name = attachment.get("name", "attachment")
            blocks.append(TextBlock(text=f"<attachment name={name!r}>\n{attachment['text']}\n</attachment>"))
    blocks.append(TextBlock(text=row.content))
    return UserMessage(blocks=tuple(blocks))


def tool_result(row: Message) -> ToolResult:
    """Return a stored tool message as the answer to its call."""
    details: dict[str, Any] = row.details
    return ToolResult(
        tool_call_id=details.get("toolCallId", ""),
        name=details.get("toolName", ""),
        content=row.content,
        is_error=bool(details.get("isError", False)),
        images=tuple(ImageBlock.model_validate(image) for image in details.get("images", ())),
    )


def has_pictures(message: ModelMessage) -> bool:
    """Tell whether a message holds pictures that tools gave."""
    return isinstance(message, ToolResultsMessage) and any(result.images for result in message.results)


def without_pictures(message: ModelMessage) -> ModelMessage:
    """Return the message with a line of words for each picture that a tool gave."""
    if not isinstance(message, ToolResultsMessage) or not has_pictures(message):
        return message
    return ToolResultsMessage(results=tuple(_in_words(result) for result in message.results))


def _in_words(result: ToolResult) -> ToolResult:
    told = [f"[{image.media_type}: not shown, this model takes no images]" for image in result.images]
    return result.model_copy(update={"content": "\n".join((result.content, *told)), "images": ()})
