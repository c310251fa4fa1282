"""The part of a document that a change replaces.

Owns: comparing two texts. Never: sending.
"""

from __future__ import annotations

from typing import Any

from app.bridges.lsp.positions import Encoding, LineIndex


def changed_part(before: LineIndex, after: LineIndex, encoding: Encoding) -> dict[str, Any]:
    """Return the change from one text to the other as whole lines, so that no character and no line
    end is cut in two."""
    old, new = before.text, after.text
    start = _same_start(old, new)
    start = old.rfind("\n", 0, start) + 1
    same_end = _same_end(old[start:], new[start:])
    # Back to the beginning of a line, which is one in both texts.
    cut = old.find("\n", len(old) - same_end)
    same_end = 0 if cut < 0 or not same_end else len(old) - cut - 1
    old_end = len(old) - same_end
    last = before.line_count - 1
    whole = before.to_server(last, len(before.line(last)), encoding)
    end = {"line": _line_of(old, old_end), "character": 0} if same_end else whole
    return {
        "range": {"start": {"line": _line_of(old, start), "character": 0}, "end": end},
        "text": new[start : len(new) - same_end],
    }


def _line_of(text: str, offset: int) -> int:
    """Return the line in which a line beginning at `offset` is; line ends as the protocol counts them."""
    return text.count("\n", 0, offset) + text.count("\r", 0, offset) - text.count("\r\n", 0, offset)


def _same_start(old: str, new: str) -> int:
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _same_end(old: str, new: str) -> int:
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low
