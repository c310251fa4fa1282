"""Makes texts and numbers of other programs safe to show.

Owns: dropping control and bidirectional characters, bounds of length. Never: the meaning of a text.
"""

from __future__ import annotations

import re
from typing import Any

CUT = " [truncated]"
MAX_NUMBER = 2**31 - 1
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_BLANKS = re.compile(r"\s+")


def clean(value: Any, limit: int) -> str:
    """Return a program's text without unseen characters, at most `limit` long; "" for what is none."""
    if not isinstance(value, str):
        return ""
    text = value[: 2 * limit + 1_000].replace("\r\n", "\n")
    text = _UNSEEN.sub("", text)
    return text if len(text) <= limit and len(value) <= 2 * limit + 1_000 else text[:limit] + CUT


def one_line(value: Any, limit: int) -> str:
    """Return the text as one line, as names and titles are shown."""
    if isinstance(value, str) and len(value) <= limit and value.isascii():
        plain = value.replace("\t", " ")
        if plain.isprintable():  # as nearly every line of code is: nothing to drop
            return " ".join(plain.split())
    return _BLANKS.sub(" ", clean(value, limit)).strip()


def whole_number(value: Any) -> int | None:
    """Return a count from 0 as the protocols have it, None for what is none."""
    return value if type(value) is int and 0 <= value <= MAX_NUMBER else None


def objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list, or the one object; what is neither is left out."""
    if isinstance(value, dict):
        return [value]
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def clean_value(value: Any, depth: int = 0) -> Any:
    """Return a copy of a JSON value with clean texts; what is nested too deeply is left out."""
    if isinstance(value, str):
        return clean(value, 1_000_000)
    if depth > 60:
        return None
    if isinstance(value, list):
        return [clean_value(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return {clean(key, 1_000): clean_value(one, depth + 1) for key, one in value.items()}
    return value
