"""Storable text: NUL, which PostgreSQL refuses, and lone surrogates, which no encoder takes, are replaced.

Owns: that replacement, the same for both databases. Never: any other change.
"""

from __future__ import annotations

from typing import Any

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def storable(text: str) -> str:
    """Return `text` with NUL characters and lone surrogates replaced by U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", REPLACEMENT)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def storable_values(values: dict[str, Any]) -> dict[str, Any]:
    """Return the same mapping with every text made storable."""
    for name, value in values.items():
        # Most are plain ASCII: recognised here, without a call for each.
        if type(value) is str and ("\0" in value or not value.isascii()):
            values[name] = storable(value)
    return values
