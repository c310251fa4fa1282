"""The line that shows a model how much was taken out of its conversation without a summary.

Owns: that line, and how it goes on when a summary replaces it. Pure. Never: which units go (`strategies`).
"""

from __future__ import annotations

from collections.abc import Sequence

from app.harness.compaction.plan import Plan, Summary
from app.harness.compaction.units import DROPPED, TAKEN_OUT, Unit

NOTE_TOKENS = 60

_NOTE = (
    "[{messages:,} earlier messages of this conversation (about {tokens:,} tokens) were taken out without a "
    "summary. To recover their content, read the file or run the command again, or ask.]"
)


def note_of(gone: Sequence[Unit]) -> Summary:
    """Return the line about units that go without a summary. What earlier lines among them count, it
    counts as well."""
    messages = tokens = 0
    for unit in gone:
        before = unit.dropped
        messages += len(unit.entries) if before is None else before["messages"]
        tokens += unit.tokens if before is None else before["tokens"]
    return Summary(_NOTE.format(messages=messages, tokens=tokens), {DROPPED: _counts(messages, tokens)})


def with_note(plan: Plan) -> Plan:
    """Return the plan with the line where there is no summary. A summary that replaces such lines goes on
    with what they count."""
    if not plan.gone:
        return plan
    if plan.summary is None:
        plan.summary = note_of(plan.gone)
        return plan
    if DROPPED in plan.summary.facts:
        return plan
    counts = [counted for unit in plan.gone if (counted := unit.taken_out) is not None]
    if counts:
        messages, tokens = (sum(one[name] for one in counts) for name in ("messages", "tokens"))
        text = f"{plan.summary.text}\n\n{_NOTE.format(messages=messages, tokens=tokens)}"
        plan.summary = Summary(text, {**plan.summary.facts, TAKEN_OUT: _counts(messages, tokens)})
    return plan


def loses_summary(gone: Sequence[Unit]) -> bool:
    """Tell whether a summary of earlier messages is among the units."""
    return any(unit.is_summary and unit.dropped is None for unit in gone)


def _counts(messages: int, tokens: int) -> dict[str, int]:
    return {"messages": messages, "tokens": tokens}
