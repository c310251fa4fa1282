"""What is left out of a stored message when a model is sent it.

Owns: the form of that note in a row's details, and the message without it. Pure. Never: which content is left
out (`content_gate`), or the row's own content, which stays whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from pydantic import TypeAdapter

from app.messages import ImageBlock, TextBlock, ToolResult, UserBlock, UserMessage
from app.storage.models import MessageDetails


class Cut(NamedTuple):
    """A part of one block with the note that stands for it. The text of a tool result is its block 0, its
    pictures are the blocks after it."""

    block: int
    start: int
    end: int
    note: str


Cuts = tuple[Cut, ...]
_examinations: TypeAdapter[tuple[Cuts, ...]] = TypeAdapter(tuple[Cuts, ...])


def noted(details: MessageDetails, cuts: Cuts) -> MessageDetails:
    """Return a row's details with the cuts of another examination."""
    return {**details, "withheld": [*details.get("withheld", ()), [list(cut) for cut in cuts]]}


def cuts_in(details: MessageDetails) -> tuple[Cuts, ...]:
    """Return the cuts of each examination of a row. Raises `ValidationError` for another form."""
    stored = details.get("withheld")
    return _examinations.validate_python(stored) if stored else ()


def user_message_without(message: UserMessage, cuts: Cuts) -> UserMessage:
    """Return a message with the notes in place of what was cut; a cut picture becomes its note."""
    blocks: list[UserBlock] = []
    for index, block in enumerate(message.blocks):
        own = [cut for cut in cuts if cut.block == index]
        if own and isinstance(block, ImageBlock):
            blocks.append(TextBlock(text=own[0].note))
        elif own and isinstance(block, TextBlock):
            blocks.append(TextBlock(text=_text_without(block.text, own)))
        else:
            blocks.append(block)
    return UserMessage(blocks=tuple(blocks))


def result_without(result: ToolResult, cuts: Cuts) -> ToolResult:
    """Return a tool result with the notes in place of what was cut; cut pictures are gone."""
    gone = {cut.block - 1 for cut in cuts}
    images = tuple(image for index, image in enumerate(result.images) if index not in gone)
    content = _text_without(result.content, [cut for cut in cuts if cut.block == 0])
    return result.model_copy(update={"content": content, "images": images})


def _text_without(text: str, cuts: Sequence[Cut]) -> str:
    for cut in sorted(cuts, key=lambda one: one.start, reverse=True):
        text = text[: cut.start] + cut.note + text[cut.end :]
    return text


class Examined(Protocol):
    """A message of a conversation; `passed` are the content gates that have examined it."""

    passed: frozenset[str]


def mark_passed(entries: Sequence[Examined], answers: Sequence[tuple[int, str | None]]) -> None:
    """Note what each message has passed. `answers` are, in order, the number of messages before an answer and
    the gate of its request, if any: all of these messages had passed it."""
    passed: frozenset[str] = frozenset()
    at = len(entries)
    for before, digest in reversed(answers):
        for entry in entries[before:at]:
            entry.passed = passed
        at = before
        passed |= {digest} if digest is not None else set()
    for entry in entries[:at]:
        entry.passed = passed
