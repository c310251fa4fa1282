"""Drop: the oldest units go until the context is below the lower threshold; a line tells the model so.

Owns: this strategy. Pure. Never: that line (`notes`), or a summary (`summarize`, which the compactor tries
first where the project names a summarizer). A summary that is there stays.
"""

from __future__ import annotations

from app.harness.compaction.notes import NOTE_TOKENS, note_of
from app.harness.compaction.plan import Plan, Window


def drop(window: Window) -> Plan:
    """Return a plan whose summary is one line about all that was dropped so far; it is empty when nothing
    may go that is longer than the line."""
    gone = window.oldest(NOTE_TOKENS, keep_summaries=True)
    if sum(unit.tokens for unit in gone) <= NOTE_TOKENS:
        return Plan("drop", [])
    return Plan("drop", gone, summary=note_of(gone))
