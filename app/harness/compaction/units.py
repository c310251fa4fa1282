"""A conversation in units that are kept or taken away as a whole.

Owns: what belongs together: an answer with calls and the results of those calls. Pure. Never: which
units go (`strategies`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.harness.conversation.entry import Entry
from app.messages import AssistantMessage, ToolCallBlock

DROPPED = "dropped"
"""The fact of a summary message that only says how much was dropped without a summary."""

TAKEN_OUT = "taken_out"
"""The fact of a summary that has replaced such messages: what they have counted."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """One message, or an answer with its results. `tokens` are uncalibrated."""

    entries: tuple[Entry, ...]
    tokens: int

    @property
    def is_summary(self) -> bool:
        return self.entries[0].is_summary

    @property
    def dropped(self) -> Mapping[str, int] | None:
        """What a note about dropped messages counts (`messages`, `tokens`); None for everything else."""
        counted: Mapping[str, int] | None = (self.entries[0].facts or {}).get(DROPPED)
        return counted

    @property
    def taken_out(self) -> Mapping[str, int] | None:
        """What went earlier without a summary, as a note or a summary counts it; None without any."""
        counted: Mapping[str, int] | None = self.dropped or (self.entries[0].facts or {}).get(TAKEN_OUT)
        return counted

    @property
    def row_ids(self) -> list[str]:
        return [row_id for entry in self.entries for row_id in entry.row_ids]


def units_of(entries: Sequence[Entry]) -> list[Unit]:
    """Return the conversation's units, the oldest first."""
    units: list[Unit] = []
    for entry in entries:
        if entry.role == "tool" and units and _asks(units[-1]):
            asked = units[-1]
            units[-1] = Unit((*asked.entries, entry), asked.tokens + entry.tokens)
        else:
            units.append(Unit((entry,), entry.tokens))
    return units


def _asks(unit: Unit) -> bool:
    message = unit.entries[-1].message
    return isinstance(message, AssistantMessage) and any(
        isinstance(block, ToolCallBlock) for block in message.blocks
    )


def rows_of(units: Sequence[Unit]) -> list[str]:
    """Return the ids of all rows of the units, in order."""
    return [row_id for unit in units for row_id in unit.row_ids]
