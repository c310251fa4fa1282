"""What a shared file says about itself.

Owns: that sentence, and sizes in words.
"""

from __future__ import annotations

from app.harness.sharing.tally import Tally

_SAID = (
    ("messages", "message"),
    ("answers", "answer"),
    ("tool_calls", "tool call"),
    ("subagents", "subagent"),
)
_LEFT = (
    ("results", "tool results"),
    ("thinking", "thinking"),
    ("subagents", "subagents"),
    ("images", "images"),
    ("attached_files", "contents of attached files"),
)


def about_file(tally: Tally) -> str:
    """Return one paragraph: what the file holds, what was left out, what was redacted."""
    holds = [_count(tally.counts[name], word) for name, word in _SAID if tally.counts[name]]
    left = [words for name, words in _LEFT if tally.left_out[name]]
    said = f"Shared from kaged: {', '.join(holds) or 'an empty session'}."
    if left:
        said += f" Not included: {', '.join(left)}."
    if tally.counts["redactions"]:
        said += f" {_count(tally.counts['redactions'], 'secret')} redacted."
    return said


def size_of(size: int) -> str:
    """Return a number of bytes as people read it."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def _count(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
