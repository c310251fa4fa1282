"""What was visible of a conversation at some time, as it is kept with a model call's audit row.

Owns: the note of the rows that were visible at the last change other than growth, and the notices for pruned
results. Never: the conversation (`history`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from app.messages import ToolResultsMessage
from app.storage.models import Message

SUMMARY_KIND = "compaction_summary"
"""`details.kind` of the message that stands for what a compaction took away."""


@dataclass(frozen=True, slots=True)
class View:
    """`pruned` maps the first row of a step's results (of its call when they have none) to the tokens
    that each notice stands for, by the index of the result; `without` are later rows that no model was
    shown again; what is not named of the positions up to `floor` was not visible."""

    rows: tuple[str, ...]
    pruned: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    floor: int = 0

    def encode(self) -> bytes:
        return orjson.dumps(
            {"rows": self.rows, "pruned": self.pruned, "without": self.without, "floor": self.floor},
            option=orjson.OPT_NON_STR_KEYS | orjson.OPT_SORT_KEYS,
        )

    @classmethod
    def decode(cls, content: bytes) -> View:
        stored = orjson.loads(content)
        pruned = {
            row_id: {int(index): tokens for index, tokens in found.items()}
            for row_id, found in stored["pruned"].items()
        }
        return cls(
            rows=tuple(stored["rows"]),
            pruned=pruned,
            without=tuple(stored["without"]),
            floor=stored.get("floor", 0),
        )

    def of(self, rows: Sequence[Message]) -> list[Message]:
        """Return those of a conversation's rows, superseded ones included, that were visible."""
        named, without = set(self.rows), set(self.without)
        floor = max(self.floor, *(row.position or 0 for row in rows if row.id in named), 0)
        return [
            row
            for row in rows
            if row.id in named
            or ((row.position or 0) > floor and row.id not in without and not is_summary(row))
        ]


@dataclass(slots=True)
class Noted:
    """What is known of a view that may be noted: `plain` while it is simply every row of the conversation.
    `cut` are rows that were taken back; up to `floor` only named rows are visible."""

    plain: bool
    floor: int
    cut: list[str] = field(default_factory=list)
    made: tuple[str, bytes] | None = None
    """Digest and content of the view, once it was made."""


def is_summary(row: Message) -> bool:
    """Tell whether a row stands for what a compaction took away."""
    return row.role == "system" and row.details.get("kind") == SUMMARY_KIND


def notice(tokens: int) -> str:
    """Return what stands in place of a pruned tool result."""
    return f"[Pruned \u2014 {tokens} tokens]"


def with_notices(message: ToolResultsMessage, notices: Mapping[int, int]) -> ToolResultsMessage:
    """Return the results with a notice in place of those at the given indexes, pictures included."""
    results = tuple(
        result.model_copy(update={"content": notice(notices[index]), "images": ()})
        if index in notices
        else result
        for index, result in enumerate(message.results)
    )
    return ToolResultsMessage(results=results)
