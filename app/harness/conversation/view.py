"""What was visible of a conversation at some time, as it is kept with a model call's audit row.

Owns: the form of that note, and the notices that stand for pruned tool results. Never: the
conversation (`history`). A note names the rows that were visible when the conversation last changed
otherwise than by growing (a compaction, a pruning, a truncation, a rollback); every later row of it up
to the call was visible too.
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
