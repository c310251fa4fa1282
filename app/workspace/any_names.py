"""Paths whose names are any bytes: as text for people, and as text that leads back to the bytes.

Owns: these two forms. Never: which paths are allowed (`paths`). Inside, bytes that are not UTF-8 are
surrogates, as of `os.fsdecode`.
"""

from __future__ import annotations

import os
from urllib.parse import quote, unquote_to_bytes

_MARK = "//"
"""No path that is kept as it is begins so."""


def shown(path: str) -> str:
    """Return a path as text for people; bytes that are not UTF-8 are replaced."""
    return os.fsencode(path).decode("utf-8", "replace")


def raw(path: str) -> str | None:
    """Return a path whose bytes are not UTF-8 in percent-encoding, None for others."""
    encoded = os.fsencode(path)
    return quote(encoded) if encoded.decode("utf-8", "replace") != path else None


def from_raw(text: str) -> str:
    """Return the path that was written in percent-encoding."""
    return os.fsdecode(unquote_to_bytes(text))


def storable(path: str) -> str:
    """Return a relative path as text that can be stored: itself, unless it is not UTF-8."""
    encoded = raw(path)
    return path if encoded is None else _MARK + encoded


def from_stored(text: str) -> str:
    """Return the path that `storable` made text of."""
    return from_raw(text.removeprefix(_MARK)) if text.startswith(_MARK) else text
