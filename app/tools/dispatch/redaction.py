"""Parameters as the audit trail may show them: large texts cut and hashed, secrets left out.

Owns: that reduction. Never: changing what a tool receives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xxhash

from app.observability import names_secret

MAX_TEXT = 200
HEAD = 80
MAX_ITEMS = 50
MAX_DEPTH = 6


def redacted(value: Any, depth: int = 0) -> Any:
    """Return a small JSON-ready copy of `value` that holds no large text and no named secret."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if abs(value) < 1 << 63 else str(value)[:HEAD]
    if depth > MAX_DEPTH:
        return "[nested too deeply]"
    if isinstance(value, Mapping):
        return _mapping(value, depth)
    if isinstance(value, list | tuple):
        return [redacted(item, depth + 1) for item in value[:MAX_ITEMS]]
    return _text(str(value))


def _mapping(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for key, item in list(value.items())[:MAX_ITEMS]:
        name = _text(str(key)[:HEAD])
        shown[name] = "[redacted]" if names_secret(str(key)) else redacted(item, depth + 1)
    return shown


def _text(text: str) -> Any:
    raw = text.encode("utf-8", "replace")
    if len(text) <= MAX_TEXT:
        return raw.decode()
    head = text[:HEAD].encode("utf-8", "replace").decode()
    return {"head": head, "characters": len(text), "xxh3_128": xxhash.xxh3_128_hexdigest(raw)}
