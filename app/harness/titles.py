"""A session's title when the operator gave none: the first line of the first message."""

from __future__ import annotations

TITLE_LENGTH = 80


def title_from(content: str) -> str:
    """Return the first non-empty line, shortened at a word to at most 80 characters."""
    line = next((line.strip() for line in content.splitlines() if line.strip()), "")
    if len(line) <= TITLE_LENGTH:
        return line
    head, _, _ = line[: TITLE_LENGTH - 1].rpartition(" ")
    return (head or line[: TITLE_LENGTH - 1]) + "…"
